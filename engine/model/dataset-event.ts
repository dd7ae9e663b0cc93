// What happened to a dataset, for users and programs that wait for it.

import type { DatasetId, TargetId, UserId } from './ids.ts';

/**
 *   accepted           the upload was accepted
 *   import-ended       `status` is complete, invalid or failed
 *   installed          data and metadata are installed on every target
 *   failed             `step` ended without success: the upload, or an install on `target`. A failed import is `import-ended`
 *   deleted            the owner deleted it
 *   shared             the owner offers it to the addressee
 *   access-requested   somebody asks the addressee for access to it
 *   access-approved, access-denied, access-expiring   about the addressee's request
 */
export const DATASET_EVENT_KINDS = [
  'accepted',
  'import-ended',
  'installed',
  'failed',
  'deleted',
  'shared',
  'access-requested',
  'access-approved',
  'access-denied',
  'access-expiring',
] as const;
export type DatasetEventKind = (typeof DATASET_EVENT_KINDS)[number];

export const DATASET_EVENT_STEPS = ['upload', 'install', 'metadata'] as const;

/** At most five messages of 300 characters. What owners may read: no paths or addresses of servers. */
export interface DatasetEventDetail {
  readonly step?: (typeof DATASET_EVENT_STEPS)[number];
  /** Of the import, or of the step that failed, as in the dataset's status. */
  readonly status?: string;
  readonly target?: TargetId;
  readonly messages?: readonly string[];
  /** When a grant that expires ends, as ISO 8601. */
  readonly ends?: string;
}

export interface DatasetEvent {
  /** Its place in the order of all events: grows, with gaps for each reader that does not get all of them. */
  readonly id: number;
  readonly kind: DatasetEventKind;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  /** The only user who is told; absent: whoever sees the dataset. */
  readonly addressee?: UserId;
  /** Users to whom the dataset is given now: they accepted an offer that stands. */
  readonly recipients: readonly UserId[];
  readonly detail: DatasetEventDetail;
}

/** Whether it is among the events of all datasets that this user owns or was given, and of those addressed to the user. */
export function concerns({ addressee, owner, recipients }: DatasetEvent, user: UserId): boolean {
  if (addressee !== undefined) return addressee === user;
  return owner === user || recipients.includes(user);
}
