// Changes are made to the newest revision of a dataset, while it lives: what is said of an older one is lost with it.

import { isDeleted } from '../../../engine/model/status.ts';
import type { EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import { forbidden } from '../../kernel/pipeline/errors.ts';

/** 403 when the dataset is deleted, or was replaced by a newer revision, which the message names. */
export function demandNewest({ dataset, state, newer }: EditableDataset): void {
  if (isDeleted(state)) throw forbidden(`dataset ${dataset} is deleted`);
  if (state !== 'superseded') return;
  const by = newer ? `its newer revision ${newer.dataset}` : 'a newer revision';
  throw forbidden(`dataset ${dataset} was replaced by ${by}`);
}

/**
 * For what a newer revision took over when it was uploaded, and would not take over again: 403 also while one is on its
 * way to take the dataset's place. One that failed takes nobody's.
 */
export function demandLasting(dataset: EditableDataset): void {
  demandNewest(dataset);
  const { newer } = dataset;
  if (newer && !newer.failed)
    throw forbidden(
      `dataset ${dataset.dataset} is being replaced by its newer revision ${newer.dataset}; change that one`,
    );
}
