// Access requests and grants. Each change, its history row and its mails are one transaction.

import type { MailDraft } from '../model/access-mail.ts';
import type { AccessRequest, CuratedId, RequestKey, RequestStatus, SettledTerms } from '../model/access-request.ts';
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
  /** False when the person has one for the dataset already. */
  create(key: RequestKey, terms: SettledTerms, cause: Cause, signal: AbortSignal): Promise<boolean>;
  /**
   * Changes the request while nobody else can. `decide` sees it as it is and returns what it is to be, or undefined for
   * no change; what it throws is thrown, and nothing is changed. False when there is none.
   */
  change(
    key: RequestKey,
    cause: Cause,
    decide: (now: AccessRequest) => RequestChange | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** `demand` sees it as it is and throws when it must stay. False when there is none. */
  remove(key: RequestKey, cause: Cause, demand: (now: AccessRequest) => void, signal: AbortSignal): Promise<boolean>;
  /** Requests whose waiting time is over, by dataset and then the longest waiting first, after the given one; at most 100. */
  waited(now: Date, after: WaitedRequest | undefined, signal: AbortSignal): Promise<readonly WaitedRequest[]>;
}

export interface WaitedRequest extends RequestKey {
  readonly id: number;
  readonly daysForApproval: number;
  /** As exact as it is kept. */
  readonly requestedAt: string;
}
