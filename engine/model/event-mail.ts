// Mails about events of datasets, for users who want them. What happens to requests for access is not among them: the mails of
// the dataset access service tell it.

import type { DatasetEvent, DatasetEventKind } from './dataset-event.ts';

export const MAILED_KINDS = [
  'accepted',
  'import-ended',
  'installed',
  'failed',
  'deleted',
  'shared',
  'access-expiring',
] as const satisfies readonly DatasetEventKind[];
export type MailedKind = (typeof MAILED_KINDS)[number];

/** An event as a mail tells it. */
export interface ToldEvent extends Pick<DatasetEvent, 'at' | 'dataset' | 'detail'> {
  readonly kind: MailedKind;
  /** Of the dataset; undefined when it is gone. */
  readonly name: string | undefined;
}

/** One mail tells what has happened for a while. */
export const EVENT_MAIL_BOUNDS = {
  /** How long the first event waits for others. */
  collectMs: 120_000,
  /** Least time between two mails to one user. */
  periodMs: 900_000,
  /** Events that one mail lists. */
  listed: 50,
} as const;
