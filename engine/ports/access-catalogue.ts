// The curated datasets for which access can be requested, and a person's role in them.

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
  /** Owner of a user's dataset; absent = curated. */
  readonly owner?: UserId;
  /** Negative: only people decide requests. */
  readonly daysForApproval: number;
  /** The name of prior authorization in mails; empty = not asked for. */
  readonly priorAuthLabel: string;
  /** Sender of its mails; empty = the sender of the service. */
  readonly mailFrom: string;
  /** Text in mails to managers, to requesters, and to approved users; empty = nothing. */
  readonly managerText: string;
  readonly requesterText: string;
  readonly approvalText: string;
}

/** The fields of a dataset that a list of permissions shows. */
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

/** A person's role in a dataset. */
export interface Part<Dataset = ListedCurated> {
  readonly dataset: Dataset;
  /** Undefined when the person is not a provider. */
  readonly isManager: boolean | undefined;
  /** Undefined when there is no request. */
  readonly grant: (Grant & { readonly approvalStatus: RequestStatus }) | undefined;
}

export interface PartBatch {
  readonly isStaff: boolean;
  readonly isOwner: boolean;
  readonly parts: readonly Part[];
}

/** For `undefined`, that is nobody, the result has no role in any dataset. */
export interface AccessCatalogue {
  find(dataset: CuratedId, signal: AbortSignal): Promise<CuratedDataset | undefined>;
  /**
   * All datasets, or those in which the user is provider or end user, in order of their ids, with the user's role at the site.
   * Users' datasets are listed only with such a role, either way. Yields at least one batch; only the first may be empty.
   */
  parts(user: UserId | undefined, which: 'own' | 'all', signal: AbortSignal): AsyncIterable<PartBatch>;
  /** Looks up by study id, then by dataset id; also says whether the user is staff. */
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
   * Adds or replaces all datasets or none; returns how many differ from what was stored. Other datasets are unchanged.
   * `rejected` when two datasets would have the same study id, or an id is that of a user's dataset.
   */
  put(datasets: readonly CuratedDataset[], signal: AbortSignal): Promise<number>;
}
