// Copies an object within the bucket, on the server: no byte passes through this process. S3 copies at most 5 GiB in one request,
// so a large object is copied in parts, several at a time.

import { transient } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import type { Logger } from '../../runtime/log.ts';
import { type S3Connection, textOf } from './s3-connection.ts';
import { tagIn } from './s3-listing.ts';
import { COMPLETE_MS, MultipartUpload, type SentPart } from './s3-multipart.ts';

const COPY_BYTES = 512 * 1024 * 1024;
const COPIES_AT_ONCE = 4;

export interface CopiedObject {
  readonly key: string;
  readonly bytes: number;
}

export async function copyObject(
  connection: S3Connection,
  from: CopiedObject,
  key: string,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (from.bytes <= COPY_BYTES) {
    await copy(connection, from, key, {}, signal);
    return;
  }
  const upload = new MultipartUpload(connection, key, log);
  await upload.begin(signal);
  try {
    await upload.complete(signal, await copyParts(connection, from, key, upload, signal));
  } catch (error) {
    await upload.clear();
    throw error;
  }
}

async function copyParts(
  connection: S3Connection,
  from: CopiedObject,
  key: string,
  upload: MultipartUpload,
  signal: AbortSignal,
): Promise<readonly SentPart[]> {
  using joined = new JoinedSignal(signal);
  const parts: SentPart[] = [];
  const count = Math.ceil(from.bytes / COPY_BYTES);
  let next = 0;
  const copySome = async (): Promise<void> => {
    for (let part = ++next; part <= count; part = ++next) {
      const first = (part - 1) * COPY_BYTES;
      const range = `bytes=${first}-${Math.min(first + COPY_BYTES, from.bytes) - 1}`;
      const query = upload.partQuery(part);
      parts.push({ part, etag: await copy(connection, from, key, { query, range }, joined.signal) });
    }
  };
  const copies = Array.from({ length: COPIES_AT_ONCE }, () =>
    copySome().catch((error: unknown) => {
      joined.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(copies);
  await Promise.all(copies);
  return parts;
}

/** @returns the etag */
function copy(
  connection: S3Connection,
  from: CopiedObject,
  key: string,
  { query, range }: { readonly query?: string; readonly range?: string },
  signal: AbortSignal,
): Promise<string> {
  const what = `copying ${from.key} to ${key}`;
  return connection.call(what, signal, async (call, client) => {
    call.commit();
    const headers = {
      'x-amz-copy-source': `/${connection.bucket}/${from.key}`,
      ...(range === undefined ? {} : { 'x-amz-copy-source-range': range }),
    };
    const request = { method: 'PUT', key, headers, answers: [200], ...(query === undefined ? {} : { query }) } as const;
    call.expect(COMPLETE_MS, 'an answer');
    const text = await textOf(await connection.send(call, client, request));
    // A store that fails while it copies says so in the body of a 200.
    const etag = tagIn(text);
    if (etag === undefined) throw transient(`${connection.describe(what)}: the store failed`);
    return etag;
  });
}
