// Writes a tar.gz to a local file, as a stream.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { defect } from '../failure.ts';
import type { ArchiveSource, WrittenArchive } from './archive-entry.ts';
import { writeArchive } from './archive-output.ts';
import { quoteEntry } from './entry-path.ts';

const CHUNK_BYTES = 64 * 1024;

/**
 * Creates or replaces `target`, which is gone again when anything fails. Files only, mode 0644; readers make the folders.
 * A body longer or shorter than its size is a defect of the caller.
 */
export async function writeTarGz(
  target: string,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  options: { readonly level: number },
  signal: AbortSignal,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  return writeArchive(target, async (output) => {
    const tar = pack();
    const gzip = createGzip({ level: options.level, chunkSize: CHUNK_BYTES });
    const written = pipeline(
      tar as unknown as NodeJS.ReadableStream,
      gzip,
      async (packed: AsyncIterable<Buffer>) => {
        for await (const chunk of packed) await output.append(chunk);
      },
      { signal },
    );
    // Whichever side fails first is the reason; the other only follows.
    const [filling, writing] = await Promise.allSettled([fill(tar, sources, signal), written]);
    signal.throwIfAborted();
    if (filling.status === 'rejected') throw filling.reason;
    if (writing.status === 'rejected') throw writing.reason;
    return { bytes: output.position, entries: filling.value };
  });
}

async function fill(
  tar: Pack,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  signal: AbortSignal,
): Promise<number> {
  let entries = 0;
  try {
    for await (const source of sources) {
      signal.throwIfAborted();
      await addEntry(tar, source, signal);
      entries++;
    }
    tar.finalize();
    return entries;
  } catch (error) {
    tar.destroy(error as Error);
    throw error;
  }
}

async function addEntry(tar: Pack, source: ArchiveSource, signal: AbortSignal): Promise<void> {
  const { path, size, modified = new Date(0) } = source;
  const sink = tar.entry({ name: path, size, mode: 0o644, mtime: modified });
  // Its stream class is not Node's but keeps to the same events.
  await pipeline(Readable.from(checked(source)), sink as unknown as NodeJS.WritableStream, { signal });
}

async function* checked({ path, size, body }: ArchiveSource): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    bytes += chunk.length;
    if (bytes > size) throw defect(`entry ${quoteEntry(path)} has more than the ${size} bytes announced`);
    if (chunk.length > 0) yield chunk;
  }
  if (bytes !== size) throw defect(`entry ${quoteEntry(path)} has ${bytes} bytes, not the ${size} announced`);
}
