// The parts of the product that are reported on their own. The first that holds a file has it.

export interface Area {
  readonly name: string;
  /** Paths begin so. */
  readonly holds: readonly string[];
}

const below = (...folders: readonly string[]): readonly string[] => folders.map((folder) => `${folder}/`);

export const AREAS: readonly Area[] = [
  { name: 'adapters', holds: below('engine/adapters') },
  { name: 'kernel', holds: below('engine') },
  { name: 'reconciler', holds: below('actors/reconciler', 'actors/reconciliation') },
  { name: 'daemons', holds: below('actors/daemons') },
  { name: 'handler', holds: below('http/handler', 'actors/handler') },
  { name: 'plugin-host', holds: below('http/plugin-host', 'actors/plugin-host') },
  { name: 'report-actors', holds: below('actors/report') },
  { name: 'lanes', holds: below('actors') },
  { name: 'config', holds: below('config') },
  { name: 'installer', holds: below('http/installer') },
  { name: 'access', holds: below('http/access') },
  { name: 'report', holds: below('http/report') },
  { name: 'http-kernel', holds: below('http') },
  { name: 'bin', holds: below('bin') },
];

/**
 * Only the suite of the executable runs what makes the executable, and that suite takes minutes for each change. And what stops
 * the servers of dead processes would, once changed, stop every PostgreSQL server of this machine.
 */
export const NOT_MUTATED: readonly string[] = [
  ...below('bin/build'),
  'engine/adapters/embedded-postgres/postgres-orphan.ts',
];

export const areaOf = (file: string): Area | undefined =>
  AREAS.find(({ holds }) => holds.some((start) => file.startsWith(start)));

/**
 * The files that a list of areas, folders and files names, in order; `all` is everything. A name that is both is the
 * area. Throws a RangeError at a name that holds no file.
 */
export function filesOf(names: string, sources: readonly string[]): readonly string[] {
  const mutable = sources.filter((file) => areaOf(file) && !NOT_MUTATED.some((start) => file.startsWith(start)));
  const chosen = new Set<string>();
  for (const name of names.split(',')) {
    const found = mutable.filter((file) => isNamed(name.trim().replace(/\/$/, ''), file));
    if (found.length === 0) {
      throw new RangeError(`no source in '${name}'; areas: all, ${AREAS.map((area) => area.name).join(', ')}`);
    }
    for (const file of found) chosen.add(file);
  }
  return mutable.filter((file) => chosen.has(file));
}

function isNamed(name: string, file: string): boolean {
  if (name === 'all') return true;
  if (AREAS.some((area) => area.name === name)) return areaOf(file)?.name === name;
  return file === name || file.startsWith(`${name}/`);
}
