// A resumable upload that is cut off once or twice, and continued through whichever process is next.

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { TestFile } from '../../support/api.ts';
import type { Calls, Request } from './calls.ts';

const PIECE = 256 * 1024;
const TUS = { 'tus-resumable': '1.0.0' };

interface Uploader {
  readonly token: string;
  readonly calls: Calls;
  readonly random: () => number;
}

/** @returns its id, once the server has all of it */
export async function resumable({ token, calls, random }: Uploader, file: TestFile): Promise<string> {
  const bytes = Buffer.from(file.content);
  const metadata = `filename ${Buffer.from(file.name).toString('base64')}`;
  const created = await calls.ask({
    ...{ kind: 'resumable upload', method: 'POST', path: '/uploads', token, ends: [201] },
    headers: {
      ...TUS,
      'upload-length': String(bytes.length),
      'upload-metadata': metadata,
      'idempotency-key': randomUUID(),
    },
  });
  const id = (created.headers.get('location') ?? '').split('/').at(-1) ?? '';
  const path = `/uploads/${id}`;
  for (let cuts = bytes.length > PIECE ? 1 + Math.floor(random() * 2) : 0; ; cuts--) {
    const head = await calls.ask({ kind: 'asked offset', method: 'HEAD', path, token, headers: TUS, ends: [200] });
    const offset = Number(head.headers.get('upload-offset'));
    if (offset === bytes.length) return id;
    const rest = bytes.subarray(offset);
    const cutAt = cuts > 0 ? Math.floor(random() * rest.length) : Number.POSITIVE_INFINITY;
    const request: Request = {
      ...{ kind: 'continued upload', method: 'PATCH', path, token },
      headers: { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
      body: () => Readable.from(pieces(rest, cutAt)),
      // Another process may have more of it than it said, or the one before is not done.
      ends: [204, 409],
    };
    await calls.try(request);
  }
}

/** Fails when so many bytes were sent, and the connection with it. */
function* pieces(bytes: Buffer, cutAt: number): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    if (at >= cutAt) throw new Error('cut');
    yield bytes.subarray(at, at + PIECE);
  }
}
