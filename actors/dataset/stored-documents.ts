// Reads and writes a dataset's documents in the object store. They are small and bounded, so each is held in memory whole.

import { buffer } from 'node:stream/consumers';
import type { ArchiveObject } from '../../engine/model/digest.ts';
import type { UserId } from '../../engine/model/ids.ts';
import { stringifyJson } from '../../engine/model/json.ts';
import {
  type DatasetMetadata,
  type Manifest,
  parseManifest,
  parseMetadata,
  parseOffer,
  parseReceipt,
  parseUploadError,
  serialiseManifest,
  type UploadError,
  withoutDigests,
} from '../../engine/model/metadata.ts';
import {
  type DatasetAddress,
  type DatasetObject,
  datasetPrefix,
  objectKey,
  parseKey,
} from '../../engine/model/object-key.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import type { CatalogChange, ObjectVersion, StoredShare } from '../../engine/ports/catalog.ts';
import type { NewObject, ObjectInfo, ObjectStore, StoredObject } from '../../engine/ports/object-store.ts';
import { kindOf, rejected } from '../../engine/runtime/failure.ts';
import { versionOf } from './dataset-versions.ts';
import { inParallel } from './site-targets.ts';

/** Longshore writes no document larger than this. */
const MAX_BYTES = 16 * 1024 * 1024;

interface StoredText {
  readonly text: string;
  readonly version: ObjectVersion;
}

export interface Stored<Document> extends StoredText {
  readonly document: Document;
}

