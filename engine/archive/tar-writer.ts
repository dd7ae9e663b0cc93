// Writes a tar.gz to a local file. For worker threads: local files are read with blocking calls.

import type { ArchiveSource, WrittenArchive } from './archive-entry.ts';
import { writeArchive } from './archive-output.ts';
import { GzipOutput } from './gzip-output.ts';
import { SourceBody } from './source-body.ts';
import { END_BYTES, padding, tarHeader } from './tar-header.ts';

/**
 * Creates or replaces `target`; removes it when anything fails. Files only, mode 0644; readers create the folders. A body
 * longer or shorter than its size is a defect of the caller.
 */
export async function writeTarGz(
  target: string,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  options: { readonly level: number },
  signal: AbortSignal,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  return writeArchive(target, async (output) => {
    await using gzip = new GzipOutput(output, options.level);
    let entries = 0;
    for await (const source of sources) {
      signal.throwIfAborted();
      await addEntry(gzip, source, signal);
      entries++;
    }
    await gzip.append(new Uint8Array(END_BYTES));
    await gzip.end();
    return { bytes: output.position, entries };
  });
}

async function addEntry(gzip: GzipOutput, source: ArchiveSource, signal: AbortSignal): Promise<void> {
  const { path, size, modified = new Date(0) } = source;
  await using body = new SourceBody(source, signal);
  await gzip.append(tarHeader({ path, size, modified }));
  while (body.done < size) gzip.advance(await body.fill(await gzip.room()));
  await body.finish();
  await gzip.append(new Uint8Array(padding(size)));
}
