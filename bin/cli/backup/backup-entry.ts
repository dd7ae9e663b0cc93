// A file, folder or link of a backup, with everything that comes back: permissions, owner, and the time to the microsecond, which
// is part of an object's etag. In the tar as pax values, which GNU tar and bsdtar read, too.

import type { BigIntStats } from 'node:fs';
import type { TarEntry } from '../../../engine/archive/tar-entries.ts';
import { anyTarHeader } from '../../../engine/archive/tar-writer.ts';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { rejected } from '../../../engine/runtime/failure.ts';

export interface BackupEntry {
  /** Relative, with `/` between folders. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'link';
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedMicros: number;
  /** Where a link leads. */
  readonly link?: string;
}

/** The record of a tar has the mode, too, but its reader here is for contents. Other programs ignore comments. */
const MODE = 'comment';

export function entryOf(path: string, stats: BigIntStats, link?: string): BackupEntry | undefined {
  const type = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : undefined;
  // Sockets and pipes belong to processes.
  if (!type) return undefined;
  return {
    ...{ path, type },
    size: type === 'file' ? Number(stats.size) : 0,
    mode: Number(stats.mode) & 0o7777,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    modifiedMicros: Number(stats.mtimeNs / 1_000n),
    ...(link === undefined ? {} : { link }),
  };
}

/** A file that is made for the backup. */
export const madeEntry = (path: string, size: number, nowMs: number): BackupEntry => ({
  ...{ path, type: 'file', size, mode: 0o600, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
  modifiedMicros: Math.trunc(nowMs) * 1_000,
});

export function headerOf({ path, type, size, mode, uid, gid, modifiedMicros, link }: BackupEntry): Buffer {
  const seconds = Math.floor(modifiedMicros / 1e6);
  const micros = String(modifiedMicros - seconds * 1e6).padStart(6, '0');
  return anyTarHeader({
    ...{ path, type, size, mode },
    modified: new Date(seconds * 1_000),
    pax: {
      mtime: `${seconds}.${micros}`,
      ...{ uid: String(uid), gid: String(gid), [MODE]: mode.toString(8) },
      ...(link === undefined ? {} : { linkpath: link }),
    },
  });
}

/** Throws `rejected` for what no backup has. */
export function decodeEntry({ name, size, type, pax }: TarEntry): BackupEntry {
  const text = (key: string): string => pax[key]?.toString('latin1') ?? '';
  const path = decodeUtf8(name)?.replace(/\/$/, '') ?? '';
  const [mode, uid, gid] = [Number.parseInt(text(MODE), 8), Number(text('uid')), Number(text('gid'))];
  const [, seconds, micros] = /^(-?\d{1,12})\.(\d{6})$/.exec(text('mtime')) ?? [];
  const link = pax.linkpath && decodeUtf8(pax.linkpath);
  const isWhole = seconds !== undefined && [mode, uid, gid].every((value) => Number.isSafeInteger(value) && value >= 0);
  if (type === 'other' || !isWhole || !isInside(path) || (type === 'link') !== (link !== undefined))
    throw rejected(`it is not a backup of Longshore, or it is damaged, at entry ${JSON.stringify(path)}`);
  return {
    ...{ path, type, size: type === 'file' ? size : 0, mode, uid, gid },
    modifiedMicros: Number(seconds) * 1e6 + Number(micros),
    ...(link === undefined ? {} : { link }),
  };
}

const isInside = (path: string): boolean =>
  path !== '' && !path.includes('\0') && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** What the manifest says of an entry, one line of JSON. @param sha256 of a file's content */
export const manifestLine = ({ path, type, size, mode, link }: BackupEntry, sha256: string | undefined): string =>
  `${JSON.stringify({ path, type, size, sha256, mode: mode.toString(8), link })}\n`;
