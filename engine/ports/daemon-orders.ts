// What front ends may ask the daemons of this process: a run now, and what the last one found. Exactly one process runs
// each daemon; another one answers `elsewhere` and has to be passed over for it.

import type { TargetId } from '../model/ids.ts';

export type OrderAnswer =
  /** The run has begun. */
  | 'started'
  /** One is under way, or about to be. */
  | 'running'
  /** Another process leads this daemon. */
  | 'elsewhere';

export type ReconcilerRunKind = 'full' | 'slim';

/** A run under way: what it has found so far. */
export interface ReconcilerRun {
  readonly kind: ReconcilerRunKind;
  readonly startedAt: Date;
  /** Datasets with at least one object in the store. */
  readonly listed: number;
  /** Of these, such without readable metadata: left as they are. */
  readonly malformed: number;
  /** Handed to the reconciliation lane. */
  readonly reconciled: number;
  /** Datasets absent from the store, by the database that knows them (`cache`, or an install target); empty for slim runs. */
  readonly wouldDelete: Readonly<Record<string, number>>;
  /** Handed to the hardDelete lane. */
  readonly deleted: number;
  /** Absent from the listing, but there when looked for by themselves: not deleted. */
  readonly spared: number;
  /** Install targets that did not answer and were left out, with the reason. */
  readonly leftOut: readonly { readonly target: TargetId; readonly reason: string }[];
  /** Why nothing was deleted although datasets are absent. */
  readonly braked: string | undefined;
  /** Why the run ended early. */
  readonly failure: string | undefined;
}

export interface ReconcilerReport extends ReconcilerRun {
  readonly endedAt: Date;
}

export interface ReconcilerControl {
  /** Of this process, like the last report; undefined while none is under way. */
  readonly current: ReconcilerRun | undefined;
  /** Undefined before the first run has ended. */
  readonly lastReport: ReconcilerReport | undefined;
  /** @param options.allowDeletes releases the brake, not the setting that forbids deletes */
  order(
    kind: ReconcilerRunKind,
    options: { readonly allowDeletes: boolean },
    signal: AbortSignal,
  ): Promise<OrderAnswer>;
}

export const PRUNER_SKIPS = [
  /** The flag that would make it due is gone: its state is about to change. */
  'no-flag',
  'too-young',
  /** An install target of it is disabled or unknown. */
  'target-disabled',
  'target-away',
  'not-uninstalled',
  'undeleted',
  /** Superseded, and nothing is left to trim. */
  'trimmed-before',
] as const;
export type PrunerSkip = (typeof PRUNER_SKIPS)[number];

/** A run under way: what it has found so far. */
export interface PrunerRun {
  readonly startedAt: Date;
  /** Flags older than this made a dataset due. */
  readonly cutoff: Date;
  /** Handed to the hardDelete lane to be removed, those included whose removal had begun before. */
  readonly pruned: number;
  /** Superseded revisions handed to the hardDelete lane to be trimmed. */
  readonly trimmed: number;
  readonly skipped: Readonly<Partial<Record<PrunerSkip, number>>>;
  /** Datasets that could not be told about. */
  readonly failures: number;
  /** Why the run ended early. */
  readonly failure: string | undefined;
}

export interface PrunerReport extends PrunerRun {
  readonly endedAt: Date;
}

export interface PrunerControl {
  readonly current: PrunerRun | undefined;
  readonly lastReport: PrunerReport | undefined;
  /** @param options.minAgeMs instead of the retention that is configured */
  order(options: { readonly minAgeMs?: number }, signal: AbortSignal): Promise<OrderAnswer>;
}
