// Restores a data directory, in the directory itself (restored-folder.ts). While `restore-partial` is there, `longshore up` does
// not start: the directory may be incomplete. The next restore replaces it.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { hasNoRoom, messageOf, rejected, transient } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { DataDir } from '../../compose/data-dir.ts';
import { type DataDirHead, demandDataDir, HEAD, INSTANT } from './backup-head.ts';
import { RestoredFolder, timeName } from './restored-folder.ts';
import { type CheckedBackup, check, readHead, Unpacking } from './unpacking.ts';

export interface Restored extends CheckedBackup {
  readonly head: DataDirHead;
  /** Where the former content of the directory is; undefined if there was none. */
  readonly movedAside: string | undefined;
}

/** The caller sees to it that nothing runs on the directory. */
export async function restoreDataDir(
  {
    file,
    dir,
    force,
    clock,
    tell,
  }: {
    readonly file: string;
    readonly dir: DataDir;
    readonly force: boolean;
    readonly clock: Clock;
    readonly tell: (bytes: number) => void;
  },
  signal: AbortSignal,
): Promise<Restored> {
  demandDataDir(file, await readHead(file, signal));
  const folder = await RestoredFolder.at(dir.path, force);
  const { partial } = folder;
  let checked: CheckedBackup;
  try {
    await folder.begin();
    const placeOf = (path: string): string | undefined =>
      path === HEAD || path === INSTANT ? undefined : join(partial, path);
    checked = await check(file, new Unpacking(file, { roots: [partial], placeOf }, tell), signal);
  } catch (error) {
    // Nothing has been changed yet.
    await folder.discard();
    throw hasNoRoom(error) ? transient(`${dir.path}: ${messageOf(error)}`, { cause: error }) : error;
  }
  const { head } = checked;
  demandDataDir(file, head);
  await moveConfiguration(partial, head.dataDirectory, dir.path);
  return { ...checked, head, movedAside: await folder.moveIn(timeName(clock.now())) };
}

/** The configuration names paths below the data directory. If that is another one now, so do they. */
async function moveConfiguration(partial: string, from: string, to: string): Promise<void> {
  if (from === to) return;
  const file = join(partial, 'config.yaml');
  let text = decodeUtf8(await readFile(file));
  if (text === undefined)
    throw rejected(`${file} is not UTF-8: the paths in it cannot be changed to those below ${to}`);
  for (const [before, after] of [
    [from, to],
    [encodeURI(from), encodeURI(to)],
  ] as const)
    text = text.replaceAll(new RegExp(`${RegExp.escape(before)}(?=[/\\s"'}]|$)`, 'gm'), () => after);
  await writeFile(file, text);
}
