// The heavy work of a handler job: unpacking what came in, packing what goes out. It blocks while it writes, so the
// service never does it itself: it is given an implementation that runs it in worker threads. Arguments and results are
// plain values.

import type { ArchiveSource, PackedFile, ReadOptions } from '../../engine/archive/archive-entry.ts';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { ArchiveNotes } from '../../engine/archive/archive-notes.ts';
import { readTarGz } from '../../engine/archive/tar-reader.ts';
import { writeTarGz } from '../../engine/archive/tar-writer.ts';
import { unpackTo } from '../../engine/archive/unpack.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import type { PackageKind } from '../../engine/ports/handler-runs.ts';
import { rejected } from '../../engine/runtime/failure.ts';

/** Folder in which commands leave what is to be packed: an upload may not bring it along. */
export const OUTPUT_FOLDER = 'output';
const LEVEL = 6;

export interface UnpackOrder {
  readonly file: string;
  readonly kind: PackageKind;
  /** An existing folder. */
  readonly dir: string;
  readonly limits: ArchiveLimits;
}

export interface PackOrder {
  /** Created or replaced. */
  readonly target: string;
  readonly files: readonly PackedFile[];
}

export interface Packages {
  /**
   * What its owner should hear of, a sentence each: files left out, names read in another way than they are written. An archive
   * that breaks the archive rules, or has a top-level `output`, is a `rejected` failure.
   */
  unpack(order: UnpackOrder, signal: AbortSignal): Promise<readonly string[]>;
  /** Bytes of the tar.gz. */
  pack(order: PackOrder, signal: AbortSignal): Promise<number>;
}

/** The work itself, in the thread that calls it. */
export const packagesHere: Packages = {
  async unpack({ file, kind, dir, limits }, signal) {
    const notes = new ArchiveNotes();
    const options: ReadOptions = { limits, notes, inspect: refuseOutput };
    const read = kind === 'zip' ? readZip : readTarGz;
    await unpackTo(dir, read(file, options, signal), signal);
    return notes.lines();
  },
  async pack({ target, files }, signal) {
    return (await writeTarGz(target, sources(files), { level: LEVEL }, signal)).bytes;
  },
};

function refuseOutput({ path }: { readonly path: string }): void {
  if (path === OUTPUT_FOLDER || path.startsWith(`${OUTPUT_FOLDER}/`))
    throw rejected(`'${OUTPUT_FOLDER}' at its top level is the name of the folder for results`);
}

function* sources(files: readonly PackedFile[]): Generator<ArchiveSource> {
  for (const { path, file, size } of files) yield { path, size, body: { file } };
}
