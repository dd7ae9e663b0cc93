// Finding a dataset that the caller may see, or refusing in the words of the contract.

import { type DatasetId, parseDatasetId } from '../../../engine/model/ids.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetQueries, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../context.ts';
import { gone, type HttpError, notFound } from '../../errors.ts';
import { sightOf, type Viewer } from './access.ts';

type Queries = Pick<DatasetQueries, 'view'>;

export function viewerOf(context: RequestContext): Viewer {
  const { kind } = context.caller;
  return kind === 'admin' || kind === 'guest' ? kind : context.userId;
}

/** The dataset when the viewer may see it; else 404, or 410 when the viewer knew of it. */
export async function findVisible(
  queries: Queries,
  id: string,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<ViewedDataset> {
  return visible(await find(queries, id, signal), id, viewer);
}

/**
 * For the details of a dataset: as {@link findVisible}, but one that was replaced or deleted leads to its newest
 * revision when the viewer may see that. Never leads to itself.
 */
export async function findOrMoved(
  queries: Queries,
  id: string,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<{ readonly found: ViewedDataset } | { readonly movedTo: DatasetId }> {
  const dataset = await find(queries, id, signal);
  const replaced = dataset && (dataset.state === 'superseded' || isDeleted(dataset.state));
  const newest = replaced && dataset.newest ? await queries.view(dataset.newest, signal) : undefined;
  if (newest && newest.dataset !== dataset?.dataset && sightOf(newest, viewer) === 'visible')
    return { movedTo: newest.dataset };
  return { found: visible(dataset, id, viewer) };
}

/** The dataset when the viewer may download its archives: anything else is absent (contract 1, Dataset files). */
export async function findDownloadable(
  queries: Queries,
  id: string,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<ViewedDataset> {
  const dataset = await find(queries, id, signal);
  if (dataset && sightOf(dataset, viewer) === 'visible') return dataset;
  throw unknown(id);
}

async function find(queries: Queries, id: string, signal: AbortSignal): Promise<ViewedDataset | undefined> {
  const dataset = parseDatasetId(id);
  return dataset && (await queries.view(dataset, signal));
}

function visible(dataset: ViewedDataset | undefined, id: string, viewer: Viewer): ViewedDataset {
  const sight = dataset ? sightOf(dataset, viewer) : 'absent';
  if (dataset && sight === 'visible') return dataset;
  throw sight === 'gone' ? gone(`dataset ${id} is deleted, or no longer shared with you`) : unknown(id);
}

const unknown = (id: string): HttpError => notFound(`there is no dataset '${id}'`);
