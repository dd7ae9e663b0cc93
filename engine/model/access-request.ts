// An access request of one person for one dataset and, once approved, the grant.
//   requested -> approved | denied      approved -> denied      denied -> requested | approved
// `unrequested` is what others call it where there is none.

import type { RestrictionLevel } from './access-rights.ts';
import { parseUserId, type UserId } from './ids.ts';

declare const brand: unique symbol;
/** Of the catalogue of curated datasets: 1 to 64 of letters, digits and `_`. */
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

/** Whether the status may be set; to what it is already it may. */
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

/** What can be said in a request, and be changed. */
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

/** The terms with what follows from them. */
export interface SettledTerms extends RequestTerms {
  readonly dateDenied: Date | undefined;
  /** The last time that it became `requested`, or was made. */
  readonly requestedAt: Date;
}

export interface AccessRequest extends RequestKey, SettledTerms {
  readonly id: number;
  /** Grows with each change. */
  readonly version: number;
}

export const NO_END = -1;
export const DEFAULT_DENIAL_REASON = 'The request was denied; no reason was given.';

/** A duration as it is kept: zero or less is no end. */
export const keptDuration = (days: number): number => (days > 0 ? days : NO_END);

/**
 * The dates and the reason that go with the status.
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

/** Levels at which requests may be approved by waiting. */
export const WAITING_LEVELS: readonly RestrictionLevel[] = ['protected', 'controlled'];

/** Whether the waiting time of a request is over; a negative one never is. */
export const isWaitOver = (requestedAt: Date, daysForApproval: number, now: Date): boolean =>
  daysForApproval >= 0 && requestedAt.getTime() + daysForApproval * DAY_MS <= now.getTime();
