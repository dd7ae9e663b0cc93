// What an edit starts from. The object store is the truth, and under the dataset's lock nobody edits beside us; the cache
// may be a moment behind, while a lane writes into it what it read before the last edit.

import { buffer } from 'node:stream/consumers';
import { type DatasetMetadata, parseMetadata } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import type { EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { defect, messageOf } from '../../../engine/runtime/failure.ts';
import { type HttpError, tooEarly } from '../../kernel/pipeline/errors.ts';

export type MetadataSource = Pick<ObjectStore, 'head' | 'get'>;

/** A document larger than this is not one of ours. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The dataset with its metadata, and their version, as the store has them; 425 while it has none. */
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

/** What is wrong with a stored document is no fault of the request. */
function parse(document: string, key: string): DatasetMetadata {
  try {
    return parseMetadata(document, key);
  } catch (cause) {
    throw defect(messageOf(cause), { cause });
  }
}

const absent = ({ dataset }: EditableDataset): HttpError =>
  tooEarly(`the metadata of dataset ${dataset} are not stored yet; try again`);
