// What every DatasetIndex does.

import type { Test } from 'tap';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import {
  DATASET_STATES,
  IMPORT_STATUSES,
  type ImportStatus,
  UPLOAD_STATUSES,
  type UploadStatus,
} from '../../engine/model/status.ts';
import { type Catalog, type CatalogChange, type DatasetIndex, RETIRED_STATES } from '../../engine/ports/catalog.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';
import { storeOrderConformance } from './store-order.ts';

export interface DatasetIndexSetup {
  /** Knows no dataset yet. */
  readonly index: DatasetIndex;
  readonly catalog: Catalog;
  readonly uploads: Uploads;
  /** Adds a row to the job table. */
  readonly addJob: (at: DatasetAddress, state: 'queued' | 'delayed' | 'dead') => Promise<void>;
  /** The lease of that name, taken from its holder if it has one. */
  readonly grant: (name: string) => Promise<Lease>;
}

export function datasetIndexConformance(t: Test, setup: (t: Test) => Promise<DatasetIndexSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { index, catalog, uploads, addJob, grant } = await setup(t);
    const add = async (at: DatasetAddress, more: Parameters<typeof metadataOf>[1] = {}, ...changes: CatalogChange[]) =>
      catalog.register(at, metadataOf(at.owner, more), changes, await grant(at.dataset), signal);
    const remove = async ({ dataset }: DatasetAddress) => catalog.remove(dataset, await grant(dataset), signal);
    const stateOf = async (dataset: DatasetId) => (await catalog.find(dataset, signal))?.state;
    return { index, catalog, uploads, addJob, add, remove, stateOf };
  };

  storeOrderConformance(t, open);

  t.test('a page says what the cache knows of each dataset', async (t) => {
    const { index, add } = await open(t);
    const owner = newUser();
    const [fresh, old] = [newAddress(owner), newAddress(owner)];
    const version = (etag: string) => ({ modified: new Date('2026-03-04T05:06:07.089Z'), etag });
    await add(fresh);
    await add(
      old,
      { type: { name: 'rnaseq', version: '2.1' }, installTargets: [TOXO, PLASMO, TOXO] },
      { set: 'state', state: 'deleting' },
      { set: 'upload', status: 'rejected', message: 'zip: encrypted' },
      { set: 'import', status: 'in-progress', messages: [] },
      { set: 'sync', part: 'shares', version: version('three') },
      { set: 'sync', part: 'meta', version: version('one') },
      { set: 'sync', part: 'data', version: version('two') },
    );
    const page = [...(await index.page(undefined, 10, signal))];
    const byDataset = (a: DatasetAddress, b: DatasetAddress) => (a.dataset < b.dataset ? -1 : 1);
    t.strictSame(
      page,
      [
        {
          ...fresh,
          state: 'live',
          type: { name: 'genelist', version: '1.0' },
          installTargets: [PLASMO],
          upload: 'success',
          import: 'queued',
          sync: {},
        },
        {
          ...old,
          state: 'deleting',
          type: { name: 'rnaseq', version: '2.1' },
          installTargets: [PLASMO, TOXO],
          upload: 'rejected',
          import: 'in-progress',
          sync: { meta: version('one'), data: version('two'), shares: version('three') },
        },
      ].sort(byDataset),
    );
  });

  t.test('a dataset that is being received is no row', async (t) => {
    const { index, uploads, add } = await open(t);
    const [received, known, unaccepted] = [newAddress(), newAddress(), newAddress()];
    t.equal(await uploads.begin(received, 10, { bytes: 1_000 }, signal), 'begun');
    await add(known);
    await add(unaccepted, {}, { set: 'state', state: 'receiving' });
    t.strictSame(
      Array.from(await index.page(undefined, 10, signal), ({ dataset }) => dataset),
      [known.dataset],
    );
    await uploads.abandon(received.dataset, signal);
  });

  t.test('forgotten is a live dataset whose upload or import has not ended, and that has no job', async (t) => {
    const { index, add, addJob } = await open(t);
    const upload = (status: UploadStatus) => ({ set: 'upload', status }) as const;
    const imported = (status: ImportStatus) => ({ set: 'import', status, messages: [] }) as const;
    const expected: [string, UploadStatus, ImportStatus][] = [];
    for (const status of UPLOAD_STATUSES)
      for (const importStatus of IMPORT_STATUSES) {
        const at = newAddress();
        await add(at, {}, upload(status), imported(importStatus));
        const isOpen = importStatus === 'queued' || importStatus === 'in-progress';
        if ((status === 'running' || status === 'success') && isOpen) expected.push([at.dataset, status, importStatus]);
      }
    for (const state of DATASET_STATES.filter((known) => known !== 'live'))
      await add(newAddress(), {}, { set: 'state', state });
    for (const state of ['queued', 'delayed', 'dead'] as const) {
      const at = newAddress();
      await add(at);
      await addJob(at, state);
      if (state === 'dead') expected.push([at.dataset, 'success', 'queued']);
    }
    const found = await index.forgotten(undefined, 100, signal);
    t.strictSame(
      found.map((known) => [known.dataset, known.upload, known.import]),
      expected.sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    t.match(found[0], {
      state: 'live',
      type: { name: 'genelist', version: '1.0' },
      installTargets: [PLASMO],
      sync: {},
    });
  });

  t.test('the forgotten come in the order of their ids, in pages of any size', async (t) => {
    const { index, add } = await open(t);
    const ids = ['-x', 'A', 'B_1', '_', 'a', 'a_1', 'b'] as DatasetId[];
    for (const dataset of ids.toReversed()) await add({ owner: newUser(), dataset });
    for (const limit of [1, 2, 3, 1_000]) {
      const all: DatasetId[] = [];
      for (;;) {
        const page = await index.forgotten(all.at(-1), limit, signal);
        all.push(...page.map(({ dataset }) => dataset));
        if (page.length < limit) break;
      }
      t.strictSame(all, ids, `pages of ${limit}`);
    }
    await t.rejects(index.forgotten(undefined, 1, AbortSignal.abort()), { name: 'AbortError' });
  });

  t.test('the retired of one state come in the order of their ids, owners mixed', async (t) => {
    const { index, add } = await open(t);
    const ids = ['-x', 'A', 'B_1', '_', 'a', 'a_1', 'b'] as DatasetId[];
    const owners = ids.map(() => newUser());
    const expected = ids.map((dataset, i) => ({
      owner: owners[i] as (typeof owners)[number],
      dataset,
      state: 'deleted' as const,
      installTargets: [PLASMO, TOXO],
    }));
    for (const { owner, dataset } of expected.toReversed())
      await add({ owner, dataset }, { installTargets: [TOXO, PLASMO] }, { set: 'state', state: 'deleted' });
    for (const limit of [1, 2, 3, 1_000]) {
      const all: (typeof expected)[number][] = [];
      for (let after: DatasetId | undefined; ; after = all.at(-1)?.dataset) {
        const page = await index.retired('deleted', after, limit, signal);
        all.push(...(page as typeof expected));
        if (page.length < limit) break;
      }
      t.strictSame(all, expected, `pages of ${limit}`);
    }
    await t.rejects(index.retired('deleted', undefined, 1, AbortSignal.abort()), { name: 'AbortError' });
  });

  t.test('each retired state has its own list; what is live or on its way out is in none', async (t) => {
    const { index, add } = await open(t);
    for (const state of DATASET_STATES)
      await add({ owner: newUser(), dataset: state as never }, {}, { set: 'state', state });
    for (const state of RETIRED_STATES) {
      const found = await index.retired(state, undefined, 10, signal);
      t.strictSame(
        found.map(({ dataset, state: said }) => [dataset, said]),
        [[state, state]],
      );
    }
  });

  t.test('pruning begins from deleted alone, and once', async (t) => {
    const { index, add, stateOf } = await open(t);
    for (const state of DATASET_STATES) {
      const { owner, dataset } = newAddress();
      await add({ owner, dataset }, {}, { set: 'state', state });
      t.same(
        await index.beginPruning([dataset], signal),
        new Map(state === 'deleted' ? [[dataset, 'begun']] : []),
        state,
      );
      t.equal(await stateOf(dataset), state === 'deleted' ? 'pruning' : state);
      t.same(await index.beginPruning([dataset], signal), new Map());
    }
    t.same(await index.beginPruning([newAddress().dataset], signal), new Map());
    t.same(await index.beginPruning([], signal), new Map());
  });

  t.test('of several datasets, pruning begins for those that are deleted', async (t) => {
    const { index, add } = await open(t);
    const all = DATASET_STATES.map((state) => ({ ...newAddress(), state }));
    const other = { ...newAddress(), state: 'deleted' } as const;
    for (const { state, ...at } of [...all, other]) await add(at, {}, { set: 'state', state });
    const asked = [...all, other].map(({ dataset }) => dataset);
    const deleted = [...all, other].flatMap(({ state, dataset }) => (state === 'deleted' ? [dataset] : []));
    t.same([...(await index.beginPruning(asked, signal)).keys()].sort(), deleted.sort());
  });

  t.test('an aborted signal begins no pruning', async (t) => {
    const { index, add, stateOf } = await open(t);
    const at = newAddress();
    await add(at, {}, { set: 'state', state: 'deleted' });
    await t.rejects(index.beginPruning([at.dataset], AbortSignal.abort()), { name: 'AbortError' });
    t.equal(await stateOf(at.dataset), 'deleted');
  });
}
