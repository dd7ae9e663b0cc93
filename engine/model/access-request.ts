// An access request of one person for one dataset and, once approved, the grant.
//   requested -> approved | denied      approved -> denied      denied -> requested | approved
// `unrequested` is what the API says when there is no request.
// What a person may do with a dataset depends on its restriction level, the person's role in it, and the time
// (docs/contract/access.md#permissions).

import { parseUserId, type UserId } from './ids.ts';

declare const brand: unique symbol;
/** An id in the catalogue of curated datasets: 1 to 64 letters, digits and `_`. */
export type CuratedId = string & { readonly [brand]: 'CuratedId' };

export const parseCuratedId = (text: string): CuratedId | undefined =>
  /^[A-Za-z0-9_]{1,64}$/.test(text) ? (text as CuratedId) : undefined;

export const REQUEST_STATUSES = ['requested', 'approved', 'denied'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];
export const APPROVAL_STATUSES = ['unrequested', 'approved', 'requested', 'denied'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

const MOVES: Readonly<Record<RequestStatus, readonly RequestStatus[]>> = {
  requested: ['approved', 'denied'],
  approved: ['denied'],
  denied: ['requested', 'approved'],
};

/** Whether the status may be set; setting the current status is allowed. */
export const mayBecome = (from: RequestStatus, to: RequestStatus): boolean => from === to || MOVES[from].includes(to);

/** Which person's request for which dataset; on the wire `{userId}-{datasetId}`. */
export interface RequestKey {
  readonly userId: UserId;
  readonly datasetId: CuratedId;
}

export function parseEndUserId(text: string): RequestKey | undefined {
  const dash = text.indexOf('-');
  const userId = parseUserId(text.slice(0, Math.max(dash, 0)));
  const datasetId = parseCuratedId(text.slice(dash + 1));
  return userId && datasetId && { userId, datasetId };
}

export const formatEndUserId = ({ userId, datasetId }: RequestKey): string => `${userId}-${datasetId}`;

/** The fields of a request that can be set and changed. */
export interface RequestTerms {
  readonly restrictionLevel: RestrictionLevel;
  readonly approvalStatus: RequestStatus;
  readonly startDate: Date;
  /** -1 = no end. */
  readonly durationDays: number;
  readonly purpose: string;
  readonly researchQuestion: string;
  readonly analysisPlan: string;
  readonly disseminationPlan: string;
  readonly priorAuth: string;
  /** Empty = none. */
  readonly denialReason: string;
}

/** The terms with the fields derived from them. */
export interface SettledTerms extends RequestTerms {
  readonly dateDenied: Date | undefined;
  /** When it was created or last became `requested`. */
  readonly requestedAt: Date;
}

export interface AccessRequest extends RequestKey, SettledTerms {
  readonly id: number;
  /** Increases with each change. */
  readonly version: number;
}

export const NO_END = -1;
const DEFAULT_DENIAL_REASON = 'The request was denied; no reason was given.';

/** A duration as it is stored: zero or less means no end. */
export const keptDuration = (days: number): number => (days > 0 ? days : NO_END);

/**
 * The dates and the reason that belong to the status.
 * @param before undefined for a new request
 */
export function settleTerms(before: SettledTerms | undefined, wanted: RequestTerms, now: Date): SettledTerms {
  const from = before?.approvalStatus;
  const to = wanted.approvalStatus;
  const left = from === 'denied' && to !== 'denied';
  const keptReason = left && wanted.denialReason === before?.denialReason ? '' : wanted.denialReason;
  return {
    ...wanted,
    durationDays: keptDuration(wanted.durationDays),
    denialReason: to === 'denied' && keptReason === '' ? DEFAULT_DENIAL_REASON : keptReason,
    dateDenied: to !== 'denied' ? undefined : from === 'denied' ? before?.dateDenied : now,
    requestedAt: before && (to !== 'requested' || from === 'requested') ? before.requestedAt : now,
  };
}

const DAY_MS = 86_400_000;

/** Levels at which a request is approved when its waiting time is over. */
export const WAITING_LEVELS: readonly RestrictionLevel[] = ['protected', 'controlled'];

/** Whether a request's waiting time is over; a negative time is never over. */
export const isWaitOver = (requestedAt: Date, daysForApproval: number, now: Date): boolean =>
  daysForApproval >= 0 && requestedAt.getTime() + daysForApproval * DAY_MS <= now.getTime();

// What a person may do with a dataset. Depends on the dataset's restriction level, the person's role in it, and the time
// (docs/contract/access.md#permissions).

export const RESTRICTION_LEVELS = ['public', 'prerelease', 'protected', 'controlled', 'private'] as const;
export type RestrictionLevel = (typeof RESTRICTION_LEVELS)[number];

export interface ActionAuthorization {
  readonly studyMetadata: boolean;
  /** Counts and distributions. */
  readonly subsetting: boolean;
  readonly visualizations: boolean;
  /** Offset 0, at most 20 records. */
  readonly resultsFirstPage: boolean;
  /** Any other tabular response. */
  readonly resultsAll: boolean;
}

export const ALL_ACTIONS: ActionAuthorization = {
  studyMetadata: true,
  subsetting: true,
  visualizations: true,
  resultsFirstPage: true,
  resultsAll: true,
};

const NO_ACTIONS: ActionAuthorization = {
  studyMetadata: false,
  subsetting: false,
  visualizations: false,
  resultsFirstPage: false,
  resultsAll: false,
};

const EXPLORE: ActionAuthorization = { ...ALL_ACTIONS, resultsAll: false };
/** Reading about a dataset, and nothing else. */
export const METADATA_ACTIONS: ActionAuthorization = { ...NO_ACTIONS, studyMetadata: true };

/** For people without a role in the dataset: no grant in force, neither staff nor provider. */
const OPEN_ACTIONS: Readonly<Record<RestrictionLevel, ActionAuthorization>> = {
  public: ALL_ACTIONS,
  controlled: EXPLORE,
  protected: EXPLORE,
  private: METADATA_ACTIONS,
  prerelease: METADATA_ACTIONS,
};

/** @param privileged staff, a provider of the dataset, or the holder of a grant in force */
export const actionsFor = (level: RestrictionLevel, privileged: boolean): ActionAuthorization =>
  privileged ? ALL_ACTIONS : OPEN_ACTIONS[level];

export interface Grant {
  readonly approvalStatus: 'requested' | 'approved' | 'denied';
  readonly startDate: Date;
  /** Zero or less = no end. */
  readonly durationDays: number;
}

/** Approved, started, and not expired: from `startDate` (inclusive) to `startDate` plus the duration (exclusive). */
export function isInForce({ approvalStatus, startDate, durationDays }: Grant, nowMs: number): boolean {
  const startMs = startDate.getTime();
  if (approvalStatus !== 'approved' || nowMs < startMs) return false;
  return durationDays <= 0 || nowMs < startMs + durationDays * DAY_MS;
}
