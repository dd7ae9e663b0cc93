// Room to write: the owner's quota, and the disks of this process.
//
// How many bytes the object store keeps for each owner, object by object. The quota counts these and the reservations of
// uploads (uploads.ts). An object's entry:
//   absent   nothing is kept
//   held     a process is changing the object; counts the larger of its current and its future size
//   settled  counts the object's size; from held by `settle`, or by the transaction of whoever put it (`settle: 'by caller'`)
//   stale    held by a process that is dead, or of a dataset whose objects nobody has counted: for the sweep
// Each change of an entry gets a new turn. Of two concurrent changes, the one whose turn has been superseded when it is done
// has to check what became of the object.

import type { UserId } from '../model/ids.ts';
import type { DatasetAddress } from '../model/object-key.ts';

/** Name of an object below the dataset's prefix. */
export interface KeptObject extends DatasetAddress {
  readonly name: string;
}

export interface CountedObject {
  readonly name: string;
  readonly bytes: number;
}

export interface WantedObject extends CountedObject {
  /** The owner's quota; absent = the put is counted but never refused. */
  readonly limitBytes?: number;
  /** The content of raw/ is removed once this object is there, so it takes no room away from it. */
  readonly replacesRaw?: boolean;
  /** Only a new object can be refused. */
  readonly onlyNew?: boolean;
}

export type Reservation =
  /** In the order of the objects. */
  | { readonly fits: true; readonly turns: readonly number[] }
  /** The first object that does not fit. `usedBytes` excludes the bytes that it already has. */
  | { readonly fits: false; readonly object: CountedObject; readonly usedBytes: number };

export interface HeldObject {
  readonly name: string;
  readonly turn: number;
}

export interface SettledObject extends HeldObject {
  /** Undefined = it is gone. */
  readonly bytes: number | undefined;
}

/** What is known of a dataset at one moment; pass it back with a listing that began later. */
export type KeptSnapshot = readonly (CountedObject & { readonly turn: number })[];

export interface StoredBytes {
  /**
   * Holds the entries of all objects, each with room for its bytes in total, or of none. Each has to fit once those before it
   * are stored. One that needs no more room than before always fits. The names differ.
   */
  reserve(at: DatasetAddress, objects: readonly WantedObject[], signal: AbortSignal): Promise<Reservation>;
  /** Holds the existing entries of objects that are about to be removed. */
  hold(at: DatasetAddress, names: readonly string[], signal: AbortSignal): Promise<readonly HeldObject[]>;
  /**
   * Records the objects' current bytes. Returns the names of those that it settled. Nothing is done about the others: their
   * turn has been superseded.
   */
  settle(at: DatasetAddress, objects: readonly SettledObject[], signal: AbortSignal): Promise<readonly string[]>;
  /** Some objects whose entries this process holds, in no order. */
  held(signal: AbortSignal): Promise<readonly KeptObject[]>;
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
