// The status of a dataset. Word and colour say the same.

import type { StatusBlock } from '../../../typescript/src/index.ts';
import { type DatasetStatus, statusOf } from '../api/status.ts';
import { texts } from '../texts.ts';

const KINDS: Readonly<Record<DatasetStatus, 'good' | 'bad' | 'busy'>> = {
  uploading: 'busy',
  importing: 'busy',
  installing: 'busy',
  installed: 'good',
  rejected: 'bad',
  invalid: 'bad',
  failed: 'bad',
};

export function StatusBadge({ status }: { readonly status: StatusBlock }) {
  const word = statusOf(status);
  return <span className={`badge ${KINDS[word]}`}>{texts.datasets.statuses[word]}</span>;
}
