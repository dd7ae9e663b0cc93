// Uploads that a client sends in several requests, and continues after a cut (docs/resumable-uploads.md). Two halves: the rows,
// which say how much of an upload is durable, and the bytes. The rows decide: bytes behind the recorded offset do not count.
//
// States of an upload:
//   open   from its creation; reserves quota for its whole length; at most one claim at a time may change it
//   used   by the transaction that accepted a dataset with it (uploads.ts), which also moves its quota to the dataset
//   gone   terminated or expired
// Of a used or gone upload, the bytes are removed first, then the row.

import type { UploadId, UserId } from '../model/ids.ts';

export interface NewResumableUpload {
  readonly id: UploadId;
  readonly owner: UserId;
  /** Bytes in the end. */
  readonly length: number;
  /** Checked as the name of a data file. */
  readonly fileName: string;
  /** The client's own text about it, as it was sent (`Upload-Metadata`). */
  readonly metadata: string;
  /** In ms since 1970; an upload that nobody continues until then is removed. */
  readonly expiresMs: number;
}

export interface ResumableUpload extends NewResumableUpload {
  /** Bytes that are durable. */
  readonly offset: number;
  /** What the store needs to find the bytes again; undefined until it told. */
  readonly place: string | undefined;
}

/** The right to change an upload. A later claim has a greater turn; then this one may record nothing more. */
export interface UploadClaim {
  readonly upload: ResumableUpload;
  readonly turn: number;
}

/** `wanted`: somebody waits for it, such as the same client on a new connection. `lost`: it is not ours any more. */
export type ClaimState = 'ours' | 'wanted' | 'lost';

export interface UploadProgress {
  readonly offset: number;
  readonly place: string | undefined;
  readonly expiresMs: number;
}

/** What an owner may have when an upload is created. */
export interface ResumableBounds {
  /** Quota, in bytes. */
  readonly bytes: number;
  /** Open uploads. */
  readonly uploads: number;
}

export interface ResumableUploads {
  /** Concurrent calls can exceed the number of uploads by their own number, but never the quota. */
  create(
    upload: NewResumableUpload,
    bounds: ResumableBounds,
    signal: AbortSignal,
  ): Promise<'created' | 'over quota' | 'too many uploads'>;
  /** Open uploads of the owner only, also expired ones; undefined for all others. */
  find(id: UploadId, owner: UserId, signal: AbortSignal): Promise<ResumableUpload | undefined>;
  /** All open uploads of the owner, oldest first: at most a few more than the bound. */
  list(owner: UserId, signal: AbortSignal): Promise<readonly ResumableUpload[]>;
  /**
   * `held` while a claim of a living process holds it, which learns that it is wanted. Undefined when the owner has no such
   * open upload, or it has expired at `nowMs`.
   */
  claim(id: UploadId, owner: UserId, nowMs: number, signal: AbortSignal): Promise<UploadClaim | 'held' | undefined>;
  check(claim: UploadClaim, signal: AbortSignal): Promise<ClaimState>;
  /** Records what is durable. `lost`: nothing was recorded. */
  advance(claim: UploadClaim, progress: UploadProgress, signal: AbortSignal): Promise<ClaimState>;
  /** Ends the claim; the upload stays as it is. */
  release(claim: UploadClaim, signal: AbortSignal): Promise<void>;
  /** Makes the upload `gone`; `lost` when the claim is. */
  giveUp(claim: UploadClaim, signal: AbortSignal): Promise<ClaimState>;
  /** Some whose bytes are to be removed, after it made expired ones `gone`. Claimed uploads do not expire. */
  leftovers(nowMs: number, signal: AbortSignal): Promise<readonly UploadId[]>;
  /** Deletes the row of a used or gone upload, and what it reserves. */
  forget(id: UploadId, signal: AbortSignal): Promise<void>;
}

/** Appends to one upload. One call at a time. */
export interface UploadWriter extends AsyncDisposable {
  readonly place: string | undefined;
  /** Bytes of the upload that are durable, at most 32 MiB less than were written. */
  readonly durable: number;
  /** The caller may reuse the chunk afterwards. */
  write(chunk: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Makes everything durable that was written. */
  flush(signal: AbortSignal): Promise<void>;
}

export interface UploadBytes {
  /**
   * Continues at the offset of an upload that is not whole, or is empty. What a dead process wrote behind it is dropped. The
   * caller holds the claim.
   */
  open(upload: ResumableUpload, signal: AbortSignal): Promise<UploadWriter>;
  /**
   * Puts the bytes of a whole upload as an object, without sending them through this process. The object is durable under the
   * rules of `durable: false` (object-store.ts). The upload keeps its bytes, for another attempt. The caller holds the claim.
   */
  handOver(upload: ResumableUpload, key: string, signal: AbortSignal): Promise<void>;
  /** Removes everything of the upload; what is absent is ignored. */
  remove(id: UploadId, signal: AbortSignal): Promise<void>;
}
