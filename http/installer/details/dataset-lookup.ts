// Finding a dataset that the caller may see, or refusing in the words of the contract.

import { readsFiles } from '../../../engine/model/dataset-reading.ts';
import { type DatasetId, parseDatasetId } from '../../../engine/model/ids.ts';
import { originalOf } from '../../../engine/model/metadata.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetQueries, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { Grants } from '../../../engine/ports/grants.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { forbidden, gone, type HttpError, notFound } from '../../kernel/pipeline/errors.ts';
import { isGiven, type Sight, sightOf, sightOfReplaced, type Viewer } from './access.ts';

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

export interface FileReading {
  readonly queries: Queries;
  readonly grants: Grants;
  readonly clock: Clock;
}

/**
 * The dataset when the viewer may read its files; 403 when the viewer sees it and may not.
 * @param unseen what it is called when the viewer does not see it (docs/contract/installer.md#endpoints)
 */
export async function findReadable(
  { queries, grants, clock }: FileReading,
  id: string,
  viewer: Viewer,
  unseen: 404 | 'as seen',
  signal: AbortSignal,
): Promise<ViewedDataset> {
  const found = await find(queries, id, viewer, signal);
  if (unseen === 404 && found?.sight !== 'visible') throw unknown(id);
  const dataset = visible(found, id);
  // What the owner took back of the newest revision is taken back of those before it.
  const judged = dataset.state === 'superseded' && found?.newest ? [dataset, found.newest] : [dataset];
  const reads = (granted: boolean): boolean =>
    judged.every((one) => readsFiles({ visibility: one.metadata.visibility, given: isGiven(one, viewer), granted }));
  if (reads(false)) return dataset;
  const isUser = viewer !== 'admin' && viewer !== 'guest';
  const granted = { root: originalOf(dataset.dataset, dataset.metadata), owner: dataset.owner };
  if (isUser && reads(true) && (await grants.holds(viewer, granted, new Date(clock.now()), signal))) return dataset;
  throw forbidden(
    `the files of dataset ${id} are for its owner, for people that it is shared with, and for those who were granted access to it`,
  );
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
