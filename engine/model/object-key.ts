// Object keys: built and parsed here and nowhere else (docs/design/decisions.md#ids-and-object-layout).
//   {ownerId}/{datasetId}/{name}         metadata, manifest, archives, flags
//   {ownerId}/{datasetId}/raw/{file}     the untouched upload until import-ready.zip exists
//   {ownerId}/{datasetId}/documents|datasetProperties/{file}
//   {ownerId}/{datasetId}/shares/{recipientId}/share-offer.json|share-receipt.json
//   reports/..., handler/...             other services' objects: never a dataset's
//   resumable/{uploadId}                 uploads that clients send in several requests, before a dataset is made of them

import { defect } from '../runtime/failure.ts';
import { type DatasetId, parseUserId, type UploadId, type UserId } from './ids.ts';

export const DATASET_OBJECTS = [
  'vdi-meta.json',
  'vdi-manifest.json',
  'upload-error.json',
  'import-ready.zip',
  'install-ready.zip',
  'delete-flag',
  'revised-flag',
] as const;
export type DatasetObject = (typeof DATASET_OBJECTS)[number];

export const FILE_FOLDERS = ['raw', 'documents', 'datasetProperties'] as const;
export type FileFolder = (typeof FILE_FOLDERS)[number];

export const SHARE_OBJECTS = ['share-offer.json', 'share-receipt.json'] as const;
export type ShareObject = (typeof SHARE_OBJECTS)[number];

export interface DatasetAddress {
  readonly owner: UserId;
  readonly dataset: DatasetId;
}

export type ObjectKey = DatasetAddress &
  (
    | { readonly kind: 'object'; readonly object: DatasetObject }
    | { readonly kind: 'file'; readonly folder: FileFolder; readonly name: string }
    | { readonly kind: 'share'; readonly recipient: UserId; readonly object: ShareObject }
    | { readonly kind: 'unknown'; readonly rest: string }
  );

export const RESUMABLE_PREFIX = 'resumable/';
/** Prefixes without datasets, such as those of other services of the bucket. Router, listings and reconciler skip them. */
const FOREIGN_PREFIXES = ['reports/', 'handler/', RESUMABLE_PREFIX];
/** Wider than `parseDatasetId`, so that an existing dataset is never taken for absent because of its name. */
const KEY_DATASET_ID = /^[\w.-]{1,64}$/;

export const datasetPrefix = (at: DatasetAddress): string => `${at.owner}/${at.dataset}/`;
export const objectKey = (at: DatasetAddress, object: DatasetObject): string => datasetPrefix(at) + object;
export const fileKey = (at: DatasetAddress, folder: FileFolder, name: string): string =>
  `${datasetPrefix(at)}${folder}/${name}`;
export const resumableKey = (id: UploadId): string => `${RESUMABLE_PREFIX}${id}`;
export const shareKey = (at: DatasetAddress, recipient: UserId, object: ShareObject): string =>
  `${datasetPrefix(at)}shares/${recipient}/${object}`;

/**
 * What a key names: a dataset's object, `'foreign'` for other services' prefixes, or undefined for a key outside any dataset.
 * An unknown key below a dataset is `kind: 'unknown'`, so the dataset still exists.
 */
export function parseKey(key: string): ObjectKey | 'foreign' | undefined {
  if (FOREIGN_PREFIXES.some((prefix) => key.startsWith(prefix))) return 'foreign';
  const first = key.indexOf('/');
  const second = key.indexOf('/', first + 1);
  if (first < 0 || second < 0) return undefined;
  const owner = parseUserId(key.slice(0, first));
  const dataset = key.slice(first + 1, second);
  if (!owner || !KEY_DATASET_ID.test(dataset)) return undefined;
  return keyBelow({ owner, dataset: dataset as DatasetId }, key.slice(second + 1));
}

/** {@link parseKey} for a key below a known dataset. */
export const parseKeyBelow = (at: DatasetAddress, key: string): ObjectKey =>
  keyBelow(at, key.slice(at.owner.length + at.dataset.length + 2));

function keyBelow({ owner, dataset }: DatasetAddress, rest: string): ObjectKey {
  // The common case, so it is checked first.
  if (isOneOf(DATASET_OBJECTS, rest)) return { owner, dataset, kind: 'object', object: rest };
  const at = { owner, dataset };
  const tail = rest.split('/');
  const [first = '', second = '', third = ''] = tail;
  if (tail.length === 2 && second !== '' && isOneOf(FILE_FOLDERS, first))
    return { ...at, kind: 'file', folder: first, name: second };
  const recipient = first === 'shares' && tail.length === 3 ? parseUserId(second) : undefined;
  if (recipient && isOneOf(SHARE_OBJECTS, third)) return { ...at, kind: 'share', recipient, object: third };
  return { ...at, kind: 'unknown', rest };
}

function isOneOf<Item extends string>(items: readonly Item[], text: string): text is Item {
  return (items as readonly string[]).includes(text);
}

// Which keys objects may have, in every store.

const MAX_KEY_BYTES = 1024;

/**
 * Keys are relative paths of non-empty segments other than `.` and `..`, at most 1,024 bytes, without NUL. A backslash is an
 * ordinary character. Any other key is a defect of the caller.
 */
export function demandAllowedKey(key: string): void {
  const clean = key.split('/').every(isSegment);
  // UTF-8 encoding would replace a lone surrogate, which changes the key.
  if (!clean || key.includes('\0') || !key.isWellFormed() || Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw defect(`object key ${JSON.stringify(key)} is not allowed`);
}

/** Whether an allowed key may begin so. */
export const mayBeginKey = (prefix: string): boolean => prefix.split('/').slice(0, -1).every(isSegment);

const isSegment = (name: string): boolean => name !== '' && name !== '.' && name !== '..';

/** For keys of one call: each is allowed, and none is there twice. */
export function demandDifferentKeys(keys: readonly string[]): void {
  const seen = new Set<string>();
  for (const key of keys) {
    demandAllowedKey(key);
    if (seen.has(key)) throw defect(`object key ${JSON.stringify(key)} is given twice`);
    seen.add(key);
  }
}
