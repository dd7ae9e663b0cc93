// Has a stored zip of large local files written by two threads at once (zip-pieces.ts). It only schedules, and may be
// called in the main thread.

import type { PackedFile, WrittenArchive } from './archive-entry.ts';
import { writeArchive } from './archive-output.ts';
import { AtOnce } from './at-once.ts';
import { type CopyOrder, cutPieces, type RecordsOrder } from './zip-pieces.ts';

/** The steps of zip-pieces.ts as they run in threads. */
export interface PieceThreads {
  copy(order: CopyOrder, signal: AbortSignal): Promise<readonly number[]>;
  records(order: RecordsOrder, signal: AbortSignal): Promise<WrittenArchive>;
}

/** Of what a thread copies in one go, some milliseconds: others who need a thread wait no longer. */
const PIECE_BYTES = 16 * 1024 * 1024;
/** Two writes to one file exclude each other: more threads would wait for each other. */
const AT_ONCE = 2;
/** Less is done by one thread before two have begun. */
const FROM_BYTES = 2 * PIECE_BYTES;
/** Small files cost their opening, which a piece for each does not make less. */
const FROM_MEAN_BYTES = 64 * 1024;

/** Whether files are worth it. */
export function worthPieces(files: readonly PackedFile[]): boolean {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return bytes >= FROM_BYTES && bytes >= files.length * FROM_MEAN_BYTES;
}

/** Creates or replaces `target`, as `writeZip` does at level 0; it is gone again when anything fails. */
export async function zipInPieces(
  target: string,
  files: readonly PackedFile[],
  threads: PieceThreads,
  signal: AbortSignal,
  pieceBytes: number = PIECE_BYTES,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  // It makes the file and removes it; whatever is in it is written by the threads.
  return writeArchive(target, async () => {
    const crcs = await copyAll(target, files, threads, signal, pieceBytes);
    return await threads.records({ target, files, crcs, pieceBytes }, signal);
  });
}

/** When it settles, nobody writes any more. */
async function copyAll(
  target: string,
  files: readonly PackedFile[],
  threads: PieceThreads,
  signal: AbortSignal,
  pieceBytes: number,
): Promise<readonly number[]> {
  const crcs: (readonly number[])[] = [];
  await using copying = new AtOnce(AT_ONCE);
  let lists = 0;
  for (const pieces of cutPieces(files, pieceBytes)) {
    const list = lists++;
    await copying.begin(async () => {
      crcs[list] = await threads.copy({ target, pieces }, signal);
    });
  }
  await copying.finish();
  return crcs.flat();
}
