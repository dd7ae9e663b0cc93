// Access requests and grants, and their history. Each change is one transaction with its history row and its mails.

import type { MailDraft } from '../model/access-mail.ts';
import type { AccessRequest, CuratedId, RequestKey, RequestStatus, SettledTerms } from '../model/access-request.ts';
import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { Cause, Listing, PageRequest } from './access-people.ts';

export interface EndUserFilter extends PageRequest {
  /** Absent = all. */
  readonly dataset?: CuratedId;
  readonly status?: RequestStatus;
}

export interface RequestChange {
  readonly terms: SettledTerms;
  readonly mails: readonly MailDraft[];
}

export interface EndUsers {
  /** Ascending by user, then dataset. */
  list(filter: EndUserFilter, signal: AbortSignal): Promise<Listing<AccessRequest>>;
  find(key: RequestKey, signal: AbortSignal): Promise<AccessRequest | undefined>;
  /** False when the person already has a request for the dataset. */
  create(key: RequestKey, terms: SettledTerms, cause: Cause, signal: AbortSignal): Promise<boolean>;
  /**
   * Changes the request under a lock. `decide` gets the current request and returns the new one, or undefined for no change. An
   * error that it throws is passed on, and nothing is changed. False when there is no such request.
   */
  change(
    key: RequestKey,
    cause: Cause,
    decide: (now: AccessRequest) => RequestChange | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** `demand` gets the current request and throws when it must stay. False when there is no such request. */
  remove(key: RequestKey, cause: Cause, demand: (now: AccessRequest) => void, signal: AbortSignal): Promise<boolean>;
  /** At most 100 requests whose waiting time is over, after the given one; by dataset, then longest waiting first. */
  waited(now: Date, after: WaitedRequest | undefined, signal: AbortSignal): Promise<readonly WaitedRequest[]>;
}

export interface WaitedRequest extends RequestKey {
  readonly id: number;
  readonly daysForApproval: number;
  /** With the precision of the database. */
  readonly requestedAt: string;
}

export interface AccessApprovals {
  /** Approves the requests whose waiting time is over, each in its own transaction; returns how many. */
  approveWaited(now: Date, signal: AbortSignal): Promise<number>;
}

/** One change of an access request, and who made it. */
export interface HistoryEntry {
  readonly cause: UserId | '0';
  readonly action: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly at: Date;
  readonly endUserId: number;
  readonly userId: UserId;
  readonly datasetId: CuratedId;
  /** After the change; for a removal, before it. */
  readonly terms: Omit<SettledTerms, 'requestedAt'>;
}

export interface HistoryPage {
  /** Entries of the page. */
  readonly rows: number;
  /** In batches of bounded bytes; can be read once. */
  readonly items: AsyncIterable<readonly HistoryEntry[]>;
}

/** Read-only: the changes themselves write the rows. */
export interface AccessHistory {
  /** Newest first; all entries, or those of datasets that the user manages. */
  list(of: 'all' | { readonly managedBy: UserId }, page: PageRequest, signal: AbortSignal): Promise<HistoryPage>;
}

// Grants by the dataset access service for users' own datasets, and their propagation to the sites. A site's view shows a
// dataset to whoever has a grant (engine/model/status.ts). Changes are numbered in commit order, so a site that knows
// its last number gets the changes after it. A site that is new or was unreachable gets them later.

/** A grant covers a dataset and all its revisions. */
export interface GrantedDataset {
  /** The original; the others are its revisions. */
  readonly root: DatasetId;
  readonly owner: UserId;
}

export interface Grants {
  /** Whether the user's grant is approved, has started and has not expired. A curated dataset with the same id is ignored. */
  holds(user: UserId, dataset: GrantedDataset, now: Date, signal: AbortSignal): Promise<boolean>;
}

/** For an installation without dataset access service. */
export const NO_GRANTS: Grants = { holds: async () => false };

export interface GrantChange extends GrantedDataset {
  readonly number: number;
  readonly user: UserId;
  /** Undefined when the grant is no longer approved. */
  readonly grant: { readonly begins: Date; readonly ends: Date | undefined } | undefined;
}

export interface GrantChanges {
  /** Identifies the database that numbers the changes; numbers of another database mean nothing here. */
  source(signal: AbortSignal): Promise<string>;
  /** In order of their numbers, at most 500. Of several changes of one grant only the last is returned. */
  after(number: number, signal: AbortSignal): Promise<readonly GrantChange[]>;
}

export interface SiteGrants {
  readonly id: TargetId;
  /** The number of the last change of this source that the site has; grants of other sources are removed. */
  known(source: string, signal: AbortSignal): Promise<number>;
  /** Writes all changes or none; none when another process has meanwhile written changes beyond `after`. */
  tell(source: string, after: number, changes: readonly GrantChange[], signal: AbortSignal): Promise<void>;
}

/** For an installation without dataset access service: sites show nothing that was granted while there was one. */
export const NO_GRANT_CHANGES: GrantChanges = { source: async () => 'none', after: async () => [] };

// What is told of requests for users' datasets. A change writes its event in its own transaction. It waits until it is among
// the events of the installer (dataset-events.ts).

export const ACCESS_EVENT_KINDS = ['access-requested', 'access-approved', 'access-denied', 'access-expiring'] as const;
export type AccessEventKind = (typeof ACCESS_EVENT_KINDS)[number];

export interface AccessEvent {
  readonly id: number;
  /** Unique over all databases. */
  readonly key: string;
  readonly kind: AccessEventKind;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  /** Who asked for access. */
  readonly requester: UserId;
  /** Of the dataset, at most 100, besides its owner. */
  readonly managers: readonly UserId[];
  /** When a grant that expires ends. */
  readonly ends?: Date;
}

export interface AccessEvents {
  /** Queues `access-expiring` for grants that end within a week, or have less than half of their time left; each end once. */
  queueExpiring(now: Date, signal: AbortSignal): Promise<void>;
  /** The oldest that wait. */
  queued(limit: number, signal: AbortSignal): Promise<readonly AccessEvent[]>;
  /** Removes them, after they were copied. */
  copied(events: readonly AccessEvent[], signal: AbortSignal): Promise<void>;
}