export async function readMetadata(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<Stored<DatasetMetadata> | undefined> {
  return readDocument(store, at, 'vdi-meta.json', parseMetadata, signal);
}

export async function readManifest(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<Stored<Manifest> | undefined> {
  return readDocument(store, at, 'vdi-manifest.json', parseManifest, signal);
}

export async function readUploadError(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<Stored<UploadError> | undefined> {
  return readDocument(store, at, 'upload-error.json', parseUploadError, signal);
}

/** What a lane puts that records the object and enqueues what follows in one transaction. */
export const HANDED_OVER = { handedOver: true } as const;

/** The manifest, to be put with other objects of the dataset. Digests that would make it too large to be read are left out. */
export function manifestObject(at: DatasetAddress, manifest: Manifest): NewObject {
  const whole = Buffer.from(serialiseManifest(manifest));
  const source = whole.length <= MAX_BYTES ? whole : Buffer.from(serialiseManifest(withoutDigests(manifest)));
  return { key: objectKey(at, 'vdi-manifest.json'), source, options: HANDED_OVER };
}

/** The manifest as plugins get it: without digests, which their servers do not know. One that others wrote stays as it is. */
export const sentManifest = ({ text, document }: Stored<Manifest>): string =>
  text.includes('"sha256"') ? serialiseManifest(withoutDigests(document)) : text;

/**
 * The change that records the digest of an archive, if the manifest has it and the store has that archive. Otherwise none: what
 * is recorded of another version of the archive does not count.
 */
export function archiveChange(
  at: DatasetAddress,
  object: ArchiveObject,
  archives: Manifest['archives'],
  stored: readonly ObjectInfo[],
): readonly CatalogChange[] {
  const info = stored.find(({ key }) => key === objectKey(at, object));
  const archive = archives?.[object];
  if (!info || !archive || info.size !== archive.size) return [];
  return [{ set: 'archive', object, digest: { etag: info.etag, sha256: archive.sha256 } }];
}

/** The change that settles what objects count which were put with `settle: 'by caller'`. */
export function settled(at: DatasetAddress, objects: readonly StoredObject[]): CatalogChange {
  const prefix = datasetPrefix(at);
  return {
    set: 'settled',
    owner: at.owner,
    objects: objects.flatMap(({ key, size, turn }) =>
      turn === undefined ? [] : [{ name: key.slice(prefix.length), bytes: size, turn }],
    ),
  };
}

export async function writeUploadError(
  store: ObjectStore,
  at: DatasetAddress,
  error: UploadError,
  signal: AbortSignal,
): Promise<void> {
  await store.put(objectKey(at, 'upload-error.json'), Buffer.from(stringifyJson(error, 2)), {}, signal);
}

async function readDocument<Document>(
  store: ObjectStore,
  at: DatasetAddress,
  object: DatasetObject,
  parse: (text: string, where: string) => Document,
  signal: AbortSignal,
): Promise<Stored<Document> | undefined> {
  const key = objectKey(at, object);
  const stored = await readText(store, key, MAX_BYTES, signal);
  return stored && { document: parse(stored.text, key), ...stored };
}

/** Undefined when the object does not exist. More than `maxBytes` is a `rejected` failure that names the key. */
async function readText(
  store: ObjectStore,
  key: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<StoredText | undefined> {
  const opened = await store.get(key, undefined, signal);
  if (!opened) return undefined;
  if (opened.info.size > maxBytes) {
    opened.body.destroy();
    throw rejected(`${key}: ${opened.info.size} bytes; the maximum is ${maxBytes}`);
  }
  const text = decodeDocument(await buffer(opened.body));
  if (text === undefined) throw rejected(`${key} is not UTF-8`);
  return { text, version: versionOf(opened.info) };
}

// The share offers and receipts of a dataset, read from the two documents per recipient in the object store. Others may have
// written them: a document that we cannot parse counts as absent and does not affect the others.

/** Longshore writes no share document larger than this. */
const MAX_SHARE_BYTES = 64 * 1024;
const READS_AT_ONCE = 8;

/** The dataset's share documents, in key order: at most two per recipient. */
export async function storedShares(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<readonly ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for await (const info of store.list(`${datasetPrefix(at)}shares/`, {}, signal))
    if (shareOf(info.key)) found.push(info);
  return found;
}

/**
 * The contents of the documents, by recipient. The owner is skipped: nobody shares with themselves.
 * @param onMalformed called for a document that cannot be parsed, with the `rejected` failure that says why
 */
export async function readShares(
  store: ObjectStore,
  documents: readonly ObjectInfo[],
  onMalformed: (key: string, why: unknown) => void,
  signal: AbortSignal,
): Promise<readonly StoredShare[]> {
  const said = await inParallel(documents, READS_AT_ONCE, ({ key }) => readWord(store, key, onMalformed, signal));
  const shares = new Map<UserId, StoredShare>();
  for (const words of said) if (words) shares.set(words.recipient, { ...shares.get(words.recipient), ...words });
  return [...shares.values()];
}

/**
 * Who may see the dataset besides its owner. An offer without a receipt is pending, and a receipt without an offer has no
 * effect.
 */
export const recipientsOf = (shares: readonly StoredShare[]): readonly UserId[] =>
  shares.flatMap(({ recipient, offer, receipt }) => (offer === 'grant' && receipt === 'accept' ? [recipient] : []));

function shareOf(key: string) {
  const parsed = parseKey(key);
  return parsed !== 'foreign' && parsed?.kind === 'share' ? parsed : undefined;
}

async function readWord(
  store: ObjectStore,
  key: string,
  onMalformed: (key: string, why: unknown) => void,
  signal: AbortSignal,
): Promise<StoredShare | undefined> {
  const share = shareOf(key);
  if (!share || share.recipient === share.owner) return undefined;
  const { recipient, object } = share;
  try {
    const stored = await readText(store, key, MAX_SHARE_BYTES, signal);
    // Removed after it was listed; the removal has its own event.
    if (!stored) return undefined;
    if (object === 'share-offer.json') return { recipient, offer: parseOffer(stored.text, key) };
    return { recipient, receipt: parseReceipt(stored.text, key) };
  } catch (error) {
    if (kindOf(error) !== 'rejected') throw error;
    onMalformed(key, error);
    return undefined;
  }
}
