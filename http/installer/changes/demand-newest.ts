// Changes are made to the newest revision of a dataset, while it lives: what is said of an older one is lost with it.

import { revisionNumber } from '../../../engine/model/ids.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import { forbidden } from '../../errors.ts';

/** 403 when the dataset is deleted, or was replaced by a newer revision, which the message names. */
export async function demandNewest(
  { dataset, state }: EditableDataset,
  queries: Pick<DatasetQueries, 'view'>,
  signal: AbortSignal,
): Promise<void> {
  if (isDeleted(state)) throw forbidden(`dataset ${dataset} is deleted`);
  if (state !== 'superseded') return;
  const newest = (await queries.view(dataset, signal))?.newest;
  throw forbidden(`dataset ${dataset} was replaced by ${newest ? `its newer revision ${newest}` : 'a newer revision'}`);
}

/**
 * For what a newer revision took over when it was uploaded, and would not take over again: 403 also while one is on its
 * way to take the dataset's place. One that failed takes nobody's.
 */
export async function demandLasting(
  dataset: EditableDataset,
  queries: Pick<DatasetQueries, 'view' | 'family'>,
  signal: AbortSignal,
): Promise<void> {
  await demandNewest(dataset, queries, signal);
  const newest = (await queries.family(dataset.dataset, signal))?.newest;
  if (!newest || revisionNumber(newest.dataset) <= revisionNumber(dataset.dataset) || hasFailed(newest)) return;
  throw forbidden(
    `dataset ${dataset.dataset} is being replaced by its newer revision ${newest.dataset}; change that one`,
  );
}

function hasFailed({ upload, import: imported }: DatasetRecord): boolean {
  return (
    upload.status === 'rejected' ||
    upload.status === 'failed' ||
    imported?.status === 'invalid' ||
    imported?.status === 'failed'
  );
}
