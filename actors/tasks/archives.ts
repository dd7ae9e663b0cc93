// The heavy work on archives of plugin host, handler jobs and reports. It blocks while it writes, so they never do it themselves:
// they are given an implementation that runs it in worker threads. Arguments and results are plain values.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ArchiveNotes,
  type ArchiveSource,
  type PackedFile,
  type ReadOptions,
  type WrittenArchive,
} from '../../engine/archive/archive-entry.ts';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { sha256OfFile } from '../../engine/archive/archive-output.ts';
import { readTarGz } from '../../engine/archive/tar-reader.ts';
import { writeTarGz } from '../../engine/archive/tar-writer.ts';
import { unpackTo } from '../../engine/archive/unpack.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import { writeZip, type ZipWriteOptions } from '../../engine/archive/zip-writer.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import type { PackageKind } from '../../engine/ports/handler-jobs.ts';
import { rejected } from '../../engine/runtime/failure.ts';

const TAR_LEVEL = 6;

export interface UnpackOrder {
  readonly file: string;
  readonly kind: PackageKind;
  /** An existing folder. */
  readonly dir: string;
  readonly limits: ArchiveLimits;
  /** A folder for results, which an upload may not bring along. */
  readonly reserved?: string;
  /** Return the contents, too, of at most so many bytes and files in no folder. */
  readonly contents?: { readonly bytes: number; readonly files: number };
}

export interface Unpacked {
  readonly files: readonly FileEntry[];
  /** What was left out or read in another way than it is written: a sentence each, for the owner. */
  readonly notes: readonly string[];
  /** Of each file. Undefined if they were not asked for or are too large. */
  readonly contents?: readonly Uint8Array[] | undefined;
}

export type ZipOptions = Pick<ZipWriteOptions, 'level' | 'syncEarly' | 'digests'>;

export interface Archives {
  /** An archive that breaks the archive rules, or has the reserved folder at its top level, is a `rejected` failure. */
  unpack(order: UnpackOrder, signal: AbortSignal): Promise<Unpacked>;
  /** Creates or replaces `target`. */
  zip(target: string, files: readonly PackedFile[], options: ZipOptions, signal: AbortSignal): Promise<WrittenArchive>;
  /** Creates or replaces `target`. */
  tarGz(target: string, files: readonly PackedFile[], signal: AbortSignal): Promise<WrittenArchive>;
  /** SHA-256 of a local file, in hex. */
  sha256(file: string, signal: AbortSignal): Promise<string>;
}

/** The work itself, in the thread that calls it. */
export const archivesHere: Archives = {
  async unpack({ file, kind, dir, limits, reserved, contents }, signal) {
    const notes = new ArchiveNotes();
    const options: ReadOptions = { limits, notes, ...(reserved === undefined ? {} : { inspect: refusing(reserved) }) };
    const read = kind === 'zip' ? readZip : readTarGz;
    const files = await unpackTo(dir, read(file, options, signal), signal);
    const areSmall = contents !== undefined && areWithin(files, contents);
    return {
      ...{ files, notes: notes.lines() },
      ...(areSmall ? { contents: files.map(({ name }) => new Uint8Array(readFileSync(join(dir, name)))) } : {}),
    };
  },
  zip: (target, files, options, signal) => writeZip(target, sources(files), options, signal),
  tarGz: (target, files, signal) => writeTarGz(target, sources(files), { level: TAR_LEVEL }, signal),
  sha256: async (file, signal) => sha256OfFile(file, signal),
};

const areWithin = (files: readonly FileEntry[], most: { readonly bytes: number; readonly files: number }): boolean =>
  files.length <= most.files &&
  files.reduce((sum, { size }) => sum + size, 0) <= most.bytes &&
  files.every(({ name }) => !name.includes('/'));

const refusing =
  (folder: string) =>
  ({ path }: { readonly path: string }): void => {
    if (path === folder || path.startsWith(`${folder}/`))
      throw rejected(`'${folder}' at its top level is the name of the folder for results`);
  };

function* sources(files: readonly PackedFile[]): Generator<ArchiveSource> {
  for (const { path, file, size } of files) yield { path, size, body: { file } };
}
