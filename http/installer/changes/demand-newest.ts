// Changes are made to the newest revision of a dataset, while it lives.

import { isDeleted } from '../../../engine/model/status.ts';
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
