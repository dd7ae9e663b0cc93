// Room to write: the owner's quota, and the disks of this process.
//
// How many bytes the object store keeps for each owner, object by object. The quota counts these and the reservations of
// uploads (uploads.ts). An object's entry:
//   absent   nothing is kept
//   held     a process is changing the object; counts the larger of its current and its future size
//   settled  counts the object's size
//   stale    held by a process that is dead, or of a dataset whose objects nobody has counted: for the sweep
// Each change of an entry gets a new turn. Of two concurrent changes, the one whose turn has been superseded when it is done
// has to check what became of the object.

import type { UserId } from '../model/ids.ts';
import type { DatasetAddress } from '../model/object-key.ts';

/** Name of an object below the dataset's prefix. */
export interface KeptObject extends DatasetAddress {
  readonly name: string;
}

export interface ReserveOptions {
  /** The owner's quota; absent = the put is counted but never refused. */
  readonly limitBytes?: number;
  /** The content of raw/ is removed once this object is there, so it takes no room away from it. */
  readonly replacesRaw?: boolean;
  /** Only a new object can be refused. */
  readonly onlyNew?: boolean;
}

export type Reservation =
  | { readonly fits: true; readonly turn: number }
  /** `usedBytes` excludes the bytes that the object already has. */
  | { readonly fits: false; readonly usedBytes: number };

export interface CountedObject {
  readonly name: string;
  readonly bytes: number;
}

/** What is known of a dataset at one moment; pass it back with a listing that began later. */
export type KeptSnapshot = readonly (CountedObject & { readonly turn: number })[];

export interface StoredBytes {
  /** Holds the entry with room for `bytes` in total. A change that needs no more room than before always fits. */
  reserve(object: KeptObject, bytes: number, options: ReserveOptions, signal: AbortSignal): Promise<Reservation>;
  /** Holds the existing entries of objects that are about to be removed; returns the turn of each. */
  hold(
    at: DatasetAddress,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly turn: number }[]>;
  /**
   * Records the object's current bytes; undefined = it is gone. False, with nothing done, when the turn has been superseded.
   */
  settle(object: KeptObject, turn: number, bytes: number | undefined, signal: AbortSignal): Promise<boolean>;
  /** Some datasets with stale entries, in no order. */
  stale(signal: AbortSignal): Promise<readonly DatasetAddress[]>;
  /** The dataset's entries, except those that a living process holds. */
  snapshot(at: DatasetAddress, signal: AbortSignal): Promise<KeptSnapshot>;
  /** Records what a listing found, except for entries that have changed since the snapshot. */
  recount(
    at: DatasetAddress,
    before: KeptSnapshot,
    listed: readonly CountedObject[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Everything that counts against the owner's quota, reservations included. */
  usage(owner: UserId, signal: AbortSignal): Promise<number>;
}

/** Whether there is room to write on all disks that this process writes to. */
export interface DiskRoom {
  /** A sentence for people that names the full disk; undefined while all have room. Never rejects, and returns quickly. */
  lack(): Promise<string | undefined>;
}

// The message for an owner whose storage quota has no room for an upload or for a change they cause.

/** @param what subject and verb: `the upload has` */
export function overQuota(what: string, bytes: number | string, limitBytes: number, usedBytes: number): string {
  const left = Math.max(0, limitBytes - usedBytes);
  return `${what} ${bytes} bytes; of your storage quota of ${limitBytes} bytes, ${usedBytes} are used and ${left} are left`;
}
