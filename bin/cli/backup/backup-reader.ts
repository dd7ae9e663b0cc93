// Reads a backup to its end and checks it: everything that the manifest lists is there, in its order and with its digest, and
// nothing else. Only then may what was read be used.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { detectArchiveFile } from '../../../engine/archive/archive-entry.ts';
import { TarEntries } from '../../../engine/archive/tar-entries.ts';
import { Failure, messageOf, rejected } from '../../../engine/runtime/failure.ts';
import { type BackupEntry, decodeEntry, manifestLine } from './backup-entry.ts';
import { MANIFEST } from './backup-writer.ts';

/** What becomes of the entries. A chunk is valid until the next call. */
export interface BackupSink {
  begin(entry: BackupEntry): Promise<void>;
  write(chunk: Uint8Array): Promise<void>;
  /** Of a file that was begun. */
  end(entry: BackupEntry): Promise<void>;
}

export interface ReadBackup {
  readonly files: number;
  readonly bytes: number;
}

/** Fails with `rejected` if the backup is damaged, cut off, or none. */
export async function readBackup(file: string, sink: BackupSink, signal: AbortSignal): Promise<ReadBackup> {
  const source = await openTar(file, signal);
  const done = { files: 0, bytes: 0 };
  const tar = new TarEntries(source[Symbol.asyncIterator]());
  const found = createHash('sha256');
  try {
    for (;;) {
      const record = await readingOf(file, tar.next());
      if (!record) throw damaged(file, 'it ends before its manifest');
      signal.throwIfAborted();
      const entry = decodeEntry(record);
      if (entry.path === MANIFEST) break;
      await sink.begin(entry);
      const content = createHash('sha256');
      for (let chunk = await readingOf(file, tar.content()); chunk; chunk = await readingOf(file, tar.content())) {
        content.update(chunk);
        done.bytes += chunk.length;
        await sink.write(chunk);
      }
      if (entry.type === 'file') {
        await sink.end(entry);
        done.files++;
      }
      found.update(manifestLine(entry, entry.type === 'file' ? content.digest('hex') : undefined));
    }
    const listed = createHash('sha256');
    for (let chunk = await readingOf(file, tar.content()); chunk; chunk = await readingOf(file, tar.content()))
      listed.update(chunk);
    if (listed.digest('hex') !== found.digest('hex')) throw damaged(file, 'its content differs from its manifest');
    // Reads to the end, where the checksum of the compression is.
    if (await readingOf(file, tar.next())) throw damaged(file, 'it goes on after its manifest');
    return done;
  } finally {
    source.destroy();
  }
}

/** The first entry, which is small. */
export async function readFirst(
  file: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly content: Buffer }> {
  const source = await openTar(file, signal);
  const tar = new TarEntries(source[Symbol.asyncIterator]());
  try {
    const record = await readingOf(file, tar.next());
    if (!record) throw damaged(file, 'it is empty');
    const { path, size } = decodeEntry(record);
    if (size > maxBytes) throw damaged(file, `${path} has ${size} bytes`);
    const chunks: Buffer[] = [];
    for (let chunk = await readingOf(file, tar.content()); chunk; chunk = await readingOf(file, tar.content()))
      chunks.push(Buffer.from(chunk));
    return { path, content: Buffer.concat(chunks) };
  } finally {
    source.destroy();
  }
}

const damaged = (file: string, what: string): Failure => rejected(`${file} is damaged: ${what}`);

/** Errors of the tar and of the compression are damages; those of the disk are not. */
async function readingOf<Result>(file: string, reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Failure || (error instanceof Error && ('syscall' in error || error.name === 'AbortError')))
      throw error;
    throw damaged(file, messageOf(error));
  }
}

async function openTar(file: string, signal: AbortSignal): Promise<Readable> {
  const isZipped = (await detectArchiveFile(file)) === 'gzip';
  const bytes = createReadStream(file, { signal });
  // The reader is told of every failure by the stream that it reads.
  return isZipped ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
}
