// What every DatasetReports does.

import type { Test } from 'tap';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { DATASET_STATES, IMPORT_STATUSES, INSTALL_STATUSES } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, InstallRecord } from '../../engine/ports/catalog.ts';
import {
  DATASET_STATUSES,
  type DatasetReports,
  type FailedImportFilter,
  type ReportFilter,
  type ReportPage,
} from '../../engine/ports/dataset-queries.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import { fullMetadataOf, metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';

export interface DatasetReportsSetup<Reports extends Pick<DatasetReports, 'stuckInstalls'> = DatasetReports> {
  /** Knows no dataset yet. */
  readonly reports: Reports;
  readonly catalog: Catalog;
  /** The lease of that name, taken from its holder if it has one. */
  readonly grant: (name: string) => Promise<Lease>;
}

const ALL: ReportPage = { offset: 0 };
const EVERY: ReportFilter = { includeDeleted: true };

/** Pages that a listing of `length` is cut into, with where they are in it. */
const PAGES: readonly ReportPage[] = [0, 1, 3, 150, undefined].flatMap((limit) =>
  [0, 1, 130, 1_000].map((offset) => ({ offset, ...(limit === undefined ? {} : { limit }) })),
);
const cut = <Item>(items: readonly Item[], { offset, limit }: ReportPage): readonly Item[] =>
  items.slice(offset, limit === undefined ? undefined : offset + limit);

const signal = new AbortController().signal;

const adding =
  ({ catalog, grant }: Omit<DatasetReportsSetup, 'reports'>) =>
  async (at: DatasetAddress, more: Partial<DatasetMetadata> = {}, ...changes: CatalogChange[]): Promise<void> =>
    catalog.register(at, metadataOf(at.owner, more), changes, await grant(at.dataset), signal);

export function stuckInstallsConformance(
  t: Test,
  setup: (t: Test) => Promise<DatasetReportsSetup<Pick<DatasetReports, 'stuckInstalls'>>>,
): void {
  const open = async (t: Test) => {
    const opened = await setup(t);
    return { ...opened, add: adding(opened) };
  };

  t.test('stuck installs: each live dataset once, with the first of its targets', async (t) => {
    const { reports, add } = await open(t);
    const install = (
      target: typeof PLASMO,
      kind: InstallRecord['kind'],
      status: InstallRecord['status'] = 'failed-installation',
    ): CatalogChange => ({ set: 'install', target, kind, status, messages: ['why'] });
    const made: readonly (readonly [string, readonly CatalogChange[]])[] = [
      ['a', [install(TOXO, 'data')]],
      ['b', [install(PLASMO, 'meta')]],
      ['c', [install(TOXO, 'meta'), install(PLASMO, 'meta'), install(PLASMO, 'data'), install(TOXO, 'data')]],
      ['d', [install(PLASMO, 'data', 'missing-dependency'), install(TOXO, 'meta')]],
      ...INSTALL_STATUSES.map((status) => [status, [install(PLASMO, 'data', status)]] as const),
      ...DATASET_STATES.filter((state) => state !== 'live').map(
        (state) => [state, [install(PLASMO, 'data'), { set: 'state', state }]] as const,
      ),
    ];
    for (const [dataset, changes] of made)
      await add({ owner: newUser(), dataset: dataset as DatasetId }, {}, ...changes);
    t.strictSame(await ids(reports.stuckInstalls('failed-installation', signal)), [
      'b',
      'c',
      'failed-installation',
      'a',
      'd',
    ]);
    const missing = [];
    for await (const record of reports.stuckInstalls('missing-dependency', signal)) missing.push(record);
    t.strictSame(
      missing.map(({ dataset }) => dataset),
      ['d', 'missing-dependency'],
    );
    t.strictSame(missing[0]?.installs, [
      { target: PLASMO, kind: 'data', status: 'missing-dependency', messages: ['why'] },
      { target: TOXO, kind: 'meta', status: 'failed-installation', messages: ['why'] },
    ]);
  });

  t.test('stuck installs may be mended while they are listed', async (t) => {
    const { reports, catalog, grant, add } = await open(t);
    const all = Array.from({ length: 230 }, (_, n) => `d${String(n).padStart(3, '0')}` as DatasetId);
    const stuck = {
      set: 'install',
      target: PLASMO,
      kind: 'data',
      status: 'failed-installation',
      messages: [],
    } as const;
    for (const dataset of all) await add({ owner: newUser(), dataset }, {}, stuck);
    const seen: DatasetId[] = [];
    for await (const { dataset } of reports.stuckInstalls('failed-installation', signal)) {
      seen.push(dataset);
      await catalog.write(dataset, await grant(dataset), [{ ...stuck, status: 'ready-for-reinstall' }], signal);
    }
    t.strictSame(seen, all);
  });
}

