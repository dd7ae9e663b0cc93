// Reads and writes a dataset's documents in the object store. They are small and bounded, so each is held in memory whole.

import { buffer } from 'node:stream/consumers';
import { stringifyJson } from '../../engine/model/json.ts';
import {
  type DatasetMetadata,
  type Manifest,
  parseManifest,
  parseMetadata,
  parseUploadError,
  serialiseManifest,
  type UploadError,
} from '../../engine/model/metadata.ts';
import { type DatasetAddress, type DatasetObject, objectKey } from '../../engine/model/object-key.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { rejected } from '../../engine/runtime/failure.ts';
import { versionOf } from './dataset-versions.ts';

/** Longshore writes no document larger than this. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface StoredText {
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

export async function writeManifest(
  store: ObjectStore,
  at: DatasetAddress,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<void> {
  await store.put(objectKey(at, 'vdi-manifest.json'), Buffer.from(serialiseManifest(manifest)), {}, signal);
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
export async function readText(
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
