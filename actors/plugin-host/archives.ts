// The heavy work of the plugin host. It blocks while it writes, so the host never does it itself: it is given an
// implementation that runs it in worker threads. Arguments and results are plain values.

import type { ArchiveSource, PackedFile, WrittenArchive } from '../../engine/archive/archive-entry.ts';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { ArchiveNotes } from '../../engine/archive/archive-notes.ts';
import { unpackTo } from '../../engine/archive/unpack.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import { writeZip } from '../../engine/archive/zip-writer.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';

/** Plain data. */
export interface Unpacked {
  readonly files: readonly FileEntry[];
  /** What was left out or read in another way than it is written: a sentence each, for the owner. */
  readonly notes: readonly string[];
}

export interface Archives {
  /** Unpacks a zip into an existing folder; an archive that breaks the archive rules is a `rejected` failure. */
  unpack(zip: string, dir: string, limits: ArchiveLimits, signal: AbortSignal): Promise<Unpacked>;
  /** Creates or replaces `target`. */
  zip(
    target: string,
    files: readonly PackedFile[],
    options: { readonly level: number },
    signal: AbortSignal,
  ): Promise<WrittenArchive>;
}

/** The work itself, in the thread that calls it. */
export const archivesHere: Archives = {
  async unpack(zip, dir, limits, signal) {
    const notes = new ArchiveNotes();
    const files = await unpackTo(dir, readZip(zip, { limits, notes }, signal), signal);
    return { files, notes: notes.lines() };
  },
  zip: (target, files, options, signal) => writeZip(target, sources(files), options, signal),
};

function* sources(files: readonly PackedFile[]): Generator<ArchiveSource> {
  for (const { path, file, size } of files) yield { path, size, body: { file } };
}
