// Restores an installation of `longshore serve`: its databases, and its folders on this machine.
//
//   1 look: nothing runs, every database and folder of the backup is in the configuration, and is empty unless forced
//   2 unpack everything beside its place, and check every digest
//   3 mark the cache database: from here on no process starts on it
//   4 fill the databases, each in one transaction, and move the folders in; with --force what was there is moved aside
//   5 fill the cache database, last, and remove the mark
// If this fails or is killed after step 3, the mark stays, and the next restore with --force begins again.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasNoRoom, messageOf, rejected, transient } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { SavedDatabase, SavedFolder, ServedHead } from './backup-head.ts';
import { type PlacedDatabase, restoreDatabase } from './database-dumps.ts';
import { RestoredDatabase } from './restored-database.ts';
import { RestoredFolder, timeName } from './restored-folder.ts';
import type { FoundDatabase } from './served-parts.ts';
import { type CheckedBackup, check, Unpacking } from './unpacking.ts';

export interface ServedRestoreOrder {
  readonly file: string;
  /** Where the databases and folders of the backup are now. The first database is that of the cache. */
  readonly databases: readonly PlacedDatabase[];
  readonly folders: readonly SavedFolder[];
  readonly force: boolean;
  readonly clock: Clock;
  readonly tell: (bytes: number) => void;
}

export interface RestoredInstallation extends CheckedBackup {
  /** Folders and schemas with the former content. */
  readonly movedAside: readonly string[];
}

export async function restoreServed(order: ServedRestoreOrder, signal: AbortSignal): Promise<RestoredInstallation> {
  const { file, force, clock, tell } = order;
  const [cache, ...others] = await Promise.all(
    order.databases.map((database) => RestoredDatabase.look(database, force, signal)),
  );
  if (!cache) throw rejected(`${file} has no cache database`);
  const folders: { readonly saved: SavedFolder; readonly restored: RestoredFolder }[] = [];
  for (const saved of order.folders) folders.push({ saved, restored: await RestoredFolder.at(saved.path, force) });
  const work = await mkdtemp(join(tmpdir(), 'longshore-restore-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(work, { recursive: true, force: true }) };
  let checked: CheckedBackup;
  try {
    for (const { restored } of folders) await restored.begin();
    const roots = folders.map(({ restored }) => restored.partial);
    const placeOf = (path: string): string | undefined => {
      if (path.startsWith('databases/')) return join(work, path);
      const found = folders.find(({ saved: { folder } }) => path === folder || path.startsWith(`${folder}/`));
      return found && join(found.restored.partial, path.slice(found.saved.folder.length));
    };
    checked = await check(file, new Unpacking(file, { roots, placeOf }, tell), signal);
  } catch (error) {
    // Nothing has been changed yet.
    for (const { restored } of folders) await restored.discard();
    throw hasNoRoom(error) ? transient(`no room to unpack the backup: ${messageOf(error)}`, { cause: error }) : error;
  }
  const time = timeName(clock.now());
  const movedAside: string[] = [];
  try {
    await cache.mark(file, signal);
    for (const database of [...others, cache]) {
      // The cache database comes last: while it is marked, nothing starts.
      if (database === cache)
        for (const { restored } of folders) {
          await restored.takeOver();
          const aside = await restored.moveIn(time);
          if (aside !== undefined) movedAside.push(aside);
        }
      movedAside.push(...(await database.moveAside(time, signal)));
      const there = await database.emptySchemas(signal);
      const { found } = database;
      await restoreDatabase({ database: found, folder: join(work, found.folder), there }, signal);
    }
    await cache.finish(signal);
  } catch (error) {
    const aside = movedAside.length > 0 ? `; what was there before is in ${movedAside.join(', ')}` : '';
    throw transient(
      `the restore has not ended, and no process starts before it has: ${messageOf(error)}. Run it again with --force${aside}`,
      { cause: error },
    );
  }
  return { ...checked, movedAside };
}

/** The databases of the backup, where the configuration has them now. */
export function placeDatabases(
  file: string,
  { databases }: ServedHead,
  found: readonly FoundDatabase[],
): readonly (Omit<PlacedDatabase, 'tool'> & Pick<SavedDatabase, 'dumpedBy'>)[] {
  return databases.map(({ folder, uses, server, dumpedBy }) => {
    const owner = found.find((one) => uses.every((use) => one.uses.some((other) => isSame(other, use))));
    const wanted = uses.map(({ name, schema }) => `${name} (schema ${schema})`).join(', ');
    if (!owner)
      throw rejected(
        `${file} has one dump of ${wanted}: in the configuration these have to be in one database, with the same schemas and one role`,
      );
    if (owner.server < server)
      throw rejected(
        `${file} has a dump of ${wanted} from PostgreSQL ${server}; the server is version ${owner.server}, and has to be ${server} or later`,
      );
    return { ...owner, folder, uses, dumpedBy };
  });
}

const isSame = (a: FoundDatabase['uses'][number], b: FoundDatabase['uses'][number]): boolean =>
  a.name === b.name && a.schema === b.schema;

/** The folders of the backup, where the configuration has them now. */
export function placeFolders(
  file: string,
  { folders }: ServedHead,
  named: readonly { readonly key: string; readonly path: string }[],
): readonly SavedFolder[] {
  return folders.map(({ folder, keys, path: before }) => {
    const paths = new Set(keys.map((key) => named.find((one) => one.key === key)?.path));
    const [path] = paths;
    if (paths.size === 1 && path !== undefined) return { folder, keys, path };
    throw rejected(
      `${file} has one folder (${before}) for ${keys.join(', ')}: the configuration has to name one folder for them, too`,
    );
  });
}
