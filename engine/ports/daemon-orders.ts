// What front ends may ask of this process's daemons: to run now, and what the last run found. Exactly one process runs each
// daemon; another process answers `elsewhere`, and the caller has to ask the next one.

import type { TargetId } from '../model/ids.ts';

export type OrderAnswer =
  /** The run has started. */
  | 'started'
  /** One is running, or about to start. */
  | 'running'
  /** Another process leads this daemon. */
  | 'elsewhere';

export type ReconcilerRunKind = 'full' | 'slim';

/** A run in progress: what it has found so far. */
export interface ReconcilerRun {
  readonly kind: ReconcilerRunKind;
  readonly startedAt: Date;
  /** Datasets with at least one object in the store. */
  readonly listed: number;
  /** Of these, datasets without readable metadata: left unchanged. */
  readonly malformed: number;
  /** Handed to the reconciliation lane. */
  readonly reconciled: number;
  /** Datasets absent from the store, by the database that knows them (`cache`, or an install target); empty for slim runs. */
  readonly wouldDelete: Readonly<Record<string, number>>;
  /** Handed to the hardDelete lane. */
  readonly deleted: number;
  /** Absent from the listing, but found when looked up individually: not deleted. */
  readonly spared: number;
  /** Install targets that did not answer and were skipped, with the reason. */
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
  /** Of this process, like the last report; undefined while no run is in progress. */
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
  /** The deletion flag that would make it due is gone: its state is about to change. */
  'no-flag',
  'too-young',
  /** One of its install targets is disabled or unknown. */
  'target-disabled',
  'target-away',
  'not-uninstalled',
  'undeleted',
  /** Superseded, and already trimmed. */
  'trimmed-before',
] as const;
export type PrunerSkip = (typeof PRUNER_SKIPS)[number];

/** A run in progress: what it has found so far. */
export interface PrunerRun {
  readonly startedAt: Date;
  /** Flags older than this made a dataset due. */
  readonly cutoff: Date;
  /** Handed to the hardDelete lane for removal, including datasets whose removal had begun before. */
  readonly pruned: number;
  /** Superseded revisions handed to the hardDelete lane to be trimmed. */
  readonly trimmed: number;
  readonly skipped: Readonly<Partial<Record<PrunerSkip, number>>>;
  /** Datasets that could not be handed over. */
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
