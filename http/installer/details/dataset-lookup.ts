// Finding a dataset that the caller may see, or refusing in the words of the contract.

import { type DatasetId, parseDatasetId } from '../../../engine/model/ids.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetQueries, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../context.ts';
import { gone, type HttpError, notFound } from '../../errors.ts';
import { type Sight, sightOf, sightOfReplaced, type Viewer } from './access.ts';

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
  return visible(await find(queries, id, viewer, signal), id);
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
  const found = await find(queries, id, viewer, signal);
  const newest = found?.newest;
  if (newest && newest.dataset !== found.dataset.dataset && sightOf(newest, viewer) === 'visible')
    return { movedTo: newest.dataset };
  return { found: visible(found, id) };
}

/** The dataset when the viewer may download its archives: anything else is absent (contract 1, Dataset files). */
export async function findDownloadable(
  queries: Queries,
  id: string,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<ViewedDataset> {
  const found = await find(queries, id, viewer, signal);
  if (found?.sight === 'visible') return found.dataset;
  throw unknown(id);
}

interface Found {
  readonly dataset: ViewedDataset;
  readonly sight: Sight;
  /** Of a dataset that was replaced or deleted: the newest revision that is live. */
  readonly newest: ViewedDataset | undefined;
}

async function find(queries: Queries, id: string, viewer: Viewer, signal: AbortSignal): Promise<Found | undefined> {
  const known = parseDatasetId(id);
  const dataset = known && (await queries.view(known, signal));
  if (!dataset) return undefined;
  const replaced = dataset.state === 'superseded';
  const past = replaced || isDeleted(dataset.state);
  const newest = past && dataset.newest ? await queries.view(dataset.newest, signal) : undefined;
  const sight = replaced ? sightOfReplaced(dataset, newest, viewer) : sightOf(dataset, viewer);
  return { dataset, sight, newest };
}

function visible(found: Found | undefined, id: string): ViewedDataset {
  if (found?.sight === 'visible') return found.dataset;
  throw found?.sight === 'gone' ? gone(`dataset ${id} is deleted, or no longer shared with you`) : unknown(id);
}

const unknown = (id: string): HttpError => notFound(`there is no dataset '${id}'`);
