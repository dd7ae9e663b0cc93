// Thread side of the upload lane: downloads the file of an upload by URL into the scratch folder. Bytes are counted as they
// arrive, whatever size the server announced.

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { archiveByName } from '../../engine/archive/archive-entry.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { defect, rejected, transient } from '../../engine/runtime/failure.ts';
import type { TaskContext } from './task-map.ts';

/** In bytes. */
interface FetchLimits {
  /** Per upload. */
  readonly maxUploadBytes: number;
  /** Per file that is not an archive. */
  readonly maxFileBytes: number;
  /** The owner's quota for all uploads, and how much of it is left for this one. */
  readonly quotaBytes: number;
  readonly roomBytes: number;
}

export interface FetchUploadInput {
  readonly at: DatasetAddress;
  readonly url: string;
  /** Exclusive to this task; exists; the caller removes it. */
  readonly scratchDir: string;
  readonly limits: FetchLimits;
}

export interface FetchUploadOutput {
  /** Path in the scratch folder. */
  readonly file: string;
  /** File name of the upload. */
  readonly name: string;
  readonly size: number;
}

const WRITE_BYTES = 1024 * 1024;

/** Fails with `rejected` and a sentence for the user when the URL is at fault; with `transient` when it may work later. */
export async function fetchUpload(
  input: FetchUploadInput,
  { remote, signal }: Pick<TaskContext, 'remote' | 'signal'>,
): Promise<FetchUploadOutput> {
  if (!remote) throw defect('this thread has no client for remote files');
  const found = await remote.fetch(new URL(input.url), signal);
  if (found.kind === 'refused') throw rejected(`the URL ${found.reason}`);
  if (found.kind === 'failed' && found.again) throw transient(found.message);
  if (found.kind === 'failed') throw rejected(`${found.message}; ${WORKED_ONCE}`);
  const { fileName: name, body } = found;
  const limit = lowestLimit(name, input.limits);
  const file = join(input.scratchDir, 'fetched');
  let size = 0;
  async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > limit.bytes) throw rejected(limit.message);
      yield chunk;
    }
  }
  try {
    if (found.size !== undefined && found.size > limit.bytes) throw rejected(limit.message);
    await pipeline(body, counted, createWriteStream(file, { highWaterMark: WRITE_BYTES }), { signal });
  } catch (error) {
    body.destroy();
    // If the signal aborted, that is the reason, whatever error the pipeline made of it.
    throw signal.aborted ? signal.reason : error;
  }
  // Trust the announced size: otherwise a truncated download would go unnoticed.
  if (found.size !== undefined && size !== found.size)
    throw transient(`${name} has ${size} bytes; the server announced ${found.size}`);
  return { file, name, size };
}

const WORKED_ONCE =
  'it worked when the upload was submitted, so it may be a single-use link: ' +
  'send a link that keeps working, or the file itself';

export const overQuota = ({ quotaBytes, roomBytes }: Pick<FetchLimits, 'quotaBytes' | 'roomBytes'>): string =>
  `the upload is larger than the ${roomBytes} bytes left of your storage quota of ${quotaBytes} bytes, of which ` +
  `${quotaBytes - roomBytes} are used`;

function lowestLimit(name: string, limits: FetchLimits): { readonly bytes: number; readonly message: string } {
  const { maxUploadBytes, maxFileBytes, roomBytes } = limits;
  const all = [
    {
      bytes: maxUploadBytes,
      message: `${name} is larger than ${maxUploadBytes} bytes, the maximum for an upload`,
    },
    { bytes: roomBytes, message: overQuota(limits) },
    ...(archiveByName(name) === undefined
      ? [{ bytes: maxFileBytes, message: `${name} has more than the ${maxFileBytes} bytes allowed per file` }]
      : []),
  ];
  return all.reduce((lowest, limit) => (limit.bytes < lowest.bytes ? limit : lowest));
}
