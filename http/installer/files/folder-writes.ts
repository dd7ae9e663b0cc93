// The owner puts a file into a folder of a dataset, or takes one away. The object store has the files, the cache lists
// them. A body may take long, and nobody waits for it: it streams into the store first, where it takes the place of the
// old file in one go, and the dataset is locked only to list what the store then holds.
//
// After a crash in between, the store has a file that the cache does not list. The next change in the folder lists it,
// and so does a cache that is built anew; a property file's own event does at once.

import { createHash } from 'node:crypto';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import { fileKey } from '../../../engine/model/object-key.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { Traceparent } from '../../../engine/model/traceparent.ts';
import type { DecidedEdit, EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { DatasetQueries, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { ObjectInfo, ObjectStore } from '../../../engine/ports/object-store.ts';
import { deadline } from '../../../engine/runtime/time.ts';
import { mediaType } from '../../kernel/bodies/body.ts';
import { bodyStream } from '../../kernel/bodies/body-stream.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import {
  badRequest,
  forbidden,
  gone,
  type HttpError,
  notFound,
  tooLarge,
  unavailable,
  unsupportedMedia,
} from '../../kernel/pipeline/errors.ts';
import { findVisible } from '../access.ts';
import { type OwnerEditOptions, ownerEdit } from '../dataset-edit.ts';
import { ByteMeter, type UploadSlots } from '../uploads/upload-limits.ts';
import { type Folder, newName, otherSpelling, roomFor, spelledOtherwise, storedFiles, storedName } from './folder.ts';

export interface FolderWriteOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'put' | 'list' | 'remove'>;
  readonly queries: Pick<DatasetQueries, 'view' | 'files'>;
  readonly dataTypes: Pick<DataTypes, 'find'>;
  readonly maxUploadBytes: number;
  readonly slots: UploadSlots;
}

/** Deadline for listing a received file. A client that disconnects does not cancel it. */
const LISTING_MS = 15_000;
const RETRY_SECONDS = 5;

/** Throws when the dataset cannot take files, and 403 when the caller may not change it. */
type Rule = (dataset: ViewedDataset) => void;

/** Stores the request's body as the file that its path names. Refuses it before reading it where possible. */
export async function putFile(
  options: FolderWriteOptions,
  folder: Folder,
  context: RequestContext,
  rule: Rule = () => undefined,
): Promise<void> {
  const { queries, slots, maxUploadBytes } = options;
  const dataset = await findVisible(queries, context.param('id'), context.userId, context.signal);
  demandOwned(dataset, context);
  rule(dataset);
  const name = newName(context.param('fileName'));
  using _slot = slots.take(context.userId);
  const files = await queries.files(dataset.dataset, context.signal);
  const file = await receive(options, folder, dataset, name, roomFor(folder, name, files, maxUploadBytes), context);
  await listNew(options, folder, dataset, file, context.traceparent);
  context.log.info(
    { dataset: dataset.dataset, owner: dataset.owner, file: name, size: file.size },
    `${folder.noun} put`,
  );
}

export async function removeFile(options: FolderWriteOptions, folder: Folder, context: RequestContext): Promise<void> {
  const given = context.param('fileName');
  await ownerEdit(options, context, 410, async (now, signal) => {
    if (isDeleted(now.state)) throw gone(`dataset ${now.dataset} is deleted`);
    demandOwned(now, context);
    const name = storedName(given);
    const stored = await storedFiles(options.store, now, folder, signal);
    const known = [...stored, ...now.files[folder.listed]].some((file) => file.name === name);
    if (name === undefined || !known) throw noSuchFile(folder, now, given);
    await options.store.remove([fileKey(now, folder.folder, name)], signal);
    return listing(
      folder,
      stored.filter((file) => file.name !== name),
      undefined,
    );
  });
  context.log.info({ dataset: context.param('id'), file: given }, `${folder.noun} removed`);
}

export const noSuchFile = (folder: Folder, { dataset }: Pick<ViewedDataset, 'dataset'>, name: string): HttpError =>
  notFound(`dataset ${dataset} has no ${folder.noun} '${name.slice(0, 255)}'`);

function demandOwned(
  { dataset, owner, state }: Pick<ViewedDataset, 'dataset' | 'owner' | 'state'>,
  context: RequestContext,
): void {
  if (owner !== context.userId) throw forbidden(`dataset ${dataset} can be changed by its owner only`);
  if (state === 'superseded')
    throw forbidden(`dataset ${dataset} was replaced by a newer revision, which can be changed instead`);
}

