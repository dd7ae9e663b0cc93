// A change of a dataset by a person: the dataset is locked, the caller is checked, and one deadline covers everything.
// An edit starts from the document in the object store, and `If-Match` protects it against changes in between.

import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type DatasetId, parseDatasetId } from '../../engine/model/ids.ts';
import { stringifyJson } from '../../engine/model/json.ts';
import { type DatasetMetadata, parseMetadata } from '../../engine/model/metadata.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { isDeleted } from '../../engine/model/status.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { DatasetEdits, DecidedEdit, EditableDataset } from '../../engine/ports/dataset-edits.ts';
import type { ShareRecord } from '../../engine/ports/dataset-queries.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { defect, messageOf } from '../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { tagOf } from '../kernel/answers/download.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden, type HttpError, preconditionFailed, tooEarly, unavailable } from '../kernel/pipeline/errors.ts';
import type { RouteParameter } from '../kernel/pipeline/route.ts';
import { goneDataset, noDataset, sightOf } from './access.ts';

export interface OwnerEditOptions {
  readonly edits: DatasetEdits;
  readonly clock: Clock;
}

/** The dataset's lanes wait for an edit, so this bounds every edit. */
const EDIT_MS = 15_000;
const RETRY_SECONDS = 5;

/**
 * Lets the owner of the dataset in the path change it, or an administrator where the route admits one. `decide` gets the
 * locked dataset; an error that it throws becomes the answer. Callers who may only see the dataset get 403, callers who
 * cannot see it 404, and callers who could see it once 410 where the route has that answer (`goneIs`).
 */
