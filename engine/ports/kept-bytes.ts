// How many bytes the object store keeps for each owner, object by object: what the quota counts beside the reservations of
// uploads (uploads.ts). An object's entry:
//   absent   nothing is kept
//   held     a process is changing the object; counts the larger of what it has and what it is about to have
//   settled  counts what the object has
//   stale    held by a process that is dead, or a dataset whose objects nobody has counted: for the sweep
// Each change of an entry is a turn. Of two changes at once, the one whose turn is over when it is done has to look what
// came of the object.

import type { UserId } from '../model/ids.ts';
import type { DatasetAddress } from '../model/object-key.ts';

/** Name of an object below the dataset's prefix. */
export interface KeptObject extends DatasetAddress {
  readonly name: string;
}

export interface ReserveOptions {
  /** What the owner may keep; absent = what is put is counted, and not refused. */
  readonly limitBytes?: number;
  /** What lies under raw/ goes when this is there, and takes no room from it. */
  readonly replacesRaw?: boolean;
  /** Only a new object can be refused. */
  readonly onlyNew?: boolean;
}

export type Reservation =
  | { readonly fits: true; readonly turn: number }
  /** `usedBytes` without what the object has already. */
  | { readonly fits: false; readonly usedBytes: number };

export interface CountedObject {
  readonly name: string;
  readonly bytes: number;
}

/** What is known of a dataset at one moment; to be handed back with a listing that began later. */
export type KeptSnapshot = readonly (CountedObject & { readonly turn: number })[];

export interface KeptBytes {
  /** Holds the entry with room for `bytes` in all. What takes no more room than before always fits. */
  reserve(object: KeptObject, bytes: number, options: ReserveOptions, signal: AbortSignal): Promise<Reservation>;
  /** Holds the entries that are there, about to be removed; the turn of each. */
  hold(
    at: DatasetAddress,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly turn: number }[]>;
  /** What the object has now; undefined = it is gone. False, with nothing done, when the turn is over. */
  settle(object: KeptObject, turn: number, bytes: number | undefined, signal: AbortSignal): Promise<boolean>;
  /** Some datasets with stale entries, in no order. */
  stale(signal: AbortSignal): Promise<readonly DatasetAddress[]>;
  /** The dataset's entries, but those that a living process holds. */
  snapshot(at: DatasetAddress, signal: AbortSignal): Promise<KeptSnapshot>;
  /** Writes down what a listing says, but for entries that have changed since the snapshot. */
  recount(
    at: DatasetAddress,
    before: KeptSnapshot,
    listed: readonly CountedObject[],
    signal: AbortSignal,
  ): Promise<void>;
  /** All that counts against the owner's quota, reservations included. */
  usage(owner: UserId, signal: AbortSignal): Promise<number>;
}
