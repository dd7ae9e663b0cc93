import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../engine/adapters/catalog/catalog-postgres.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { CatalogChange } from '../../../engine/ports/catalog.ts';
import { cacheDatabase, grantLease } from '../../support/cache-database.ts';
import { metadata } from './datasets.ts';
import { OWNER } from './installation.ts';
import { ADMIN_TOKEN, type App, type CallInit, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const ALL = '/admin/reports/datasets/list-all';
const IMPORTS = '/admin/reports/imports/failed';
const INSTALLS = '/admin/reports/installs/failed';
const OTHER = '42' as UserId;

async function setup(t: Test) {
  await db.query('delete from dataset');
  const app = await installerApp(t, db);
  const get = async (path: string, init: CallInit = {}) => {
    const answer = await app.call(undefined, 'GET', path, {
      headers: { 'admin-token': ADMIN_TOKEN, 'api-version': '1.8.0', ...init.headers },
    });
    if (answer.status === 200)
      t.strictSame(responseFaults(schemaOf(app.routes, operationOf(app, path), 200), answer.text), [], path);
    return answer;
  };
  return { app, get };
}

function operationOf(app: App, path: string): string {
  const at = path.split('?')[0];
  return app.routes.find((route) => route.path === at)?.operationId ?? 'reportDataset';
}

/** A dataset made on that day of 2026. */
async function add(
  dataset: string,
  day: number,
  more: Partial<DatasetMetadata> = {},
  ...changes: readonly CatalogChange[]
): Promise<void> {
  const document = { ...metadata(), created: new Date(Date.UTC(2026, 0, day, 12)).toISOString(), ...more };
  const at = { owner: document.owner, dataset: dataset as DatasetId };
  await catalog.register(at, document, changes, await grantLease(db, dataset), signal);
}

const COMPLETE: CatalogChange = { set: 'import', status: 'complete', messages: [] };
const FAILED: CatalogChange = { set: 'import', status: 'failed', messages: ['no disk'] };
const install = (
  target: string,
  kind: 'meta' | 'data',
  status: Extract<CatalogChange, { set: 'install' }>['status'],
): CatalogChange => ({ set: 'install', target: target as never, kind, status, messages: ['why'] });

const TYPED = {
  datasetType: { name: 'genelist', version: '1.0', category: 'Gene List' },
  installTargets: ['PlainSite', 'GenomeSite'],
};
const SHOWN = {
  ...{ visibility: 'private', name: 'My genes', origin: 'direct-upload', summary: 'Genes that I like' },
};

const idsOf = (body: unknown): string[] =>
  ((body as Record<string, { datasetId: string }[]>).results ?? []).map(({ datasetId }) => datasetId);

t.test('all datasets: each with its status, oldest first', async (t) => {
  const { get } = await setup(t);
  const full = { description: 'long', programName: 'Program', projectName: 'Project' } as const;
  await add(
    'b',
    2,
    {
      ...full,
      daysForApproval: 0,
      visibility: 'protected',
      installTargets: ['PlainSite', 'GenomeSite', 'PlainSite'] as never[],
    },
    COMPLETE,
    install('PlainSite', 'data', 'failed-installation'),
  );
  await add('a', 1, {}, { set: 'state', state: 'superseded' }, { set: 'import', status: 'queued', messages: [] });
  await add('c', 3, { owner: OTHER, type: { name: 'unknown', version: '9' } }, { set: 'state', state: 'deleted' });
  const plain = { ...SHOWN, ...TYPED, owner: Number(OWNER), isDeleted: false };
  const queued = { upload: { status: 'success' }, import: { status: 'queued' }, install: [] };
  const expected = [
    { ...plain, datasetId: 'a', created: '2026-01-01T12:00:00.000Z', status: queued },
    {
      ...{ ...plain, ...full, datasetId: 'b', visibility: 'controlled', created: '2026-01-02T12:00:00.000Z' },
      status: {
        ...{ upload: { status: 'success' }, import: { status: 'complete' } },
        install: [
          {
            installTarget: 'PlainSite',
            meta: { status: 'queued' },
            data: { status: 'failed-installation', messages: ['why'] },
          },
          { installTarget: 'GenomeSite', meta: { status: 'queued' }, data: { status: 'queued' } },
        ],
      },
    },
  ];
  const { body, text } = await get(ALL);
  t.strictSame(body, { meta: { count: 2, offset: 0, limit: 100, total: 2 }, results: expected });
  t.match(text, /"owner":9007199254740993/, 'digit for digit');
  t.match((await get(`${ALL}?include_deleted=true`)).body, {
    meta: { count: 3, total: 3 },
    results: [
      { datasetId: 'a' },
      { datasetId: 'b' },
      { datasetId: 'c', owner: 42, isDeleted: true, datasetType: { name: 'unknown', category: 'unknown' } },
    ],
  });
  t.strictSame(idsOf((await get(`${ALL}?include_deleted=false`)).body), ['a', 'b']);
});

t.test('all datasets of a target, in whatever case', async (t) => {
  const { get } = await setup(t);
  await add('a', 1, { installTargets: ['PlainSite'] as never[] });
  await add('b', 2, { installTargets: ['GenomeSite', 'OldSite'] as never[] });
  for (const [asked, expected] of Object.entries({
    PLAINSITE: 'a',
    genomesite: 'b',
    oldsite: 'b',
    nosuchsite: '',
    '': '',
  })) {
    const { body } = await get(`${ALL}?install_target=${asked}`);
    t.strictSame(idsOf(body).join(), expected, asked);
    t.match(body, { meta: { count: expected.length, total: expected.length } }, asked);
  }
});

t.test('all datasets: a page, or everything', async (t) => {
  const { get } = await setup(t);
  const ids = Array.from({ length: 103 }, (_, n) => `d${String(n).padStart(3, '0')}`);
  for (const id of ids) await add(id, 1);
  for (const [query, meta, expected] of [
    ['', { limit: 100, offset: 0 }, ids.slice(0, 100)],
    ['?limit=0', { limit: 0, offset: 0 }, []],
    ['?limit=1&offset=2', { limit: 1, offset: 2 }, ['d002']],
    ['?offset=102', { limit: 100, offset: 102 }, ['d102']],
    ['?offset=103', { limit: 100, offset: 103 }, []],
    ['?limit=-1', { limit: -1, offset: 0 }, ids],
    ['?limit=-1&offset=50', { limit: -1, offset: 0 }, ids],
    [`?limit=${Number.MAX_SAFE_INTEGER}`, { limit: Number.MAX_SAFE_INTEGER, offset: 0 }, ids],
    [`?offset=${Number.MAX_SAFE_INTEGER}`, { limit: 100, offset: Number.MAX_SAFE_INTEGER }, []],
  ] as const) {
    const { body } = await get(ALL + query);
    t.strictSame((body as { meta: object }).meta, { count: expected.length, ...meta, total: 103 }, query);
    t.strictSame(idsOf(body), expected, query);
  }
});

t.test('a page that cannot be is refused by its name', async (t) => {
  const { get } = await setup(t);
  for (const path of [ALL, IMPORTS])
    for (const query of [
      ...['limit=-2', 'limit=1.5', 'limit=ten', 'limit=', 'limit=9007199254740992', 'limit=1&limit=2'],
      ...['offset=-1', 'offset=x', 'offset=9007199254740992', 'page=1'],
    ]) {
      const message = new RegExp(`'${query.split('=')[0]}'`);
      t.match(await get(`${path}?${query}`), { status: 400, body: { status: 'bad-request', message } }, query);
    }
  t.match(await get(`${ALL}?include_deleted=maybe`), { status: 400, body: { message: /include_deleted/ } });
  t.match(await get(`${INSTALLS}?expanded=2`), { status: 400, body: { message: /expanded/ } });
  t.match(await get(`${INSTALLS}?limit=1`), { status: 400 });
});

t.test('one dataset from the inside, deleted or not', async (t) => {
  const { get } = await setup(t);
  const version = (etag: string, modified: string) => ({ etag, modified: new Date(modified) });
  await add(
    'one',
    1,
    { description: 'long' },
    { set: 'state', state: 'deleting' },
    { set: 'import', status: 'complete', messages: ['odd row 7', 'odd row 8'] },
    {
      set: 'uploadFiles',
      files: [
        { name: 'b.txt', size: 2 },
        { name: 'a.txt', size: 1 },
      ],
    },
    { set: 'installFiles', files: [{ name: 'made.tsv', size: 3 }] },
    { set: 'sync', part: 'meta', version: version('m', '2026-02-03T04:05:06.789Z') },
    { set: 'sync', part: 'data', version: version('d', '2026-02-04T04:05:06.789Z') },
  );
  const { status, body } = await get('/admin/reports/datasets/one');
  const { inserted, ...rest } = body as { inserted: string };
  t.equal(status, 200);
  t.ok(Math.abs(Date.parse(inserted) - Date.now()) < 600_000);
  t.strictSame(rest, {
    ...{ ...SHOWN, ...TYPED, owner: Number(OWNER), isDeleted: true, description: 'long' },
    ...{ created: '2026-01-01T12:00:00.000Z', status: 'complete', importMessages: ['odd row 7', 'odd row 8'] },
    syncControl: {
      sharesUpdateTime: '1970-01-01T00:00:00.000Z',
      dataUpdateTime: '2026-02-04T04:05:06.789Z',
      metaUpdateTime: '2026-02-03T04:05:06.789Z',
    },
    ...{ uploadFiles: ['a.txt', 'b.txt'], installFiles: ['made.tsv'] },
  });
  await add('two', 2, {}, { set: 'upload', status: 'rejected', message: 'zip: encrypted' });
  t.match((await get('/admin/reports/datasets/two')).body, {
    status: 'queued',
    importMessages: [],
    isDeleted: false,
    uploadFiles: [],
    installFiles: [],
  });
});

t.test('a dataset that is not there is not found, one that cannot be is refused', async (t) => {
  const { get } = await setup(t);
  await add('received', 1, {}, { set: 'state', state: 'receiving' });
  for (const id of ['unknown', 'received', 'x'.repeat(64)])
    t.match(await get(`/admin/reports/datasets/${id}`), { status: 404, body: { status: 'not-found' } }, id);
  for (const id of ['.b', 'a%20b', '%C3%A9', 'x'.repeat(65)])
    t.match(await get(`/admin/reports/datasets/${id}`), { status: 400, body: { status: 'bad-request' } }, id);
});

t.test('failed imports, newest first, without those that users have to mend', async (t) => {
  const { get } = await setup(t);
  const sited = { ...TYPED, installTargets: ['GenomeSite', 'PlainSite'] };
  await add('old', 1, { installTargets: sited.installTargets as never[] }, FAILED);
  await add('new', 3, { owner: OTHER }, { ...FAILED, messages: ['a', 'b'] } as CatalogChange);
  await add('invalid', 2, {}, { set: 'import', status: 'invalid', messages: ['bad'] });
  await add('fine', 2, {}, COMPLETE);
  await add('gone', 2, {}, FAILED, { set: 'state', state: 'deleted' });
  t.strictSame((await get(IMPORTS)).body, {
    meta: { count: 2, limit: 100, offset: 0 },
    results: [
      { ...sited, datasetId: 'new', owner: 42, messages: ['a', 'b'] },
      { ...sited, datasetId: 'old', owner: Number(OWNER), messages: ['no disk'] },
    ],
  });
  t.strictSame(idsOf((await get(`${IMPORTS}?sort=date&order=asc`)).body), ['old', 'new']);
  t.strictSame(idsOf((await get(`${IMPORTS}?limit=-1&offset=1`)).body), ['new', 'old'], 'all of them');
  const page = await get(`${IMPORTS}?limit=1&offset=1`);
  t.match(page.body, { meta: { count: 1, limit: 1, offset: 1 }, results: [{ datasetId: 'old' }] });
});

t.test('failed imports of a user, digit for digit', async (t) => {
  const { get } = await setup(t);
  await add('mine', 1, {}, FAILED);
  await add('next', 2, { owner: '9007199254740992' as UserId }, FAILED);
  const { text, body } = await get(`${IMPORTS}?user=${OWNER}`);
  t.strictSame(idsOf(body), ['mine']);
  t.match(text, `"user":${OWNER}`);
  t.match((await get(`${IMPORTS}?user=9223372036854776000`)).text, '"user":9223372036854776000');
  t.match((await get(`${IMPORTS}?user=1`)).body, { meta: { count: 0, user: 1 }, results: [] });
  for (const user of ['0', '-1', '1.0', 'me', '', '9223372036854776001', '01', '99999999999999999999'])
    t.match(await get(`${IMPORTS}?user=${user}`), { status: 400, body: { message: /'user' is/ } }, user);
});

t.test('failed imports of a time: a date, or the beginning of a moment', async (t) => {
  const { get } = await setup(t);
  for (const day of [1, 2, 3]) await add(`day${day}`, day, {}, FAILED);
  for (const [query, meta, expected] of [
    ['after=2026-01-02', { after: '2026-01-02' }, ['day3', 'day2']],
    ['before=2026-01-02', { before: '2026-01-02' }, ['day1']],
    ['after=2026-01-02T12:00:00', { after: '2026-01-02T12:00:00' }, ['day3', 'day2']],
    ['after=2026-01-02T12:00:01', {}, ['day3']],
    ['before=2026-01-02T12:00:00', {}, ['day1']],
    ['before=2026-01-02T12:00:01', {}, ['day2', 'day1']],
    ['after=2026-01-02T13', { after: '2026-01-02T13' }, ['day3']],
    ['after=2026-01-02T', {}, ['day3', 'day2']],
    ['after=2026-01-02&before=2026-01-03', { after: '2026-01-02', before: '2026-01-03' }, ['day2']],
    ['after=2026-01-03&before=2026-01-02', {}, []],
    ['after=2028-02-29', {}, []],
  ] as const) {
    const { body } = await get(`${IMPORTS}?${query}`);
    t.strictSame(idsOf(body), expected, query);
    t.match(body, { meta: { count: expected.length, ...meta } }, query);
  }
  for (const text of [
    ...['2026-01-0', '2026-1-01', '2026-02-29', '2026-13-01', '0000-01-01', '2026-01-02 03', '2026-01-02T24', ''],
    ...['2026-01-02T3:04', '2026-01-02T03:60', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678Z', 'yesterday!'],
  ])
    for (const name of ['before', 'after'])
      t.match(
        await get(`${IMPORTS}?${name}=${encodeURIComponent(text)}`),
        { status: 400, body: { status: 'bad-request', message: new RegExp(`'${name}' is`) } },
        text,
      );
  t.match(await get(`${IMPORTS}?sort=name`), { status: 400, body: { message: /'sort' is 'name': one of date/ } });
  t.match(await get(`${IMPORTS}?order=up`), { status: 400, body: { message: /'order' is 'up': one of asc, desc/ } });
});

t.test('failed installs: of metadata or data, for no fault of the user’s', async (t) => {
  const { get } = await setup(t);
  t.strictSame((await get(INSTALLS)).body, { details: [] });
  t.strictSame((await get(`${INSTALLS}?expanded=false`)).body, { ids: [] });
  await add('data', 1, {}, COMPLETE, install('PlainSite', 'data', 'failed-installation'));
  await add('meta', 2, { owner: OTHER }, COMPLETE, install('GenomeSite', 'meta', 'failed-installation'));
  await add('user', 3, {}, COMPLETE, install('PlainSite', 'data', 'failed-validation'));
  await add('waits', 3, {}, COMPLETE, install('PlainSite', 'data', 'missing-dependency'));
  await add('gone', 3, {}, COMPLETE, install('PlainSite', 'data', 'failed-installation'), {
    set: 'state',
    state: 'deleted',
  });
  const status = (...targets: readonly (readonly [string, object, object])[]) => ({
    upload: { status: 'success' },
    import: { status: 'complete' },
    install: targets.map(([installTarget, meta, data]) => ({ installTarget, meta, data })),
  });
  const queued = { status: 'queued' };
  const failed = { status: 'failed-installation', messages: ['why'] };
  const details = [
    {
      ...{ ...TYPED, datasetId: 'meta', owner: 42 },
      status: status(['PlainSite', queued, queued], ['GenomeSite', failed, queued]),
    },
    {
      ...{ ...TYPED, datasetId: 'data', owner: Number(OWNER) },
      status: status(['PlainSite', queued, failed], ['GenomeSite', queued, queued]),
    },
  ];
  t.strictSame((await get(INSTALLS)).body, { details });
  t.strictSame((await get(`${INSTALLS}?expanded=true`)).body, { details });
  t.strictSame((await get(`${INSTALLS}?expanded=false`)).body, { ids: ['meta', 'data'] });
});
