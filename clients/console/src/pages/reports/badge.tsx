// The status of a report job. Word and colour say the same.

import { texts } from '../../texts.ts';
import type { Status } from './jobs.ts';

const KINDS: Readonly<Record<Status, string>> = {
  queued: 'busy',
  'in-progress': 'busy',
  complete: 'good',
  failed: 'bad',
  expired: '',
};

export const StatusBadge = ({ status }: { readonly status: Status }) => (
  <span className={`badge ${KINDS[status]}`}>{texts.reports.statuses[status]}</span>
);
