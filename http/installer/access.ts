// Who may see a dataset, and who may read its files. This is decided here and nowhere else. A caller who cannot see a dataset
// must not learn that it exists and gets 404, or 410 when the caller could see it once
// (docs/design/decisions.md#identity-versions-errors).

import { type DatasetId, parseDatasetId, type UserId } from '../../engine/model/ids.ts';
import { originalOf } from '../../engine/model/metadata.ts';
import { isDeleted, readsFiles, readsMetadata } from '../../engine/model/status.ts';
import type { Grants } from '../../engine/ports/access-requests.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { DatasetQueries, ShareRecord, ViewedDataset } from '../../engine/ports/dataset-queries.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden, gone, type HttpError, notFound } from '../kernel/pipeline/errors.ts';

export type Sight = 'visible' | 'gone' | 'absent';

/** The fields of a dataset that decide who sees it. */
interface SharedDataset extends Pick<DatasetRecord, 'owner' | 'state' | 'metadata'> {
  readonly shares: readonly ShareRecord[];
}

/**
 * An administrator sees every dataset, deleted ones too. A guest sees what is not private. The id in a guest's token is
 * ignored, because it may be a user's.
 */
export type Viewer = UserId | 'admin' | 'guest';

const shareOf = ({ shares }: SharedDataset, viewer: Viewer): ShareRecord | undefined =>
  shares.find((item) => item.recipient === viewer);

/** The dataset is the viewer's own, or was given to the viewer. */
function isGiven(dataset: SharedDataset, viewer: Viewer): boolean {
  if (viewer === 'admin' || dataset.owner === viewer) return true;
  const share = shareOf(dataset, viewer);
  return share?.granted === true && share.accepted;
}

/**
 * visible: the owner, a recipient who accepted a standing offer, anybody when it is not private.
 * gone: deleted, revoked or made private again, and the viewer could have seen it before.
 */
export function sightOf(dataset: SharedDataset, viewer: Viewer): Sight {
  if (viewer === 'admin') return 'visible';
  const owns = dataset.owner === viewer;
  const share = shareOf(dataset, viewer);
  const published = dataset.metadata.firstPublished !== undefined;
  if (isDeleted(dataset.state)) return owns || share || published ? 'gone' : 'absent';
  if (readsMetadata({ visibility: dataset.metadata.visibility, given: isGiven(dataset, viewer) })) return 'visible';
  return published || share?.granted === false ? 'gone' : 'absent';
}

/**
 * As {@link sightOf}, for a revision that was replaced. Its owner can no longer change it, so whatever the owner takes back
 * from the newest revision (publication, a share, the whole dataset) is taken back from this one too.
 * @param newest undefined when none is live
 */
export function sightOfReplaced(dataset: SharedDataset, newest: SharedDataset | undefined, viewer: Viewer): Sight {
  const sight = sightOf(dataset, viewer);
  if (sight !== 'visible' || viewer === 'admin' || dataset.owner === viewer) return sight;
  return newest === undefined || sightOf(newest, viewer) === 'gone' ? 'gone' : 'visible';
}

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
 * As {@link findVisible}, for the details of a dataset: if the dataset was replaced or deleted and the viewer may see its
 * newest revision, returns the id of that revision. It is never the dataset's own id.
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
 * The dataset when the viewer may read its files; 403 when the viewer may only see it.
 * @param unseen the answer when the viewer does not see it: always 404, or as {@link findVisible}
 *   (docs/contract/installer.md#endpoints)
 */
export async function findReadable(
  { queries, grants, clock }: FileReading,
  id: string,
  viewer: Viewer,
  unseen: 404 | 'as seen',
  signal: AbortSignal,
): Promise<ViewedDataset> {
  const found = await find(queries, id, viewer, signal);
  if (unseen === 404 && found?.sight !== 'visible') throw noDataset(id);
  const dataset = visible(found, id);
  // What the owner took back from the newest revision is taken back from the older ones too.
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
  /** The newest live revision, if this one was replaced or deleted. */
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
  throw found?.sight === 'gone' ? goneDataset(id) : noDataset(id);
}

export const noDataset = (id: string): HttpError => notFound(`there is no dataset '${id}'`);
export const goneDataset = (id: string): HttpError => gone(`dataset ${id} is deleted, or no longer shared with you`);
