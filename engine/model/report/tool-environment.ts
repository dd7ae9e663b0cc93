// The complete environment of a BLAST+ program: no other variable of the service gets into it.

export interface ToolPlace {
  /** Where programs are searched. */
  readonly path: string;
  /** A directory of this run only, so that settings of the service's account do not apply. */
  readonly home: string;
  /** Where databases with relative names are searched. */
  readonly searchPath: readonly string[];
}

export const toolEnvironment = ({ path, home, searchPath }: ToolPlace): Readonly<Record<string, string>> => ({
  PATH: path,
  HOME: home,
  ...(searchPath.length > 0 ? { BLASTDB: searchPath.join(':') } : {}),
  LANG: 'C.UTF-8',
  // Otherwise the program reports every run to its makers.
  BLAST_USAGE_REPORT: 'false',
});
