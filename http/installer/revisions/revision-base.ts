// The dataset that a revision is made of, and whether that may be done now.

import type { DatasetId } from '../../../engine/model/ids.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { forbidden } from '../../kernel/pipeline/errors.ts';
import { demandNewest } from '../changes/demand-newest.ts';
import { type MetadataSource, withNewestMetadata } from '../changes/newest-metadata.ts';
import { type OwnerEditOptions, ownerEdit } from '../changes/owner-edit.ts';
import { requireMetadataMatch } from '../details/dataset-tag.ts';

export interface RevisionBaseOptions extends OwnerEditOptions {
  readonly queries: Pick<DatasetQueries, 'family'>;
  readonly store: MetadataSource;
}

export interface RevisionBase {
  readonly dataset: EditableDataset;
  /** The newest of its revisions that is not deleted, which may be another when that one failed. */
  readonly newest: DatasetRecord;
  /** Of any revision that there ever was and still is known. */
  readonly highestNumber: number;
}

/**
 * The dataset in the path, when its owner asks and it can be revised: it lives, its import has ended by itself, and nothing of its newest
 * revision is under way. Throws what the contract answers otherwise.
 */
export async function revisionBase(options: RevisionBaseOptions, context: RequestContext): Promise<RevisionBase> {
  const cached = await ownerEdit(options, context, 404, async (now) => ({ changes: [], result: now }));
  demandNewest(cached);
  const dataset = await withNewestMetadata(cached, options.store, context.signal);
  requireMetadataMatch(context.request.headers, dataset.sync.meta);
  demandImported(dataset);
  const family = await options.queries.family(dataset.dataset, context.signal);
  const newest = family?.newest ?? dataset;
  demandIdle(newest);
  return { dataset, newest, highestNumber: family?.highestNumber ?? 0 };
}

function demandImported({ dataset, upload, import: imported }: EditableDataset): void {
  switch (upload.status) {
    case 'rejected':
    case 'failed':
      throw forbidden(`dataset ${dataset} cannot be revised: its upload was not accepted`);
    case 'running':
    case 'success':
      break;
    default:
      throw upload.status satisfies never;
  }
  switch (imported?.status) {
    // The owner mends the data and keeps the metadata.
    case 'invalid':
    case 'complete':
      return;
    case 'failed':
      throw forbidden(`dataset ${dataset} cannot be revised: its import failed`);
    default:
      throw forbidden(`dataset ${dataset} cannot be revised yet: it is not imported`);
  }
}

/** One that failed is no obstacle: the new revision takes its place. */
function demandIdle({ dataset, upload, import: imported, installs }: DatasetRecord): void {
  if (upload.status === 'running') throw busy(dataset, 'its upload is not over');
  if (imported?.status === 'queued' || imported?.status === 'in-progress')
    throw busy(dataset, `its import is ${imported.status}`);
  for (const { target, kind, status } of installs)
    if (kind === 'data' && (status === 'running' || status === 'queued'))
      throw busy(dataset, `its installation on ${target} is ${status}`);
}

const busy = (dataset: DatasetId, why: string): Error =>
  forbidden(`the newest revision ${dataset} is still under way: ${why}; try again when that has ended`);