/**
 * Streams the body into the store, all or nothing: a body that is cut off, or has another digest than it says, leaves the old file
 * unchanged.
 */
async function receive(
  { store }: FolderWriteOptions,
  { folder, contentType }: Folder,
  dataset: ViewedDataset,
  name: string,
  room: number,
  { request, signal }: RequestContext,
): Promise<FileEntry> {
  const given = mediaType(request.headers['content-type']);
  if (given !== '' && given !== contentType) throw unsupportedMedia(`content type '${given}': expected ${contentType}`);
  const coding = request.headers['content-encoding'];
  // A packed body would be stored as it is and later sent as if it were not packed.
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw unsupportedMedia(`header Content-Encoding '${coding}': expected the file itself`);
  // A client that sends a range would replace the whole file with a part of it (RFC 9110, 14.5).
  if (request.headers['content-range'] !== undefined)
    throw badRequest('header Content-Range: a file is put whole, not in parts');
  const length = request.headers['content-length'];
  const excess = (sent: string): HttpError =>
    tooLarge(`the file has ${sent} bytes; the dataset's documents and property files have ${room} left`);
  const empty = (): HttpError => badRequest('the body is empty; it must hold the file');
  if (Number(length) > room) throw excess(String(length));
  if (Number(length) === 0) throw empty();
  const meter = new ByteMeter({
    maxBytes: room,
    // The store enforces the quota.
    reserve: async () => room,
    tooLarge: (sent) => excess(`at least ${sent}`),
    overQuota: (sent) => excess(`at least ${sent}`),
    empty,
  });
  const put = Promise.withResolvers<ObjectInfo>();
  const hash = createHash('sha256');
  const key = fileKey(dataset, folder, name);
  const options = length === undefined ? {} : { size: Number(length) };
  await meter.pass(
    bodyStream(request),
    async (counted) => put.resolve(await store.put(key, counted, options, signal)),
    signal,
    hash,
  );
  const { size, etag } = await put.promise;
  return { name, size, etag, sha256: hash.digest('hex') };
}

/**
 * Lists the folder with the file just stored. Of two concurrent names that differ only in case, the first one listed stays.
 * A dataset that was deleted meanwhile can still be restored, with the file.
 */
async function listNew(
  { edits, clock, store }: FolderWriteOptions,
  folder: Folder,
  { owner, dataset }: ViewedDataset,
  file: FileEntry,
  traceparent: Traceparent,
): Promise<void> {
  const { name } = file;
  const key = fileKey({ owner, dataset }, folder.folder, name);
  const late = (): Error => unavailable(`dataset ${dataset} could not be changed in time; try again`, RETRY_SECONDS);
  using limit = deadline(clock, LISTING_MS, undefined, late);
  const refusal = await edits.edit(
    dataset,
    async (now, signal): Promise<DecidedEdit<HttpError | undefined>> => {
      if (!now || now.state === 'pruning') {
        await store.remove([key], signal);
        return { changes: [], result: gone(`dataset ${dataset} is deleted`) };
      }
      // Meanwhile another request may have replaced it.
      const stored = (await storedFiles(store, now, folder, signal)).map((there) =>
        there.name === name && there.etag === file.etag ? file : there,
      );
      const rival = rivalOf(name, now.files[folder.listed], stored);
      if (rival) {
        await store.remove([key], signal);
        const files = stored.filter((file) => file.name !== name);
        return listing(folder, files, spelledOtherwise(name, rival));
      }
      return { ...listing(folder, settled(name, now.files[folder.listed], stored), undefined), traceparent };
    },
    limit.signal,
  );
  if (refusal) throw refusal;
}

/** A listed file with the same name in another case, if the name itself is new. */
function rivalOf(
  name: string,
  listed: EditableDataset['files']['documents'],
  stored: readonly FileEntry[],
): FileEntry | undefined {
  if (listed.some((file) => file.name === name)) return undefined;
  return otherSpelling(
    listed.filter((file) => stored.some((there) => there.name === file.name)),
    name,
  );
}

/**
 * The stored files without other spellings of the name: those are uploads in progress, which will find this file and be
 * refused.
 */
const settled = (name: string, listed: readonly FileEntry[], stored: readonly FileEntry[]): readonly FileEntry[] =>
  stored.filter(
    (file) => listed.some((known) => known.name === file.name) || otherSpelling([file], name) === undefined,
  );

const listing = <Result>({ set }: Folder, files: readonly FileEntry[], result: Result): DecidedEdit<Result> => ({
  changes: [{ set, files }],
  result,
});
