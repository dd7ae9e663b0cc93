// The whole environment of a program of BLAST+: nothing else of the service's own gets into it.

export interface ToolPlace {
  /** Where programs are looked for. */
  readonly path: string;
  /** A directory of the run's own: settings of whoever runs the service do not count. */
  readonly home: string;
  /** Where databases are looked for that are not named by absolute paths. */
  readonly searchPath: readonly string[];
}

export const toolEnvironment = ({ path, home, searchPath }: ToolPlace): Readonly<Record<string, string>> => ({
  PATH: path,
  HOME: home,
  ...(searchPath.length > 0 ? { BLASTDB: searchPath.join(':') } : {}),
  LANG: 'C.UTF-8',
  // It would otherwise tell its makers of every run.
  BLAST_USAGE_REPORT: 'false',
});
