// The curated datasets that access can be asked for, and what part a person has in them.

import type { CuratedId, RequestStatus } from '../model/access-request.ts';
import type { Grant, RestrictionLevel } from '../model/access-rights.ts';
import type { UserId } from '../model/ids.ts';

export interface CuratedDataset {
  readonly datasetId: CuratedId;
  readonly studyId: string;
  readonly sha1Hash: string;
  readonly displayName: string;
  readonly shortDisplayName: string;
  readonly description: string;
  readonly restrictionLevel: RestrictionLevel;
  /** Of a user's dataset; absent = curated. */
  readonly owner?: UserId;
  /** Negative: requests are decided by people only. */
  readonly daysForApproval: number;
  /** What prior authorisation is called in mails; empty = not asked for. */
  readonly priorAuthLabel: string;
  /** Sender of its mails; empty = that of the service. */
  readonly mailFrom: string;
  /** Said in mails to managers, to those who ask, and to those who were approved; empty = nothing. */
  readonly managerText: string;
  readonly requesterText: string;
  readonly approvalText: string;
}

/** What a list of permissions shows of a dataset. */
export type ListedCurated = Pick<
  CuratedDataset,
  | 'datasetId'
  | 'studyId'
  | 'sha1Hash'
  | 'displayName'
  | 'shortDisplayName'
  | 'description'
  | 'restrictionLevel'
  | 'owner'
>;

/** A person's part in a dataset. */
export interface Part<Dataset = ListedCurated> {
  readonly dataset: Dataset;
  /** Undefined when no provider. */
  readonly isManager: boolean | undefined;
  /** Undefined when there is no request. */
  readonly grant: (Grant & { readonly approvalStatus: RequestStatus }) | undefined;
}

export interface PartBatch {
  readonly isStaff: boolean;
  readonly isOwner: boolean;
  readonly parts: readonly Part[];
}

/** Nobody, `undefined`, has a part in nothing. */
export interface AccessCatalogue {
  find(dataset: CuratedId, signal: AbortSignal): Promise<CuratedDataset | undefined>;
  /**
   * Datasets in which the user is provider or end user, or all, in order of their ids, with what the user is to the site.
   * Of users' datasets only the former, either way.
   * At least one batch; none but the first is empty.
   */
  parts(user: UserId | undefined, which: 'own' | 'all', signal: AbortSignal): AsyncIterable<PartBatch>;
  /** By study id, or else by dataset id; and whether the user is staff. */
  partIn(
    user: UserId | undefined,
    study: string,
    signal: AbortSignal,
  ): Promise<
    | {
        readonly part: Part<Pick<CuratedDataset, 'datasetId' | 'studyId' | 'restrictionLevel' | 'owner'>>;
        readonly isStaff: boolean;
      }
    | undefined
  >;
  /**
   * Adds or replaces all or none; returns how many differ from what was there. Others stay. `rejected` when two datasets
   * would have one study id, or an id is that of a user's dataset.
   */
  put(datasets: readonly CuratedDataset[], signal: AbortSignal): Promise<number>;
}
