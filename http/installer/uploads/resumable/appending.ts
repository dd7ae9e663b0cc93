// Appends the body of a request to an upload. Durable bytes are recorded while more arrive, at least every 32 MiB, so after a crash
// the client sends no more than that again. If a body is cut off, what arrived is kept, unless the body has a checksum or digest,
// which only a complete body can match.

import { createHash } from 'node:crypto';
import { addAbortListener } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { UploadBytes, UploadWriter } from '../../../../engine/ports/resumable-uploads.ts';
import { giveBack } from '../../../../engine/runtime/give-back.ts';
import { JoinedSignal } from '../../../../engine/runtime/joined-signal.ts';
import { type Clock, deadline } from '../../../../engine/runtime/time.ts';
import type { BodyDigests } from '../../../kernel/bodies/body-digests.ts';
import { bodyStream } from '../../../kernel/bodies/body-stream.ts';
import { type Checksum, checksumMismatch, overLength } from './tus-headers.ts';
import type { HeldUpload } from './upload-claims.ts';
import type { WholeDigests } from './whole-digests.ts';

export interface AppendParts {
  readonly bytes: Pick<UploadBytes, 'open'>;
  readonly clock: Clock;
  /** From now on, in ms. */
  readonly expiryMs: () => number;
  readonly whole: WholeDigests;
}

/** What the client says of the body. */
export interface AppendChecks {
  readonly checksum: Checksum | undefined;
  readonly digests: BodyDigests | undefined;
}

/** Time limit for keeping what arrived, even if the client is gone. */
const KEEP_MS = 60_000;

/** Where the upload stands now. */
export interface Appended {
  readonly offset: number;
  readonly expiresMs: number;
}

export async function append(
  held: HeldUpload,
  request: IncomingMessage,
  { checksum, digests }: AppendChecks,
  parts: AppendParts,
  signal: AbortSignal,
): Promise<Appended> {
  const { upload } = held;
  const left = upload.length - upload.offset;
  const tooMuch = (sent: number | string): Error =>
    overLength(`the body has ${sent} bytes; ${left} of the ${upload.length} bytes of the upload are left`);
  const announced = request.headers['content-length'];
  if (announced !== undefined && Number(announced) > left) throw tooMuch(announced);
  await using appending = await Appending.open(held, parts, signal);
  const hash = checksum && createHash(checksum.algorithm);
  const isChecked = checksum !== undefined || digests !== undefined;
  const whole = parts.whole.running(upload);
  const body = bodyStream(request, digests);
  using joined = new JoinedSignal(signal, held.yielding);
  const until = joined.signal;
  using _ = addAbortListener(until, () => body.destroy(until.reason));
  let received = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      received += chunk.length;
      if (received > left) throw tooMuch(`at least ${received}`);
      hash?.update(chunk);
      whole?.update(chunk);
      await appending.write(chunk, !isChecked, until);
      giveBack(chunk);
    }
  } catch (error) {
    // The client sends again what could not be kept. The first error is the one to report.
    const kept = isChecked ? undefined : await appending.keep().catch(() => undefined);
    if (kept) parts.whole.keep(upload, whole, kept.offset);
    throw until.aborted ? until.reason : error;
  }
  if (hash && !hash.digest().equals(checksum.digest))
    throw checksumMismatch(
      `the ${received} bytes of the body do not have the ${checksum.algorithm} of header Upload-Checksum`,
    );
  const kept = await appending.keep(whole?.isMet(upload));
  parts.whole.keep(upload, whole, kept.offset);
  // The writer is closed when this function ends.
  return kept;
}

/** The bytes of one request. */
class Appending implements AsyncDisposable {
  readonly #held: HeldUpload;
  readonly #writer: UploadWriter | undefined;
  readonly #parts: AppendParts;
  #recorded: number;
  #expiresMs: number;

  private constructor(held: HeldUpload, writer: UploadWriter | undefined, parts: AppendParts) {
    this.#held = held;
    this.#writer = writer;
    this.#parts = parts;
    this.#recorded = held.upload.offset;
    this.#expiresMs = held.upload.expiresMs;
  }

  static async open(held: HeldUpload, parts: AppendParts, signal: AbortSignal): Promise<Appending> {
    const { length, offset } = held.upload;
    const isWhole = offset === length && length > 0;
    return new Appending(held, isWhole ? undefined : await parts.bytes.open(held.upload, signal), parts);
  }

  async write(chunk: Buffer, records: boolean, signal: AbortSignal): Promise<void> {
    await this.#writer?.write(chunk, signal);
    if (records) await this.#record(signal);
  }

  /** Makes what arrived durable, and records it, even if the client is gone. */
  async keep(isVerified = false): Promise<Appended> {
    using limit = deadline(this.#parts.clock, KEEP_MS, undefined, () => new Error(`not kept within ${KEEP_MS} ms`));
    await this.#writer?.flush(limit.signal);
    await this.#record(limit.signal, isVerified);
    return { offset: this.#recorded, expiresMs: this.#expiresMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]();
  }

  async #record(signal: AbortSignal, isVerified = false): Promise<void> {
    const offset = this.#writer?.durable ?? this.#recorded;
    if (offset === this.#recorded && !isVerified) return;
    const expiresMs = this.#parts.clock.now() + this.#parts.expiryMs();
    const verified = isVerified ? ({ isVerified } as const) : {};
    await this.#held.advance({ offset, place: this.#writer?.place, expiresMs, ...verified }, signal);
    this.#recorded = offset;
    this.#expiresMs = expiresMs;
  }
}
