// A site with a dataset in every state that the lanes leave one in, made the same way in every world that runs lanes;
// and what its cache must say once it was lost and built anew.

import { type DatasetId, revisionOf, type UserId } from '../../engine/model/ids.ts';
import { type FileEntry, serialiseShare } from '../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey, shareKey } from '../../engine/model/object-key.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { DatasetFiles, ShareRecord } from '../../engine/ports/dataset-queries.ts';
import type { JobRequest } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { FakeOutcome, FakePluginCall, FakePluginClient } from '../fakes/fake-plugin-client.ts';
import type { Upload } from './accepted-upload.ts';
import { fullMetadataOf, historyOf, newAddress, newUser, PLASMO } from './dataset-samples.ts';

export interface RebuildWorld {
  readonly store: ObjectStore;
  readonly plugin: FakePluginClient;
  accept(upload: Upload, at: DatasetAddress): Promise<unknown>;
  enqueue(job: Pick<JobRequest, 'lane' | 'owner' | 'dataset' | 'source'>): Promise<void>;
  /** Runs whatever is due. */
  finish(): Promise<void>;
}

/** One dataset as the front ends see it. Files in the order of their names. */
export interface DatasetView {
  readonly record: DatasetRecord;
  readonly files: Omit<DatasetFiles, 'archives'>;
  /** SHA-256 of the archives. */
  readonly archives: Readonly<Record<string, string>>;
  readonly shares: readonly ShareRecord[];
}

/** By the dataset's name in the site. */
export type SiteView = Readonly<Record<string, DatasetView>>;

export interface RebuildSite {
  readonly datasets: ReadonlyMap<string, DatasetAddress>;
  readonly owner: UserId;
  readonly reader: UserId;
}

type Answers = Readonly<Partial<Record<FakePluginCall['kind'], FakeOutcome>>>;

const never = new AbortController().signal;
const INVALID: FakeOutcome = { kind: 'invalid', validation: { basic: ['no gene', 'no name'], community: ['odd'] } };
const BROKEN: FakeOutcome = { kind: 'script-error', message: 'exit code 3:\nno such table' };
const TWIN: Upload = { properties: { 'p.tsv': 'a\tb\n' }, documents: { 'read.me': 'hello' } };

