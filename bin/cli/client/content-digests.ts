// SHA-256 of what is sent and received (RFC 9530), so that no byte changes on the way unnoticed.

import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parseDigestField, sha256Field } from '../../../engine/model/digest.ts';
import { Failure } from '../../../engine/runtime/failure.ts';

/** The field for the content of a file. */
export async function digestOfFile(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash, { signal });
  return sha256Field(hash.digest('hex'));
}

/** Feeds the hash the pieces that it passes on. */
export const hashing = (hash: Hash) =>
  async function* (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  };

/** What arrived: its SHA-256 in hex, and whether the server has said the same. It may say nothing. */
export interface Verified {
  readonly sha256: string;
  readonly verified: boolean;
}

/** Throws if the server's `Repr-Digest` is another one. @param what for the message */
export function verify(hash: Hash, field: string | null, what: string): Verified {
  const sha256 = hash.digest('hex');
  const said = field === null ? [] : parseDigestField(field);
  const expected = 'fault' in said ? undefined : said.find(({ algorithm }) => algorithm === 'sha-256');
  if (!expected) return { sha256, verified: false };
  const sent = Buffer.from(expected.value, 'base64').toString('hex');
  if (sent === sha256) return { sha256, verified: true };
  throw new Failure(
    'transient',
    `${what} did not arrive as it was sent: the server says SHA-256 ${sent}, but it has ${sha256}. Nothing was written`,
  );
}
