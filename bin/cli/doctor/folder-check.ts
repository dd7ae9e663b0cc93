// Checks a folder: it exists or can be created, is writable, and has free space.

import { constants, type StatsFs } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Check, type Findings, fault, type Problem, warning } from './check.ts';
import { codeOf } from './error-codes.ts';

export interface FolderOptions {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Path in the configuration. Undefined if it is derived from the location of the configuration file. */
  readonly key?: string;
  /** The service creates it when it is missing. */
  readonly made: boolean;
  /** With less free space, work will soon fail. */
  readonly wantedBytes: number;
}

const GIB = 1024 ** 3;

export const folderCheck = (options: FolderOptions): Check => ({
  name: options.name,
  where: options.path,
  tried: 'check that it exists, its permissions and its free space',
  look: () => look(options),
  explain: () => 'inspect it: is its disk mounted and healthy?',
});

async function look({ path, key, made, wantedBytes }: FolderOptions): Promise<Findings> {
  const elsewhere = key === undefined ? '' : `, or correct ${key}`;
  const folder = made ? await firstThere(path) : path;
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    (error: unknown) => codeOf(error) ?? 'no reason given',
  );
  if (typeof isFolder === 'string')
    return { problems: [fault(`it does not exist (${isFolder})`, `create it, or mount its file system${elsewhere}`)] };
  if (!isFolder) return { problems: [fault(`${folder} is not a folder`, `move it away${elsewhere}`)] };
  const closed = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => codeOf(error),
  );
  if (closed !== undefined)
    return {
      problems: [
        fault(`${folder} is not writable (${closed})`, `let user id ${process.getuid?.()} write there${elsewhere}`),
      ],
    };
  const { says, problems } = roomOf(await statfs(folder), wantedBytes, elsewhere);
  return { says: folder === path ? says : `${says}; it will be created`, problems };
}

/** The folder, or its nearest existing ancestor. */
async function firstThere(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    const isMissing = await stat(folder).then(
      () => false,
      (error: unknown) => codeOf(error) === 'ENOENT',
    );
    if (!isMissing || folder === dirname(folder)) return folder;
  }
}

/** Exported for its test. */
export function roomOf(
  { bavail, bsize, files, ffree }: Pick<StatsFs, 'bavail' | 'bsize' | 'files' | 'ffree'>,
  wantedBytes: number,
  elsewhere: string,
): { readonly says: string; readonly problems: readonly Problem[] } {
  const freeBytes = bavail * bsize;
  const says = `${gib(freeBytes)} free`;
  const fix = `free some space${elsewhere}`;
  const problems = [
    ...(freeBytes === 0 ? [fault('its disk is full', fix)] : []),
    ...(freeBytes > 0 && freeBytes < wantedBytes
      ? [warning(`${says}, less than the ${gib(wantedBytes)} it may need at once`, fix)]
      : []),
    // Some file systems do not count inodes.
    ...(files > 0 && ffree === 0 ? [fault('its disk has no free inodes', fix)] : []),
  ];
  return { says, problems };
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