export function ownerEdit<Result>(
  options: OwnerEditOptions,
  context: RequestContext,
  goneIs: 404 | 410,
  decide: (now: EditableDataset, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
): Promise<Result> {
  return editDataset(options, context, async (now, dataset, signal) => {
    demandOwner(now, dataset, context, goneIs);
    return decide(now, signal);
  });
}

/** Changes the dataset in the path. `decide` has to check whether the caller may do that. */
export async function editDataset<Result>(
  { edits, clock }: OwnerEditOptions,
  context: RequestContext,
  decide: (now: EditableDataset | undefined, dataset: DatasetId, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
): Promise<Result> {
  const id = context.param('id');
  const dataset = parseDatasetId(id);
  if (!dataset) throw noDataset(id);
  const late = (): Error => unavailable(`dataset ${dataset} could not be changed in time; try again`, RETRY_SECONDS);
  using limit = deadline(clock, EDIT_MS, context.signal, late);
  const traced = async (now: EditableDataset | undefined, signal: AbortSignal): Promise<DecidedEdit<Result>> => ({
    ...(await decide(now, dataset, signal)),
    traceparent: context.traceparent,
  });
  return edits.edit(dataset, traced, limit.signal);
}

/** Throws unless the caller may change the dataset. The owner may change a deleted one too. */
function demandOwner(
  now: EditableDataset | undefined,
  dataset: DatasetId,
  context: RequestContext,
  goneIs: 404 | 410,
): asserts now is EditableDataset {
  const absent = noDataset(dataset);
  if (!now) throw absent;
  if (context.caller.kind === 'admin' || now.owner === context.userId) return;
  switch (sightOf({ ...now, shares: shareRecords(now) }, context.userId)) {
    case 'visible':
      throw forbidden(`dataset ${dataset} can be changed by its owner only`);
    case 'gone':
      throw goneIs === 410 ? goneDataset(dataset) : absent;
    case 'absent':
      throw absent;
  }
}

/** The shares in the form that `sightOf` takes. */
export const shareRecords = ({ shares }: EditableDataset): readonly ShareRecord[] =>
  shares.map(({ recipient, offer, receipt }) => ({
    recipient,
    granted: offer === 'grant',
    accepted: receipt === 'accept',
  }));

/**
 * Throws 403 when the dataset is deleted or was replaced by a newer revision, which the message names. A change of an older
 * revision would be lost with it.
 */
export function demandNewest({ dataset, state, newer }: EditableDataset): void {
  if (isDeleted(state)) throw forbidden(`dataset ${dataset} is deleted`);
  if (state !== 'superseded') return;
  const by = newer ? `its newer revision ${newer.dataset}` : 'a newer revision';
  throw forbidden(`dataset ${dataset} was replaced by ${by}`);
}

/**
 * As {@link demandNewest}, and 403 also while a newer revision is on its way, unless that one failed. For properties that a
 * revision copies when it is uploaded: a change after that would be lost.
 */
export function demandLasting(dataset: EditableDataset): void {
  demandNewest(dataset);
  const { newer } = dataset;
  if (newer && !newer.failed)
    throw forbidden(
      `dataset ${dataset.dataset} is being replaced by its newer revision ${newer.dataset}; change that one`,
    );
}

export type MetadataSource = Pick<ObjectStore, 'head' | 'get'>;

/** A document larger than this is not one of ours. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The dataset with the metadata that the store has, and their version; 425 while the store has none. The store is the source
 * of truth. The cache can be behind: a lane may just have written what it read before the last edit.
 */
export async function withNewestMetadata(
  dataset: EditableDataset,
  store: MetadataSource,
  signal: AbortSignal,
): Promise<EditableDataset> {
  const key = objectKey(dataset, 'vdi-meta.json');
  const known = dataset.sync.meta;
  const head = await store.head(key, signal);
  if (!head) throw absent(dataset);
  if (known && head.etag === known.etag && head.modified.getTime() === known.modified.getTime()) return dataset;
  const opened = await store.get(key, undefined, signal);
  if (!opened) throw absent(dataset);
  const { info, body } = opened;
  if (info.size > MAX_BYTES) {
    body.on('error', () => undefined).destroy();
    throw defect(`${key}: ${info.size} bytes are too many for metadata`);
  }
  const document = decodeDocument(await buffer(body));
  if (document === undefined) throw defect(`${key} is not UTF-8`);
  const { modified, etag } = info;
  return { ...dataset, metadata: parse(document, key), sync: { ...dataset.sync, meta: { modified, etag } } };
}

/** A fault in a stored document is a defect, not the client's error. */
function parse(document: string, key: string): DatasetMetadata {
  try {
    return parseMetadata(document, key);
  } catch (cause) {
    throw defect(messageOf(cause), { cause });
  }
}

const absent = ({ dataset }: EditableDataset): HttpError =>
  tooEarly(`the metadata of dataset ${dataset} are not stored yet; try again`);

/**
 * The ETag of a dataset's details, in quotes: `"{version of the metadata}.{hash of the whole answer}"`. The hash changes with
 * everything that is shown, statuses included, so that a client's cache is never stale. If-Match compares only the part
 * before the dot, because an edit concerns the metadata alone.
 * @param metadata undefined when the cache has not seen the stored document
 */
export function datasetTag(metadata: ObjectVersion | undefined, answer: unknown): string {
  const hash = tagOf(stringifyJson(answer)).slice(1, -1);
  return `"${metadata?.etag ?? ''}.${hash}"`;
}

/** Throws 412 when the request has an `If-Match` and none of its tags names this version of the metadata. */
export function requireMetadataMatch(headers: IncomingHttpHeaders, metadata: ObjectVersion | undefined): void {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted.trim() === '*') return;
  const versions = wanted.split(',').map((tag) => /^(?:W\/)?"(.*)\.[^.]*"$/.exec(tag.trim())?.[1]);
  if (metadata === undefined || !versions.includes(metadata.etag))
    throw preconditionFailed(`If-Match ${wanted}: the metadata have changed since; read the dataset again`);
}

/** The request header of a conditional change. */
export const ifMatch: Readonly<Record<'If-Match', RouteParameter>> = {
  'If-Match': {
    description: "ETag of the dataset's details; 412 if the metadata has changed since",
    schema: { ...Type.String() },
  },
};
