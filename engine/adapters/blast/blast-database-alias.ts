// Parses BLAST alias files: a database that consists of other databases, by name.

/** The names in `DBLIST`; a name with white space is in double quotes. */
export function aliasedDatabases(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => /^\s*DBLIST\s+(.*)$/.exec(line)?.[1])
    .filter((list) => list !== undefined)
    .flatMap((list) => [...list.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ''))
    .filter((name) => name !== '');
}
