// Uploads that a client sends in several requests, and continues after a broken connection (docs/resumable-uploads.md). There are
// two parts: rows, which say how much of an upload is durable, and the bytes. Bytes after the recorded offset do not count.
//
// States of an upload:
//   open   from its creation; reserves quota for its whole length; at most one claim at a time may change it
//   used   a dataset was accepted with it (uploads.ts); the same transaction moved its quota to the dataset
//   gone   terminated or expired
// When an upload is used or gone, its bytes are removed first, then its row.

import type { UploadId, UserId } from '../model/ids.ts';
import type { KeyedAnswer } from './idempotency-keys.ts';

export interface NewResumableUpload {
  readonly id: UploadId;
  readonly owner: UserId;
  /** Bytes of the complete upload. */
  readonly length: number;
  /** Valid as the name of a data file. */
  readonly fileName: string;
  /** The header `Upload-Metadata`, as it was sent. */
  readonly metadata: string;
  /** In ms since 1970. An upload that nobody has continued by then is removed. */
  readonly expiresMs: number;
  /** SHA-256 of the whole, as the client says, in hex. Absent = it said nothing, or the bytes were found to have it. */
  readonly sha256?: string;
}

export interface ResumableUpload extends NewResumableUpload {
  /** Bytes that are durable. */
  readonly offset: number;
  /** What the store needs to find the bytes again; undefined before the first writer was opened. */
  readonly place: string | undefined;
}

/** The right to change an upload. Once a later claim exists, which has a greater turn, this one can record nothing. */
export interface UploadClaim {
  readonly upload: ResumableUpload;
  readonly turn: number;
}

/** `wanted`: another request waits for it, such as the same client on a new connection. `lost`: it is no longer ours. */
export type ClaimState = 'ours' | 'wanted' | 'lost';

export interface UploadProgress {
  readonly offset: number;
  readonly place: string | undefined;
  readonly expiresMs: number;
  /** The upload is whole and has the digest that the client said. */
  readonly isVerified?: true | undefined;
}

/** Limits of an owner, checked when an upload is created. */
export interface ResumableBounds {
  /** Quota, in bytes. */
  readonly bytes: number;
  /** Open uploads. */
  readonly uploads: number;
}

export interface ResumableCreation extends ResumableBounds {
  /** The answer that the same statement stores for the key of the request. Absent = it has none. */
  readonly keyed?: KeyedAnswer | undefined;
}

export interface ResumableUploads {
  /** Concurrent calls can exceed the number of uploads by their own number, but never the quota. */
  create(
    upload: NewResumableUpload,
    creation: ResumableCreation,
    signal: AbortSignal,
  ): Promise<'created' | 'over quota' | 'too many uploads'>;
  /** An open upload of the owner, even if it has expired; otherwise undefined. */
  find(id: UploadId, owner: UserId, signal: AbortSignal): Promise<ResumableUpload | undefined>;
  /** All open uploads of the owner, oldest first: at most a few more than the bound. */
  list(owner: UserId, signal: AbortSignal): Promise<readonly ResumableUpload[]>;
  /**
   * `held`: a process that is alive has a claim, and learns that it is wanted. Undefined when the owner has no such open upload,
   * or it has expired at `nowMs`.
   */
  claim(id: UploadId, owner: UserId, nowMs: number, signal: AbortSignal): Promise<UploadClaim | 'held' | undefined>;
  check(claim: UploadClaim, signal: AbortSignal): Promise<ClaimState>;
  /** Records what is durable. `lost`: nothing was recorded. */
  advance(claim: UploadClaim, progress: UploadProgress, signal: AbortSignal): Promise<ClaimState>;
  /** Ends the claim; the upload stays as it is. */
  release(claim: UploadClaim, signal: AbortSignal): Promise<void>;
  /** Makes the upload `gone`. `lost`: the claim was lost, and nothing was changed. */
  giveUp(claim: UploadClaim, signal: AbortSignal): Promise<ClaimState>;
  /** Makes expired uploads `gone`, except those that are claimed. Returns some uploads whose bytes are to be removed. */
  leftovers(nowMs: number, signal: AbortSignal): Promise<readonly UploadId[]>;
  /** Deletes the row of a used or gone upload, and releases its quota. */
  forget(id: UploadId, signal: AbortSignal): Promise<void>;
}

/** Appends to one upload. One call at a time. */
export interface UploadWriter extends AsyncDisposable {
  readonly place: string | undefined;
  /** Bytes of the upload that are durable. At most 32 MiB, or two parts of an object store, are written and not durable. */
  readonly durable: number;
  /** The caller may reuse the chunk afterwards. */
  write(chunk: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Makes everything that was written durable. */
  flush(signal: AbortSignal): Promise<void>;
}

export interface UploadBytes {
  /**
   * Continues at the offset of an upload that is incomplete, or has no bytes at all. Drops what a dead process wrote after the
   * offset. The caller holds the claim.
   */
  open(upload: ResumableUpload, signal: AbortSignal): Promise<UploadWriter>;
  /**
   * Makes an object of a complete upload without sending the bytes through this process. The rules of `durable: false` apply to
   * the object (object-store.ts). The upload keeps its bytes, for another attempt. The caller holds the claim.
   */
  handOver(upload: ResumableUpload, key: string, signal: AbortSignal): Promise<void>;
  /** Removes all bytes of the upload. Does nothing if there are none. */
  remove(id: UploadId, signal: AbortSignal): Promise<void>;
}
