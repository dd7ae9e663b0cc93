// Events and lanes. An event says that a dataset may need work; it carries no instruction. So events may be duplicated, delayed
// or coalesced without harm (docs/design/decisions.md#from-a-change-to-a-job).

import type { DatasetId, UserId } from './ids.ts';

/** Every lane, in the order in which pending jobs of one dataset run. */
export const LANES = [
  'softDelete',
  'upload',
  'import',
  'updateMeta',
  'install',
  'sharing',
  'reconciliation',
  'hardDelete',
] as const;
export type LaneName = (typeof LANES)[number];

/** Rank of a lane in that order; the lowest runs first. */
export const laneRank = (lane: LaneName): number => LANES.indexOf(lane);

/** Lanes fed by a channel of the event log; `upload` is fed only by its job row. */
export type EventLaneName = Exclude<LaneName, 'upload'>;

export const EVENT_SOURCES = [
  'object-store',
  'full-reconciler',
  'slim-reconciler',
  'update-meta-lane',
  'install-data-lane',
  'soft-delete-lane',
  'reconciliation-lane',
  'pruner',
  'upload-lane',
  'import-lane',
  'api',
  'admin',
] as const;
export type EventSource = (typeof EVENT_SOURCES)[number];

/** Sources that repeat their requests until the work is done. They do not request what an operator has discarded. */
export const REPEATING_SOURCES: readonly EventSource[] = ['full-reconciler', 'slim-reconciler', 'pruner'];

/** The message on a lane's channel. `eventID` is an integer below 2^53 and follows the dataset through every lane. */
export interface TriggerEvent {
  readonly eventID: number;
  readonly userID: UserId;
  readonly datasetID: DatasetId;
  readonly source: EventSource;
}

/** One change of the object store. */
export interface ObjectChange {
  readonly kind: 'created' | 'removed';
  readonly key: string;
}
