// Alias files of BLAST: a database that is made of others, by name.

/** The names of its `DBLIST`; a name with white space stands in double quotes. */
export function aliasedDatabases(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => /^\s*DBLIST\s+(.*)$/.exec(line)?.[1])
    .filter((list) => list !== undefined)
    .flatMap((list) => [...list.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ''))
    .filter((name) => name !== '');
}
