// How far a dataset is, in one word, as the list's filter `status` has it.

import { outcomeOf, type StatusBlock } from '../../../typescript/src/index.ts';
import type { texts } from '../texts.ts';

export type DatasetStatus = keyof typeof texts.datasets.statuses;

export function statusOf(block: StatusBlock): DatasetStatus {
  const { upload, import: imported } = block;
  if (upload.status === 'rejected') return 'rejected';
  switch (outcomeOf(block)) {
    case 'installed':
      return 'installed';
    case 'failed':
      return 'failed';
    case 'refused':
      return 'invalid';
    case 'pending':
      if (upload.status === 'running') return 'uploading';
      return imported.status === 'complete' ? 'installing' : 'importing';
  }
}
