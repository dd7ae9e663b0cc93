// The datasets for which access can be requested, curated ones and users' own, and a person's role in them.

import type { CuratedId, Grant, RequestStatus, RestrictionLevel } from '../model/access-request.ts';
import type { DatasetId, UserId } from '../model/ids.ts';
import type { StoredVisibility } from '../model/status.ts';
import type { Cause } from './access-people.ts';
import type { GrantedDataset } from './access-requests.ts';

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

/**
 * Users' datasets among the datasets of the access service. They are not imported: a dataset is entered, with its owner as
 * manager, when somebody first asks about it, and updated at each later request. The entry stays when the dataset is deleted,
 * because requests and their history refer to it.
 */
export interface EnteredDatasets {
  /** Writes nothing when nothing differs, or when the id is that of a curated dataset or of another owner's dataset. */
  enter(dataset: UserDataset, cause: Cause, signal: AbortSignal): Promise<void>;
  /** The dataset is gone: treat it as private, so that no request is approved by waiting. Does nothing to a curated dataset. */
  close(dataset: CuratedId, signal: AbortSignal): Promise<void>;
  /** At most 100 datasets with undecided requests, in order of their ids, after the given one. */
  undecided(after: CuratedId | undefined, signal: AbortSignal): Promise<readonly CuratedId[]>;
}

/** A user's own dataset, with the values of its newest revision. */
export interface UserDataset extends GrantedDataset {
  readonly name: string;
  readonly summary: string;
  readonly visibility: StoredVisibility;
  /** Negative: only people decide requests. */
  readonly daysForApproval: number;
}

export interface UserDatasets {
  /** @param dataset the original or any revision of it; the result is undefined when none is live */
  find(dataset: DatasetId, signal: AbortSignal): Promise<UserDataset | undefined>;
}

/** A user's own dataset that is installed on at least one target, presented as a study. */
export interface UserStudy {
  readonly datasetId: DatasetId;
  /** The original; this is its newest revision. */
  readonly root: DatasetId;
  readonly owner: UserId;
  readonly visibility: StoredVisibility;
  readonly name: string;
  readonly summary: string;
  /** Owner, or recipient of an accepted share; undefined for everybody else. */
  readonly part: 'owner' | 'recipient' | undefined;
}

export interface UserStudies {
  /** Owned by the user or shared with the user, newest first; at most 10,000, in batches of bounded bytes. */
  own(user: UserId, signal: AbortSignal): AsyncIterable<readonly UserStudy[]>;
  /** The originals of the datasets that {@link own} lists, for callers that cannot wait for its end. */
  ownRoots(user: UserId, signal: AbortSignal): Promise<readonly DatasetId[]>;
  /**
   * The newest revisions of these originals (at most 1,000), whatever the user's relation to them; in no order, in batches of
   * bounded bytes.
   */
  newest(roots: readonly DatasetId[], user: UserId, signal: AbortSignal): AsyncIterable<readonly UserStudy[]>;
  /** @param user undefined for somebody who can neither own datasets nor receive shares */
  find(dataset: DatasetId, user: UserId | undefined, signal: AbortSignal): Promise<UserStudy | undefined>;
}