export function datasetReportsConformance(t: Test, setup: (t: Test) => Promise<DatasetReportsSetup>): void {
  const open = async (t: Test) => {
    const { reports, catalog, grant } = await setup(t);
    const add = adding({ catalog, grant });
    const all = (filter: ReportFilter, page = ALL) => ids(reports.all(filter, page, signal));
    const failed = (filter: Partial<FailedImportFilter>, page = ALL) =>
      ids(reports.failedImports({ order: 'asc', ...filter }, page, signal));
    return { reports, catalog, grant, add, all, failed };
  };

  stuckInstallsConformance(t, setup);

  t.test('all datasets come in the order of creation, then of ids, whatever page is asked for', async (t) => {
    const { reports, add, all } = await open(t);
    const days = Array.from({ length: 140 }, (_, n) => `2020-01-01T00:00:00.${String((n * 7) % 10).padStart(3, '0')}Z`);
    const added = days.map((created) => ({ ...newAddress(), created }));
    for (const { created, ...at } of added) await add(at, { created });
    const place = ({ created, dataset }: (typeof added)[number]): string => `${created} ${dataset}`;
    const expected = added.sort((a, b) => (place(a) < place(b) ? -1 : 1)).map(({ dataset }) => dataset);
    for (const page of PAGES) {
      t.strictSame(await all(EVERY, page), cut(expected, page), JSON.stringify(page));
      t.strictSame(await all({ ...EVERY, target: PLASMO }, page), cut(expected, page), JSON.stringify(page));
    }
    t.equal(await reports.count(EVERY, signal), 140);
  });

  t.test('deleted datasets are there when asked for; what is being received never is', async (t) => {
    const { reports, add, all } = await open(t);
    for (const state of DATASET_STATES)
      await add({ owner: newUser(), dataset: state as never }, {}, { set: 'state', state });
    for (const target of [undefined, PLASMO]) {
      const named = target === undefined ? {} : { target };
      for (const [includeDeleted, states] of [
        [false, ['live', 'superseded']],
        [true, ['deleted', 'deleting', 'live', 'pruning', 'superseded']],
      ] as const) {
        t.strictSame((await all({ includeDeleted, ...named })).sort(), states);
        t.equal(await reports.count({ includeDeleted, ...named }, signal), states.length);
      }
    }
  });

  t.test('those of one target are found in whatever case it is written', async (t) => {
    const { reports, add, all } = await open(t);
    const odd = 'PLASMOSITE' as typeof PLASMO;
    const made: readonly (readonly [string, readonly (typeof PLASMO)[]])[] = [
      ['a', [PLASMO]],
      ['b', [TOXO]],
      ['c', [TOXO, odd, PLASMO]],
      ['d', []],
    ];
    for (const [dataset, installTargets] of made)
      await add({ owner: newUser(), dataset: dataset as DatasetId }, { installTargets });
    for (const [target, expected] of [
      [PLASMO, ['a', 'c']],
      ['plasmosite', ['a', 'c']],
      ['toXoSite', ['b', 'c']],
      ['plasmo', []],
      ['%', []],
      ['', []],
    ] as const) {
      t.strictSame(await all({ target, includeDeleted: false }), expected, target);
      t.equal(await reports.count({ target, includeDeleted: false }, signal), expected.length, target);
    }
  });

  t.test('all datasets are narrowed by owner, name, type, status and change, page by page', async (t) => {
    const { reports, add, all } = await open(t);
    const [owner, tenfold] = ['77', '770'] as unknown as [ReturnType<typeof newUser>, ReturnType<typeof newUser>];
    const rna = { type: { name: 'rnaseq', version: '2.0' }, installTargets: [TOXO] };
    for (const [dataset, user, created, more, ...changes] of [
      ['a', owner, '2026-01-03T00:00:00.000Z', { name: 'Some Genes' }],
      ['b', owner, '2026-01-02T00:00:00.000Z', rna],
      ['c', owner, '2026-01-01T00:00:00.000Z', {}, { set: 'import', status: 'failed', messages: [] }],
      ['d', owner, '2026-01-04T00:00:00.000Z', {}, { set: 'state', state: 'deleted' }],
      ['e', tenfold, '2026-01-05T00:00:00.000Z', rna],
    ] as const)
      await add({ owner: user, dataset: dataset as DatasetId }, { name: 'x', created, ...more }, ...changes);
    for (const [filter, expected] of [
      [{ owner }, ['c', 'b', 'a']],
      [{ owner, includeDeleted: true }, ['c', 'b', 'a', 'd']],
      [{ owner: tenfold }, ['e']],
      [{ owner: newUser() }, []],
      [{ name: 'GENES' }, ['a']],
      [{ type: { name: 'rnaseq' } }, ['b', 'e']],
      [{ type: { name: 'rnaseq', version: '1.0' } }, []],
      [{ type: { name: 'rnaseq' }, owner, target: 'toxosite' }, ['b']],
      [{ owner, target: 'toxo' }, []],
      [{ status: 'failed' }, ['c']],
      [{ status: 'importing', owner }, ['b', 'a']],
      [{ owner, updatedSince: new Date(0) }, ['c', 'b', 'a']],
      [{ updatedSince: new Date('2100-01-01') }, []],
    ] as const) {
      const narrowed = { includeDeleted: false, ...filter };
      for (const page of PAGES)
        t.strictSame(await all(narrowed, page), cut(expected, page), JSON.stringify([filter, page]));
      t.equal(await reports.count(narrowed, signal), expected.length, JSON.stringify(filter));
    }
  });

  t.test('one is found with all that is known of it', async (t) => {
    const { reports, catalog, grant } = await open(t);
    const at = newAddress();
    const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'one' };
    const changes: CatalogChange[] = [
      { set: 'state', state: 'deleted' },
      { set: 'import', status: 'invalid', messages: ['bad row'] },
      { set: 'sync', part: 'data', version },
      { set: 'install', target: TOXO, kind: 'data', status: 'running', messages: ['a', 'b'] },
    ];
    await catalog.register(at, fullMetadataOf(at.owner, at.dataset), changes, await grant(at.dataset), signal);
    const known = await catalog.find(at.dataset, signal);
    const { inserted, ...found } = (await reports.find(at.dataset, signal)) ?? {};
    t.strictSame(found, known);
    t.ok(inserted instanceof Date);
    for await (const record of reports.all(EVERY, ALL, signal)) t.strictSame(record, known);
    const receiving = newAddress();
    await catalog.register(
      receiving,
      metadataOf(receiving.owner),
      [{ set: 'state', state: 'receiving' }],
      await grant(receiving.dataset),
      signal,
    );
    for (const dataset of [receiving.dataset, newAddress().dataset])
      t.equal(await reports.find(dataset, signal), undefined);
  });

  t.test('imports that failed are listed, those that are invalid or gone are not', async (t) => {
    const { reports, add } = await open(t);
    const failed: CatalogChange = { set: 'import', status: 'failed', messages: ['no disk', 'no memory'] };
    for (const status of IMPORT_STATUSES)
      await add({ owner: newUser(), dataset: status as never }, {}, { ...failed, status });
    for (const state of DATASET_STATES)
      if (state !== 'live')
        await add({ owner: newUser(), dataset: state as never }, {}, failed, { set: 'state', state });
    const at = { owner: newUser(), dataset: 'full' as DatasetId };
    await add(at, { type: { name: 'rnaseq', version: '2' }, installTargets: [TOXO, PLASMO, TOXO] }, failed);
    const found = [];
    for await (const entry of reports.failedImports({ order: 'asc' }, ALL, signal)) found.push(entry);
    t.strictSame(
      found.map(({ dataset }) => dataset),
      ['failed', 'full'],
    );
    t.strictSame(found[1], {
      ...at,
      type: { name: 'rnaseq', version: '2' },
      installTargets: [PLASMO, TOXO],
      messages: ['no disk', 'no memory'],
    });
  });

  t.test('failed imports are narrowed by owner and time, in either order, page by page', async (t) => {
    const { add, failed } = await open(t);
    const [mine, other] = [newUser(), newUser()];
    const change: CatalogChange = { set: 'import', status: 'failed', messages: [] };
    const all = Array.from({ length: 135 }, (_, n) => `d${String(n).padStart(3, '0')}` as DatasetId);
    for (const [n, dataset] of all.entries())
      await add(
        { owner: n % 5 === 0 ? mine : other, dataset },
        { created: new Date(Date.UTC(2026, 0, 1, Math.floor(n / 2))).toISOString() },
        change,
      );
    for (const page of PAGES) {
      t.strictSame(await failed({}, page), cut(all, page), JSON.stringify(page));
      t.strictSame(await failed({ order: 'desc' }, page), cut(all.toReversed(), page), JSON.stringify(page));
    }
    t.strictSame(
      await failed({ owner: mine }),
      all.filter((_, n) => n % 5 === 0),
    );
    t.strictSame(await failed({ owner: newUser() }), []);
    const noon = new Date(Date.UTC(2026, 0, 1, 12));
    t.strictSame(await failed({ before: noon }), all.slice(0, 24), 'before is without the moment itself');
    t.strictSame(await failed({ after: noon }), all.slice(24), 'after is with it');
    const later = new Date(noon.getTime() + 1);
    t.strictSame(await failed({ after: noon, before: later }), ['d024', 'd025']);
    t.strictSame(await failed({ after: noon, before: later, order: 'desc', owner: mine }, { offset: 0, limit: 9 }), [
      'd025',
    ]);
    t.strictSame(await failed({ after: later, before: noon }), []);
  });

  t.test('every dataset is counted once: by its upload, then by its import, then by what ended it', async (t) => {
    const { reports, add } = await open(t);
    t.strictSame(new Map(await reports.statuses(signal)), new Map());
    const one = (): DatasetAddress => newAddress();
    for (const state of DATASET_STATES) await add(one(), {}, { set: 'state', state });
    for (const status of ['running', 'rejected', 'failed'] as const)
      await add(one(), {}, { set: 'upload', status, message: status });
    for (const status of IMPORT_STATUSES) await add(one(), {}, { set: 'import', status, messages: [] });
    const counts = await reports.statuses(signal);
    t.strictSame(
      [...counts].sort(([a], [b]) => (a < b ? -1 : 1)),
      [...DATASET_STATUSES].sort().map((status) => [status, status === 'queued' ? 2 : 1]),
    );
  });

  t.test('an aborted signal ends everything', async (t) => {
    const { reports } = await open(t);
    const gone = AbortSignal.abort();
    const aborted = { name: 'AbortError' };
    await t.rejects(reports.count(EVERY, gone), aborted);
    await t.rejects(reports.find(newAddress().dataset, gone), aborted);
    await t.rejects(reports.statuses(gone), aborted);
    await t.rejects(ids(reports.all(EVERY, ALL, gone)), aborted);
    await t.rejects(ids(reports.failedImports({ order: 'asc' }, ALL, gone)), aborted);
    await t.rejects(ids(reports.stuckInstalls('failed-installation', gone)), aborted);
  });
}

async function ids(found: AsyncIterable<DatasetAddress>): Promise<DatasetId[]> {
  const all: DatasetId[] = [];
  for await (const { dataset } of found) all.push(dataset);
  return all;
}
