// What administrators may ask of the process that answers: run a daemon now, retry installs that failed permanently, show and
// reload the configuration, change the log level and the sizes of lanes. Exactly one process runs each daemon; another process
// answers `elsewhere`, and the caller has to ask the next one.

import type { DatasetId, TargetId } from '../model/ids.ts';
import type { LogLevel } from '../model/log-level.ts';

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
  /** Datasets with at least one object in the store, or in the part of it that a slim run compares. */
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
  /** Something changes it at the moment; the next run looks again. */
  'locked',
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

interface InstallPlace {
  readonly dataset: DatasetId;
  readonly target: TargetId;
}

export interface ClearOrder {
  /** Which installs to look at; only those that failed, or miss a dependency, are cleared. */
  readonly places: 'all' | readonly InstallPlace[];
  /** True: the lanes are told. False: cleared installs wait for the next event or full run. */
  readonly run: boolean;
}

/** Why an install is left unchanged. */
export const CLEAR_SKIPS = [
  /** A lane is working on the dataset. */
  'busy',
  /** It has not failed, or not any more. */
  'not-failed',
  /** Its install target is disabled or unknown. */
  'target-disabled',
  /** Its install target does not answer. */
  'target-away',
] as const;
export type ClearSkip = (typeof CLEAR_SKIPS)[number];

/** A run in progress: what it has done so far. */
export interface ClearRun {
  readonly startedAt: Date;
  readonly run: boolean;
  /** Datasets looked at. */
  readonly datasets: number;
  /** Installs (of one kind on one target) that may now be retried. */
  readonly cleared: number;
  /** Jobs that will retry them. */
  readonly jobs: number;
  readonly skipped: Readonly<Partial<Record<ClearSkip, number>>>;
  /** Datasets that could not be handled; the log says why. */
  readonly failures: number;
  /** Why the run ended early. */
  readonly failure: string | undefined;
}

export interface ClearReport extends ClearRun {
  readonly endedAt: Date;
}

/**
 * Retries installs that failed permanently, one run at a time per process. Runs of two processes do not conflict, because each
 * dataset is handled under its lease.
 */
export interface FailedInstalls {
  /** Of this process, like the last report; undefined while no run is in progress. */
  readonly current: ClearRun | undefined;
  /** Undefined before the first run has ended. */
  readonly lastReport: ClearReport | undefined;
  /** `running`: a run is in progress, nothing was ordered. Fails as `transient` while the process starts or stops. */
  clear(order: ClearOrder): 'started' | 'running';
}

interface AppliedSetting {
  /** Key path in the configuration file. */
  readonly path: string;
  /** The value as it is written in the file. */
  readonly from: unknown;
  readonly to: unknown;
}

export interface ReloadReport {
  /** Settings that were applied. */
  readonly applied: readonly AppliedSetting[];
  /** Settings that differ from the running ones and need a restart. */
  readonly needsRestart: readonly { readonly path: string }[];
  /** How many settings are unchanged. */
  readonly unchanged: number;
}

export interface SettingFault {
  /** Key path; empty for the file as a whole. */
  readonly path: string;
  /** The message that the program prints at startup. */
  readonly text: string;
}

export type ReloadAnswer =
  | { readonly kind: 'reloaded'; readonly report: ReloadReport }
  /** Nothing was changed. */
  | { readonly kind: 'faulty'; readonly faults: readonly SettingFault[] };

export interface LevelChange {
  readonly from: LogLevel;
  readonly to: LogLevel;
}

export interface RunningSetting {
  /** Key path in the configuration file. */
  readonly path: string;
  /** As it is written in the file: a scalar, a list, or a section of any content. Secrets are hidden. */
  readonly value: unknown;
  /** How a reload applies it, in words; absent if it needs a restart. */
  readonly live?: string;
  /** An operator has set it since the file was read. */
  readonly isOrdered: boolean;
}

export interface RunningConfiguration {
  readonly file: string;
  /** 1 at the start, then one more with each reload that was not refused. */
  readonly generation: number;
  /** When the file of this generation was read. */
  readonly readAt: Date;
  /** In the order of the schema. */
  readonly settings: readonly RunningSetting[];
}

/** Both are at least 1. */
export interface LaneSizes {
  /** Most jobs that run at once. */
  readonly workerCount?: number;
  /** Most jobs that are claimed and held in memory. */
  readonly inMemoryQueueSize?: number;
}

export type SizingAnswer =
  /** Only what differs from before. */
  | { readonly kind: 'sized'; readonly applied: readonly AppliedSetting[] }
  /** Outside the bounds of the configuration file: nothing was changed. The path is the key of the size. */
  | { readonly kind: 'faulty'; readonly faults: readonly SettingFault[] }
  /** No lane of this name has sizes that may change; there are others. */
  | { readonly kind: 'unknown'; readonly lanes: readonly string[] };

export interface ProcessSettings {
  /**
   * Reloads the configuration file and applies what may change without a restart; concurrent calls run one after the other.
   * Rejects as `transient` once the process shuts down.
   */
  reload(signal: AbortSignal): Promise<ReloadAnswer>;
  /** Reads the file and tells what a reload would do. Changes nothing. */
  compare(signal: AbortSignal): Promise<ReloadAnswer>;
  running(): RunningConfiguration;
  /** Applied like a reload; lasts until the next reload or restart. Fails as `transient` once the process shuts down. */
  sizeLane(lane: string, sizes: LaneSizes): SizingAnswer;
  readonly logLevel: LogLevel;
  /** Lasts until the next reload or restart. Without a level: the next one of info, debug, trace. */
  setLogLevel(level?: LogLevel): LevelChange;
}
