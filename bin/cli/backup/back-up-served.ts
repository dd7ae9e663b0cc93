// Makes a backup of an installation of `longshore serve`: its databases, and what it has on this machine, as they were at one
// instant, although everything goes on.
//
//   1 the lanes that write to sites finish their jobs and pause
//   2 the object store is held, and links to all of its objects are made
//   3 each database exports a snapshot: this is the instant. The store goes on
//   4 installed files and other folders are copied; then the lanes go on
//   5 the databases are dumped, each from its snapshot, and the objects are copied from the links
// The snapshots of several databases are taken at the same time, within milliseconds. A bucket cannot be held: its objects belong
// to the backup as they were at the instant, or later.

import { readFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { ExportedSnapshot } from '../../../engine/adapters/postgres/exported-snapshot.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import { exists, removeTree } from '../../../engine/runtime/files.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { AdminClient } from '../client/admin-client.ts';
import { copyFolder, linkTree, type MadeBackup } from './back-up.ts';
import { CONFIGURATION, HEAD, INSTANT, type SavedFolder, servedHead } from './backup-head.ts';
import { BackupWriter } from './backup-writer.ts';
import { type DumpableDatabase, dumpDatabase } from './database-dumps.ts';
import { QuietServer } from './quiet-server.ts';
import { isLeftOutOfFolder, STORE, STORE_KEY } from './served-parts.ts';

export interface ServedOrder {
  readonly target: string;
  /** The configuration file. */
  readonly configuration: string;
  /** The cache database first. */
  readonly databases: readonly DumpableDatabase[];
  readonly folders: readonly SavedFolder[];
  readonly outside: readonly string[];
  readonly clock: Clock;
  readonly tell: (bytes: number) => void;
  /** Undefined if nothing runs. */
  readonly server: { readonly client: AdminClient; readonly timeoutMs: number } | undefined;
  /** Throws if something has been started. */
  readonly demandStopped: () => Promise<void>;
}

export async function backUpServed(order: ServedOrder, signal: AbortSignal): Promise<MadeBackup> {
  const { target, databases, folders, clock, tell, server } = order;
  const inside = folders.find(({ path }) => resolve(target).startsWith(join(path, sep)));
  if (inside) throw rejected(`${target} is in ${inside.path}, which is backed up; write the backup elsewhere`);
  await using writer = await BackupWriter.open(target, signal);
  const head = await servedHead({
    ...{ configuration: resolve(order.configuration), folders },
    databases: databases.map(({ uses, server: major, tool }, n) => ({
      ...{ folder: folderOf(n), uses, server: major, dumpedBy: tool.major },
    })),
  });
  await writer.addContent(HEAD, JSON.stringify(head), clock.now());
  await writer.addContent(CONFIGURATION, await readFile(order.configuration), clock.now());
  await using sessions = new AsyncDisposableStack();
  const snapshots: ExportedSnapshot[] = [];
  for (const { options } of databases) {
    const named = { ...options, applicationName: 'longshore backup' };
    snapshots.push(sessions.use(await ExportedSnapshot.open(named, signal)));
  }
  const store = await objectsOf(folders);
  await using _ = { [Symbol.asyncDispose]: async () => store && (await removeTree(store.links)) };
  if (store) await removeTree(store.links); // left by a backup that was killed

  await using quiet = server && (await QuietServer.quiet(server.client, server.timeoutMs, clock, signal));
  const heldAt = clock.now();
  if (store) {
    await quiet?.hold(signal);
    linkTree(store.objects, store.links);
  }
  const taken = await Promise.all(snapshots.map((one) => one.take()));
  if (store) await quiet?.release(signal);
  const heldMs = store ? clock.now() - heldAt : 0;
  const instant = taken.reduce((last, { instant: at }) => (at > last ? at : last), new Date(heldAt));
  for (const saved of folders)
    await copyFolder(tell, writer, saved.path, saved.folder, (path) => isLeftOutOfFolder(saved, path));
  await quiet?.end(signal);
  for (const [n, database] of databases.entries()) {
    await dumpDatabase(writer, { database, folder: folderOf(n), snapshot: taken[n]?.name ?? '', clock }, signal);
    await snapshots[n]?.[Symbol.asyncDispose]();
    tell(writer.bytes);
  }
  if (store) await copyFolder(tell, writer, store.links, `${store.folder}/${STORE.objects}`, () => false);
  if (!server) await order.demandStopped();
  await writer.addContent(INSTANT, JSON.stringify({ instant, notIncluded: order.outside }), clock.now());
  await writer.finish(clock.now());
  return { instant, files: writer.files, bytes: writer.bytes, heldMs };
}

const folderOf = (n: number): string => `databases/${n + 1}`;

/** The object store, unless it is a bucket, or has not been made yet. */
async function objectsOf(folders: readonly SavedFolder[]) {
  const saved = folders.find(({ keys }) => keys.includes(STORE_KEY));
  if (!saved || !(await exists(join(saved.path, STORE.objects)))) return undefined;
  const { folder, path } = saved;
  return { folder, objects: join(path, STORE.objects), links: join(path, STORE.snapshot) };
}
