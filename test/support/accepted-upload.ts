// An upload as a front end receives it, up to the 202, for the worlds of tests.

import { versionOf } from '../../actors/dataset/dataset-versions.ts';
import { type DatasetMetadata, serializeMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, type FileFolder, fileKey, objectKey } from '../../engine/model/object-key.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { UploadSource, Uploads } from '../../engine/ports/uploads.ts';
import { metadataOf, PLASMO, TOXO } from './dataset-samples.ts';

type Contents = Readonly<Record<string, string | Uint8Array>>;

export interface Upload {
  readonly files?: Contents;
  /** Instead of files. */
  readonly url?: URL;
  readonly properties?: Readonly<Record<string, string>>;
  readonly documents?: Readonly<Record<string, string>>;
  readonly metadata?: Partial<DatasetMetadata>;
}

const never = new AbortController().signal;

/** @param nextEvent is called once, when everything is stored */
export async function acceptUpload(
  { store, uploads }: { readonly store: ObjectStore; readonly uploads: Uploads },
  { files = { 'genes.txt': 'PF3D7_0100000\n' }, properties = {}, documents = {}, metadata: more, url }: Upload,
  at: DatasetAddress,
  nextEvent: () => number,
): Promise<void> {
  const metadata = metadataOf(at.owner, { installTargets: [PLASMO, TOXO], ...more });
  const put = (key: string, content: string | Uint8Array) =>
    store.put(key, Buffer.from(content as string), { handedOver: true }, never);
  const putAll = (folder: FileFolder, all: Contents) =>
    Promise.all(
      Object.entries(all).map(async ([name, content]) => {
        const { size } = await put(fileKey(at, folder, name), content);
        return { name, size };
      }),
    );
  await uploads.begin(at, 0, { bytes: Number.MAX_SAFE_INTEGER }, never);
  const source: UploadSource = url
    ? { kind: 'url', url: url.href }
    : { kind: 'files', files: await putAll('raw', files) };
  const stored = await put(objectKey(at, 'vdi-meta.json'), serializeMetadata(metadata));
  const accepted = {
    ...at,
    metadata,
    metaVersion: versionOf(stored),
    source,
    documents: await putAll('documents', documents),
    properties: await putAll('datasetProperties', properties),
    eventId: nextEvent(),
  };
  await uploads.accept(accepted, never);
}
