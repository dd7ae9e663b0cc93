// What clients say of whole resumable uploads, by `Repr-Digest` when they create them. The bytes are hashed as they come. The state of
// a hash lives in this process only: if an upload was continued by another one, or after a restart, the upload lane checks the
// file when it packs it.

import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { digestMember } from '../../../../engine/model/digest.ts';
import type { UploadId } from '../../../../engine/model/ids.ts';
import type { ResumableUpload } from '../../../../engine/ports/resumable-uploads.ts';
import { fieldDigests } from '../../../kernel/bodies/body-digests.ts';
import { badRequest, HttpError } from '../../../kernel/pipeline/errors.ts';

/** Uploads whose hash is kept; beyond that, the upload lane checks the oldest ones. */
const MOST_KEPT = 10_000;

/** The SHA-256 of the whole upload in hex; undefined if the client does not say it. */
export function readWholeDigest({ headers }: IncomingMessage): string | undefined {
  const found = fieldDigests(headers, 'repr-digest');
  const digest = found.find(({ algorithm }) => algorithm === 'sha-256');
  if (!digest && found.length > 0)
    throw badRequest('header Repr-Digest has no sha-256, which is the one that is checked of a resumable upload');
  return digest && Buffer.from(digest.value, 'base64').toString('hex');
}

/** The upload is whole, and not what its client has said. */
export class WrongUpload extends HttpError {
  constructor(sent: string, computed: string) {
    const member = (hex: string): string => digestMember('sha-256', Buffer.from(hex, 'hex').toString('base64'));
    super(
      'bad-request',
      `header Repr-Digest says ${member(sent)}, but the upload has ${member(computed)}; it is removed`,
    );
  }
}

/** The hash of an upload up to an offset. */
class RunningDigest {
  readonly #hash: Hash;
  #offset: number;

  constructor(hash: Hash, offset: number) {
    this.#hash = hash;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  copy(): RunningDigest {
    return new RunningDigest(this.#hash.copy(), this.#offset);
  }

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#offset += chunk.length;
  }

  /** True if the upload is whole and has its digest. Throws {@link WrongUpload} if it is whole and has another. */
  isMet({ length, sha256 }: ResumableUpload): boolean {
    if (this.#offset !== length || sha256 === undefined) return false;
    const computed = this.#hash.copy().digest('hex');
    if (computed !== sha256) throw new WrongUpload(sha256, computed);
    return true;
  }
}

export class WholeDigests {
  readonly #kept = new Map<UploadId, RunningDigest>();

  /** For the bytes behind the upload's offset. Undefined if there is nothing to check, or it cannot be checked here. */
  running({ id, offset, sha256 }: ResumableUpload): RunningDigest | undefined {
    if (sha256 === undefined) return undefined;
    if (offset === 0) return new RunningDigest(createHash('sha256'), 0);
    const kept = this.#kept.get(id);
    // A copy: bytes that are dropped must not count.
    return kept?.offset === offset ? kept.copy() : undefined;
  }

  /** @param offset of the upload now; if the hash is of other bytes, it is not kept */
  keep({ id, length }: ResumableUpload, running: RunningDigest | undefined, offset: number): void {
    this.#kept.delete(id);
    if (running?.offset !== offset || offset === length) return;
    this.#kept.set(id, running);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  forget(id: UploadId): void {
    this.#kept.delete(id);
  }
}