export async function buildSite(world: RebuildWorld): Promise<RebuildSite> {
  const [owner, reader, other] = [newUser(), newUser(), newUser()];
  const datasets = new Map<string, DatasetAddress>();
  const answers = new Map<DatasetId, Answers>();
  world.plugin.decide = ({ kind, dataset, target }) =>
    kind === 'uninstall' || (target && target !== PLASMO) ? undefined : answers.get(dataset)?.[kind];

  const upload = async (name: string, said: Answers = {}, what: Upload = {}, at = newAddress(owner)) => {
    datasets.set(name, at);
    answers.set(at.dataset, said);
    await world.accept({ ...what, metadata: { name, ...what.metadata } }, at);
    await world.finish();
    return at;
  };
  const put = async (key: string, content = '') => {
    await world.store.put(key, Buffer.from(content), {}, never);
    await world.finish();
  };
  const remove = async (key: string) => {
    await world.store.remove([key], never);
    await world.finish();
  };
  const revise = (name: string, root: DatasetAddress, number: number) => {
    const newer = Array.from({ length: number }, (_, n) => revisionOf(root.dataset, n + 1));
    const metadata = { revisionHistory: historyOf(root.dataset, ...newer) };
    return upload(name, {}, { metadata }, { owner, dataset: revisionOf(root.dataset, number) });
  };

  const shared = await upload('private', {}, TWIN);
  await put(shareKey(shared, reader, 'share-offer.json'), serialiseShare('grant'));
  await put(shareKey(shared, reader, 'share-receipt.json'), serialiseShare('accept'));
  await put(shareKey(shared, other, 'share-offer.json'), serialiseShare('grant'));
  const open = newAddress(owner);
  await upload('public', {}, { metadata: { ...fullMetadataOf(owner, open.dataset), visibility: 'public' } }, open);
  await upload('on one target', {}, { metadata: { installTargets: [PLASMO] } });
  await upload('two files', {}, { files: { 'a.txt': 'PF3D7_1', 'b.txt': 'PF3D7_2' } });
  await upload('imported with warnings', {
    import: { kind: 'success', validation: { basic: ['odd'], community: [] } },
  });
  await upload('rejected upload', {}, { files: { 'genes.csv': 'a,b\n' } }, newAddress());
  await upload('invalid import', { import: INVALID });
  await upload('failed import', { import: BROKEN });
  await upload('refused data', { installData: INVALID });
  await upload('failed install', { installData: BROKEN });
  await upload('refused metadata', { installMeta: INVALID });
  await upload('missing dependency', { installData: { kind: 'missing-dependency', messages: ['build 68'] } });

  await put(objectKey(await upload('deleted'), 'delete-flag'));
  const undeleted = await upload('undeleted');
  await put(objectKey(undeleted, 'delete-flag'));
  await remove(objectKey(undeleted, 'delete-flag'));
  await revise('successor', await upload('superseded'), 1);
  const root = await upload('first of three');
  await revise('second of three', root, 1);
  await revise('third of three', root, 2);
  const gone = await revise('deleted successor', await upload('deleted with its successor'), 1);
  await put(objectKey(gone, 'delete-flag'));
  const trimmed = await upload('trimmed', {}, TWIN);
  await revise('successor of trimmed', trimmed, 1);
  await world.enqueue({ lane: 'hardDelete', ...trimmed, source: 'pruner' });
  await world.finish();

  await upload('packed', {}, TWIN);
  // Last, for its job does not run.
  datasets.set('forgotten', newAddress(owner));
  await world.accept({ ...TWIN, metadata: { name: 'packed' } }, datasets.get('forgotten') ?? newAddress());
  return { datasets, owner, reader };
}

/**
 * What is known to the cache alone is lost with it: warnings of an import that succeeded, and what the targets said of a
 * revision that was taken from them for good. An upload that was not packed yet is packed: it ends as its twin did.
 */
export function rebuilt(before: SiteView, forgotten: DatasetAddress): SiteView {
  const { packed, trimmed, 'imported with warnings': warned, ...others } = before;
  if (!packed || !trimmed || !warned) throw new Error('the site has other datasets');
  const { data: _data, ...sync } = trimmed.record.sync;
  return {
    ...others,
    packed,
    trimmed: { ...trimmed, record: { ...trimmed.record, installs: [], sync } },
    'imported with warnings': {
      ...warned,
      record: { ...warned.record, import: { status: 'complete', messages: [] } },
    },
    forgotten: { ...packed, record: { ...packed.record, ...forgotten } },
  };
}

/** Of two uploads that hold the same, the versions of the objects differ all the same. */
export function withoutVersions(view: DatasetView | undefined): DatasetView | undefined {
  return view && { ...view, record: { ...view.record, sync: {} } };
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);

/** An absent row of the mirror reads `queued`; and files have no order. */
export function datasetView(record: DatasetRecord, files: DatasetFiles, shares: readonly ShareRecord[]): DatasetView {
  const installs = record.installs.filter(({ status, messages }) => status !== 'queued' || messages.length > 0);
  const { upload, install, documents, properties, archives = {} } = files;
  // Digests of documents and property files are known to the cache alone.
  const plain = ({ name, size }: FileEntry): FileEntry => ({ name, size });
  return {
    record: { ...record, installs },
    files: {
      upload: upload.toSorted(byName),
      install: install.toSorted(byName),
      documents: documents.toSorted(byName).map(plain),
      properties: properties.toSorted(byName).map(plain),
    },
    archives: Object.fromEntries(Object.entries(archives).map(([name, { sha256 }]) => [name, sha256])),
    shares,
  };
}
