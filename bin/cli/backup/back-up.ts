// Makes a backup of the data directory of `longshore up`: the state of one instant, although everything goes on.
//
//   1 the database server begins a backup; its files are copied, while they change
//   2 the lanes that write to sites finish their jobs and pause
//   3 the object store is held: links to all of its objects are made, which takes about a second for 100,000 of them
//   4 the database server ends its backup: this is the instant. The store goes on
//   5 WAL up to the instant, installed files and everything else is copied; then the lanes go on
//   6 the objects are copied from the links
// The databases come back as they were at the end of their backup (base-backup.ts), the objects as they were when nothing could
// change, and the installed files as they were while no lane could.

import { linkSync, mkdirSync, opendirSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { BaseBackup } from '../../../engine/adapters/embedded-postgres/base-backup.ts';
import { serversOf } from '../../../engine/adapters/embedded-postgres/postgres-orphan.ts';
import { rejected, transient } from '../../../engine/runtime/failure.ts';
import { exists, removeTree } from '../../../engine/runtime/files.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { DataDir } from '../../compose/data-dir.ts';
import type { AdminClient } from '../client/admin-client.ts';
import { HEAD, headOf, INSTANT } from './backup-head.ts';
import { BackupWriter } from './backup-writer.ts';
import { isLeftOut, isLeftOutRunning, isLeftOutStopped, OBJECTS, POSTGRES, SNAPSHOT } from './data-dir-parts.ts';
import { walk } from './folder-walk.ts';
import { QuietServer } from './quiet-server.ts';

const CONTROL_FILE = `${POSTGRES}/global/pg_control`;

export interface BackupOrder {
  readonly target: string;
  readonly dir: DataDir;
  /** What the configuration names outside of the directory. */
  readonly outside: readonly string[];
  /** False if the object store is one of those. */
  readonly hasStore: boolean;
  readonly clock: Clock;
  /** Bytes copied so far. */
  readonly tell: (bytes: number) => void;
}

export interface MadeBackup {
  readonly instant: Date;
  readonly files: number;
  readonly bytes: number;
  /** How long changes of the object store waited. */
  readonly heldMs: number;
}

interface RunningServer {
  readonly client: AdminClient;
  readonly postgres: { readonly port: number; readonly password: string };
  /** How long to wait for jobs that run. */
  readonly timeoutMs: number;
}

export async function backUpRunning(
  order: BackupOrder,
  { client, postgres, timeoutMs }: RunningServer,
  signal: AbortSignal,
): Promise<MadeBackup> {
  const { dir, hasStore, clock } = order;
  const links = join(dir.path, SNAPSHOT);
  await using writer = await begin(order, signal);
  await using _ = { [Symbol.asyncDispose]: () => removeTree(links) };
  await removeTree(links); // left by a backup that was killed
  await using base = await BaseBackup.begin(postgres, signal);
  const isPostgres = (path: string): boolean => path === POSTGRES || path.startsWith(`${POSTGRES}/`);
  await copy(order, writer, (path) => isLeftOutRunning(path) || !isPostgres(path) || path === CONTROL_FILE);
  await using quiet = await QuietServer.quiet(client, timeoutMs, clock, signal);
  const heldAt = clock.now();
  if (hasStore) {
    await quiet.hold(signal);
    linkTree(join(dir.path, OBJECTS), links);
  }
  const { instant, label, isNeeded } = await base.end(signal);
  if (hasStore) await quiet.release(signal);
  const heldMs = clock.now() - heldAt;
  const owner = await stat(join(dir.path, POSTGRES));
  await writer.addContent(`${POSTGRES}/backup_label`, label, clock.now(), owner);
  await writer.addContent(CONTROL_FILE, await stableContent(join(dir.path, CONTROL_FILE), signal), clock.now(), owner);
  const wal = `${POSTGRES}/pg_wal`;
  for await (const { path, source } of walk(join(dir.path, wal), (path) => !isNeeded(path)))
    if (!(await writer.addPath(`${wal}/${path}`, source))) throw transient(`PostgreSQL has removed ${path} too early`);
  await copy(order, writer, (path) => isLeftOut(path) || isPostgres(path) || path === OBJECTS);
  await quiet.end(signal);
  if (hasStore) await copyFolder(order.tell, writer, links, OBJECTS, () => false);
  return await finish(order, writer, instant, heldMs);
}

/** Nothing runs on the directory, and the caller sees to it that nothing starts. */
export async function backUpStopped(order: BackupOrder, signal: AbortSignal): Promise<MadeBackup> {
  const data = join(order.dir.path, POSTGRES);
  if ((await exists(data)) && (await serversOf(data)).length > 0)
    throw rejected(
      `a PostgreSQL server still works in ${data}, left by a process that was killed; start 'longshore up' and stop it`,
    );
  await using writer = await begin(order, signal);
  const instant = new Date(order.clock.now());
  await copy(order, writer, isLeftOutStopped);
  return await finish(order, writer, instant, 0);
}

async function begin({ target, dir, clock }: BackupOrder, signal: AbortSignal): Promise<BackupWriter> {
  if (resolve(target).startsWith(join(dir.path, sep)))
    throw rejected(`${target} is in the data directory itself; write the backup elsewhere, best on another disk`);
  const writer = await BackupWriter.open(target, signal);
  await writer.addContent(HEAD, JSON.stringify(await headOf(dir)), clock.now());
  return writer;
}

async function finish(
  { outside, clock }: BackupOrder,
  writer: BackupWriter,
  instant: Date,
  heldMs: number,
): Promise<MadeBackup> {
  await writer.addContent(INSTANT, JSON.stringify({ instant, notIncluded: outside }), clock.now());
  await writer.finish(clock.now());
  return { instant, files: writer.files, bytes: writer.bytes, heldMs };
}

const copy = (order: BackupOrder, writer: BackupWriter, leaves: (path: string) => boolean): Promise<void> =>
  copyFolder(order.tell, writer, order.dir.path, '', leaves);

export async function copyFolder(
  tell: (bytes: number) => void,
  writer: BackupWriter,
  folder: string,
  as: string,
  leaves: (path: string) => boolean,
): Promise<void> {
  if (as !== '') await writer.addPath(as, folder);
  for await (const { path, source } of walk(folder, leaves)) {
    await writer.addPath(as === '' ? path : `${as}/${path}`, source);
    tell(writer.bytes);
  }
}

/** With blocking calls, because the store waits: they are several times as fast for many files. */
export function linkTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o750 });
  const folder = opendirSync(from);
  try {
    for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) linkTree(source, target);
      else linkSync(source, target);
    }
  } finally {
    folder.closeSync();
  }
}

/** PostgreSQL rewrites the file in place: read until two readings are the same. */
export async function stableContent(file: string, signal: AbortSignal): Promise<Buffer> {
  for (let before = await readFile(file); ; ) {
    signal.throwIfAborted();
    const now = await readFile(file);
    if (now.equals(before)) return now;
    before = now;
  }
}
