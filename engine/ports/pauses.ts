// What operators have paused: a lane, a plugin, or an install target. Kept in the cache database, so a pause outlives the
// processes and applies to all of them.

import type { LaneName } from '../model/event.ts';
import type { DatasetId } from '../model/ids.ts';

export const PAUSE_KINDS = ['lane', 'plugin', 'target'] as const;
export type PauseKind = (typeof PAUSE_KINDS)[number];

/** The reason of the pauses of `longshore backup`, by which they are found when they outlive it. */
export const BACKUP_REASON = 'longshore backup';

export interface PausePlace {
  readonly kind: PauseKind;
  /** The lane's name, the plugin's key in the configuration, or the install target's id. */
  readonly name: string;
}

export interface PauseOrder extends PausePlace {
  /** Who paused it, for operators. */
  readonly by: string;
  readonly reason: string | undefined;
  /** When the pause ends by itself; undefined = when somebody ends it. */
  readonly until: Date | undefined;
}

export interface Pause extends PauseOrder {
  readonly since: Date;
}

/** A job that was put back because of a pause. */
export interface PauseWait extends PausePlace {
  readonly lane: LaneName;
  readonly dataset: DatasetId;
}

export interface Pauses {
  /** Those in force, by kind and name. */
  list(signal: AbortSignal): Promise<readonly Pause[]>;
  /** Replaces a pause of the same place. If that one is in force, its `since` stays. */
  set(order: PauseOrder, signal: AbortSignal): Promise<Pause>;
  /** False when it is not paused. */
  end(place: PausePlace, signal: AbortSignal): Promise<boolean>;
  /** Remembers that the job waits for the pause. Call it before the job is put back. */
  wait(waiting: PauseWait, signal: AbortSignal): Promise<void>;
  /**
   * Makes jobs due when the pause that they waited for is over, in the order of their creation, and wakes their lanes. Jobs that
   * are still running are left to the next call. Returns how many became due.
   */
  release(signal: AbortSignal): Promise<number>;
  /** Calls `changed` after each change, and whenever one may have been missed. The returned function unsubscribes. */
  watch(changed: () => void): () => void;
}
