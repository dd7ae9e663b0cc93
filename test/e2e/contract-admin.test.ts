// The contract of the installer on the running program: reports and operations of administrators, authentication, and what errors look like.

import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { checkApiPage } from '../contract/api-page.ts';
import { type Answer, details, idOf, type Part } from '../contract/client.ts';
import { held } from '../contract/held.ts';
import { ended, inCache } from '../contract/watch.ts';
import { GUEST, OWNER, TARGETS, world } from '../contract/world.ts';
import { queryTarget } from '../support/sites.ts';

const at = await world(t);
const { dir, owner, friend, guest, nobody, admin, row } = at;

const part = (body: object): Part => ['details', JSON.stringify(body)];
const GENES: Part = ['dataFile', 'PF3D7_0100100\n', 'genes.txt'];
const make = async (file: string, more: object = {}): Promise<string> => {
  const id = await owner.upload(details(more), file);
  await ended(dir, id);
  return id;
};
const FULL = { description: 'At length', programName: 'Program', projectName: 'Project' };
const sound = await make('genes.txt', { ...FULL, installTargets: [TARGETS.other, TARGETS.second] });
const invalid = await make('invalid-import.txt');
const brokenImport = await make('broken-import.txt');
const brokenInstall = await make('broken-install.txt');
const deleted = await make('genes.txt');
await owner.send('DELETE', `/datasets/${deleted}`);
await ended(dir, deleted);

type Entry = Readonly<Record<string, unknown>>;
interface Page {
  readonly meta: Entry;
  readonly results: readonly Entry[];
}
const page = async (path: string): Promise<Page> => (await admin.get(`/admin/reports/${path}`)).body as Page;
const ids = ({ results }: Page): readonly unknown[] => results.map(({ datasetId }) => datasetId);
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const TYPE = { name: 'genes', version: '1.0', category: 'The genes' };
const done = { status: 'complete' };
const BASE = {
  owner: Number(OWNER),
  datasetType: TYPE,
  visibility: 'private',
  name: 'My genes',
  origin: 'direct-upload',
  installTargets: [TARGETS.other, TARGETS.second],
  created: INSTANT,
  isDeleted: false,
  summary: 'Genes that I like',
  description: 'At length',
};

const LIST = 'datasets/list-all';
row('endpoints/GET /admin/reports/datasets/list-all', async (t) => {
  t.same(ids(await page(LIST)), [sound, invalid, brokenImport, brokenInstall]);
  t.same(ids(await page(`${LIST}?include_deleted=true`)), [sound, invalid, brokenImport, brokenInstall, deleted]);
  t.same(ids(await page(`${LIST}?install_target=${TARGETS.second.toLowerCase()}`)), [sound], 'in any case');
  const { meta, results } = await page(`${LIST}?limit=2&offset=1`);
  t.same(meta, { count: 2, offset: 1, limit: 2, total: 4 });
  t.same(ids({ meta, results }), [invalid, brokenImport]);
});
row('admin/all-datasets entry', async (t) => {
  const [entry] = (await page(LIST)).results;
  const status = {
    upload: { status: 'success' },
    import: done,
    install: BASE.installTargets.map((installTarget) => ({ installTarget, meta: done, data: done })),
  };
  const { programName, projectName } = FULL;
  t.match(entry, { ...BASE, datasetId: sound, status, programName, projectName });
});
row('endpoints/GET /admin/reports/datasets/{vdi-id}', async (t) => {
  t.equal((await admin.get(`/admin/reports/datasets/${sound}`)).status, 200);
  t.match((await admin.get(`/admin/reports/datasets/${deleted}`)).body, { isDeleted: true });
});
row('admin/internal dataset details', async (t) => {
  t.match((await admin.get(`/admin/reports/datasets/${sound}`)).body, {
    ...BASE,
    inserted: INSTANT,
    status: 'complete',
    importMessages: [],
    syncControl: { sharesUpdateTime: INSTANT, dataUpdateTime: INSTANT, metaUpdateTime: INSTANT },
    uploadFiles: ['genes.txt'],
    installFiles: ['genes.txt'],
  });
});

const FAILED = 'imports/failed';
row('endpoints/GET /admin/reports/imports/failed', async (t) => {
  const later = await make('broken-import-again.txt');
  t.same(ids(await page(FAILED)), [later, brokenImport], 'newest first');
  t.same(ids(await page(`${FAILED}?sort=date&order=asc`)), [brokenImport, later]);
  t.same(ids(await page(`${FAILED}?user=${OWNER}&limit=1&offset=1`)), [brokenImport]);
  t.same(ids(await page(`${FAILED}?user=77`)), []);
  t.match((await page(`${FAILED}?after=2020-01-01&before=2999-12-31T23:59:59&user=${OWNER}`)).meta, {
    count: 2,
    before: '2999-12-31T23:59:59',
    after: '2020-01-01',
    user: Number(OWNER),
    limit: 100,
    offset: 0,
  });
  for (const query of ['before=2020-01-01', 'after=2999-12-31T23']) t.same(ids(await page(`${FAILED}?${query}`)), []);
  for (const query of ['before=2020', 'sort=name', 'order=up', 'limit=x'])
    t.equal((await admin.get(`/admin/reports/${FAILED}?${query}`)).status, 400, query);
});
row('admin/broken import entry', async (t) => {
  const { results } = await page(`${FAILED}?order=asc`);
  t.match(results[0], {
    datasetId: brokenImport,
    owner: Number(OWNER),
    datasetType: TYPE,
    installTargets: [TARGETS.other],
    messages: ['the import script of the plugin failed; an administrator has the details'],
  });
});
row('admin/failed is not invalid', async (t) => {
  t.notOk(ids(await page(FAILED)).includes(invalid));
  t.match((await owner.get(`/datasets/${invalid}`)).body, { status: { import: { status: 'invalid' } } });
});
row('endpoints/GET /admin/reports/installs/failed', async (t) => {
  const report = async (query: string) => (await admin.get(`/admin/reports/installs/failed${query}`)).body;
  t.match(await report(''), { details: [{ datasetId: brokenInstall }] });
  t.match(await report('?expanded=true'), { details: [{ datasetId: brokenInstall }] });
  t.same(await report('?expanded=false'), { ids: [brokenInstall] });
});
row('admin/broken install report', async (t) => {
  const { body } = await admin.get('/admin/reports/installs/failed');
  t.match((body as { details: readonly Entry[] }).details[0], {
    datasetId: brokenInstall,
    owner: Number(OWNER),
    datasetType: TYPE,
    installTargets: [TARGETS.other],
    status: { install: [{ installTarget: TARGETS.other, data: { status: 'failed-installation' } }] },
  });
});
row('endpoints/GET /admin/reports/object-store/list-all', async (t) => {
  const { status, headers, text } = await admin.get('/admin/reports/object-store/list-all');
  t.same([status, headers.get('content-type')?.split(';')[0]], [200, 'text/plain']);
  const lines = text.trimEnd().split('\n');
  for (const line of lines) t.match(line, /^[^\t]+\t\d+\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  t.ok(lines.some((line) => line.startsWith(`${OWNER}/${sound}/vdi-meta.json\t`)));
});
row('limits/limit', async (t) => {
  const more = 101;
  await inCache(
    dir,
    // Of all columns but those that the database itself makes.
    `do $$ declare columns text; begin
       select string_agg(quote_ident(attname), ', ') into columns from pg_attribute
       where attrelid = 'dataset'::regclass and attnum > 0 and not attisdropped and attgenerated = '';
       execute 'insert into dataset (' || columns || ') select ' || columns || ' from (
         select (jsonb_populate_record(d, jsonb_build_object(''dataset_id'', id, ''root_id'', id))).*
         from dataset d, (select ''copy'' || n as id from generate_series(1, ${more}) n) ids
         where d.dataset_id = ''${brokenImport}'') copies';
     end $$`,
  );
  for (const path of [LIST, FAILED]) {
    const byDefault = await page(path);
    t.match(byDefault.meta, { count: 100, limit: 100, offset: 0 }, path);
    const whole = await page(`${path}?limit=-1&offset=50`);
    t.match(whole.meta, { limit: -1, offset: 0, count: whole.results.length });
    t.ok(whole.results.length > more, 'disabled');
    t.same(ids(whole).slice(0, 100), ids(byDefault), 'the offset is ignored');
    t.same(ids(await page(`${path}?offset=100`)), ids(whole).slice(100), 'the next page');
  }
  await inCache(dir, `delete from dataset where dataset_id like 'copy%'`);
});

const CREATED = '2020-02-03T04:05:06.000Z';
const proxy = (headers: Readonly<Record<string, string>>, who = admin): Promise<Answer> =>
  who.form([part(details({ createdOn: CREATED })), GENES], '/admin/rpc/datasets/proxy-upload', 'POST', headers);
row('endpoints/POST /admin/rpc/datasets/proxy-upload', async (t) => {
  const id = idOf(await proxy({ 'user-id': '22' }));
  t.match((await friend.get(`/datasets/${id}`)).body, { owner: { userId: 22 }, created: CREATED });
});
row('authentication/administrator', async (t) => {
  t.same([(await proxy({})).status, (await proxy({ 'user-id': 'me' })).status], [400, 400]);
  const wrong = at.as({ 'admin-token': 'x'.repeat(64) });
  for (const [who, code] of [
    [nobody, 401],
    [owner, 401],
    [wrong, 403],
  ] as const) {
    t.equal((await who.get(`/admin/reports/${LIST}`)).status, code);
    t.equal((await proxy({ 'user-id': '22' }, who)).status, code);
  }
});
row('authentication/Auth-Key', async (t) => {
  const [mine, other] = [await at.token(OWNER), await at.token('22')];
  const get = async (headers: Record<string, string>) => (await at.as(headers).get('/datasets')).status;
  for (const name of ['auth-key', 'auth_key'])
    for (const value of [mine, `Bearer ${mine}`]) t.equal(await get({ [name]: value }), 200, name);
  t.equal(await get({ 'auth-key': mine, authorization: `Bearer ${mine}` }), 200, 'the same twice');
  t.equal(await get({ 'auth-key': mine, authorization: `Bearer ${other}` }), 400);
  t.equal(await get({ 'auth-key': '42' }), 401);
});
row('authentication/user', async (t) => {
  const tokens = {
    expired: await at.token(OWNER, { lifetimeSeconds: -3_600 }),
    'of another issuer': await at.token(OWNER, { issuer: 'somebody' }),
    'signed by another key': await at.token(OWNER, { foreignKey: true }),
  };
  for (const [what, token] of Object.entries(tokens)) {
    const answer = await at.as({ authorization: `Bearer ${token}` }).get('/datasets');
    t.match([answer.status, answer.body], [401, { status: 'unauthorized' }], what);
  }
  const shared = await make('genes.txt', { visibility: 'public' });
  for (const [method, path, body] of [
    ['DELETE', '', undefined],
    ['PATCH', '', {}],
    ['DELETE', '/files/dataset-properties/p.tsv', undefined],
  ] as const)
    t.equal((await friend.send(method, `/datasets/${shared}${path}`, body)).status, 403, `${method} ${path}`);
  const note = part({ origin: 'direct-upload', revisionNote: 'Measured again' });
  t.equal((await friend.form([note, GENES], `/datasets/${shared}`, 'PUT')).status, 403);
});

const WORDS = {
  400: ['bad-request', () => owner.get('/datasets?limit=x')],
  401: ['unauthorized', () => nobody.get('/datasets')],
  403: ['forbidden', () => guest.get('/datasets')],
  404: ['not-found', () => owner.get('/datasets/NoSuchDataset000')],
  410: ['gone', () => owner.get(`/datasets/${deleted}`)],
} as const;
for (const code of [400, 401, 403, 404, 410] as const)
  row(`errors/${code}`, async (t) => {
    const [word, call] = WORDS[code];
    const { status, body } = await call();
    t.match([status, body], [code, { status: word, message: /\w/ }]);
    t.same(Object.keys(body as object), ['status', 'message']);
  });
row('errors/body', async (t) => {
  const schema = JSON.stringify(at.recorder.document.components.schemas.Problem);
  for (const word of [
    ...['bad-request', 'unauthorized', 'forbidden', 'not-found', 'bad-method', 'conflict', 'gone', 'invalid-input'],
    ...['failed-dependency', 'too-early', 'server-error'],
  ])
    t.match(schema, `"${word}"`);
  const broken = await owner.call('POST', '/datasets', { headers: { 'content-type': 'text/plain' }, body: 'x' });
  t.match([broken.status, broken.body], [415, { status: 'bad-request', message: /multipart/ }]);
});
row('errors/bad-method', async (t) => {
  const { status, headers, body } = await owner.send('DELETE', '/plugins');
  t.match([status, headers.get('allow'), body], [405, /GET/, { status: 'bad-method', message: String }]);
});
row('errors/too-early', async (t) => {
  const id = await make('genes.txt');
  const file = join(dir, 'objects', 'objects', OWNER, id, 'vdi-meta.json');
  await rename(file, `${file}.away`);
  const { status, body } = await owner.send('PATCH', `/datasets/${id}`, { name: { value: 'Renamed' } });
  await rename(`${file}.away`, file);
  t.match([status, body], [425, { status: 'too-early', message: /not stored yet/ }]);
});

interface Job {
  readonly id: number;
  readonly datasetId: string;
  readonly state: string;
}
const jobs = async (query: string): Promise<readonly Job[]> =>
  ((await admin.get(`/admin/reports/jobs?${query}`)).body as { results: readonly Job[] }).results;
row('errors/conflict', async (t) => {
  const pipe = held(dir, 'conflict');
  const id = await owner.upload(details(), 'held-import.fifo', pipe.content);
  await pipe.reached();
  const running = (await jobs('lane=import&state=running')).find(({ datasetId }) => datasetId === id);
  const { status, body } = await admin.send('POST', `/admin/rpc/jobs/${running?.id}/retry`);
  t.match([status, body], [409, { status: 'conflict', message: /is running/ }]);
  await pipe.release();
  await ended(dir, id);
});
row('ours/audit', async (t) => {
  await admin.send('POST', '/admin/rpc/jobs/0/retry');
  const { status, body } = await admin.get('/admin/audit?limit=1&route=/admin/rpc/jobs/:id/retry');
  t.equal(status, 200);
  t.match((body as { results: readonly object[] }).results[0], { method: 'POST' });
});
row('ours/history', async (t) => {
  const path = `/admin/datasets/${sound}/history`;
  const { status, body } = await admin.get(path);
  t.equal(status, 200);
  const { results } = body as { results: readonly { job?: { lane: string } }[] };
  t.match(results[0], { request: { method: 'POST', route: '/datasets', status: 202 } });
  const installed = results.find(({ job }) => job?.lane === 'install')?.job;
  t.match(installed, {
    outcome: 'done',
    process: { pid: Number },
    calls: [{ call: 'install-data', outcome: 'success' }],
  });
  const newest = await admin.get(`${path}?order=newest-first&limit=1`);
  t.match(newest.body, { results: [results.at(-1)], next: String });
  t.equal((await admin.get('/admin/datasets/nowhere/history')).status, 404);
});
row('ours/jobs', async (t) => {
  await inCache(
    dir,
    `insert into job (lane, dataset_id, rank, owner, event_id, source, state, failure, message)
     values ('sharing', '${sound}', 0, ${OWNER}, 1, 'test', 'dead', 'rejected', 'it was in vain')`,
  );
  const [dead] = await jobs('state=dead&lane=sharing');
  t.match(dead, { datasetId: sound, state: 'dead', message: 'it was in vain' });
  t.match(await admin.send('POST', `/admin/rpc/jobs/${dead?.id}/cancel`, {}), { status: 409 });
  t.match(await admin.send('POST', `/admin/rpc/jobs/${dead?.id}/retry`), { status: 202, body: { state: 'queued' } });
  await ended(dir, sound);
  t.same(await jobs('state=dead&lane=sharing'), []);
  const pipe = held(dir, 'cancelled');
  const id = await owner.upload(details(), 'held-import.fifo', pipe.content);
  await pipe.reached();
  const running = (await jobs('lane=import&state=running')).find(({ datasetId }) => datasetId === id);
  t.match(await admin.send('POST', `/admin/rpc/jobs/${running?.id}/cancel`, { reason: 'wrong file' }), {
    status: 202,
    body: { id: running?.id, state: 'cancelling' },
  });
  await ended(dir, id);
  await pipe.forget();
  const message = 'cancelled by Admin-Token: wrong file';
  t.match(await jobs('state=dead&lane=import'), [{ id: running?.id, datasetId: id, message }]);
});
row('ours/reconcile and prune', async (t) => {
  for (const daemon of ['reconcile', 'prune']) {
    const path = `/admin/rpc/datasets/${daemon}`;
    t.match(await admin.send('POST', path), { status: 202, body: { state: 'started' } }, daemon);
    const { body } = await admin.get(path);
    t.ok(Object.keys(body as object).length > 0, `${daemon}: under way, or over`);
  }
});
row('ours/clear-failed', async (t) => {
  const path = '/admin/rpc/installs/clear-failed';
  const targets = [{ datasetId: brokenInstall, installTarget: TARGETS.other }];
  t.match(await admin.send('POST', `${path}?skip-run=true`, { targets }), { status: 202, body: { state: 'started' } });
  t.ok(Object.keys((await admin.get(path)).body as object).length > 0);
});
row('ours/POST /datasets/{id}/retry', async (t) => {
  const path = `/datasets/${brokenImport}/retry`;
  t.match(await owner.send('POST', path), { status: 202, body: { datasetId: brokenImport } });
  await ended(dir, brokenImport);
  t.match(await owner.send('POST', path), { status: 409, body: { message: /failed again/ } });
});
row('ours/problems', async (t) => {
  const listed = async (): Promise<readonly string[]> =>
    ids((await admin.get('/admin/problems?lane=import&state=failed')).body as Page).map((id) => `import:${id}`);
  const one = { ids: [`import:${brokenImport}`] };
  t.ok((await listed()).includes(`import:${brokenImport}`));
  const { results } = (await admin.get('/admin/problems/causes?lane=import')).body as { results: readonly object[] };
  t.match(results[0], { lane: 'import', count: Number, cause: /\w/ });
  const order = (name: string, body: object) => admin.send('POST', `/admin/problems/${name}`, body);
  t.match(await order('retry', { ...one, dryRun: true }), { status: 200, body: { problems: 1, done: 0 } });
  t.match(await order('retry', one), { status: 200, body: { problems: 1, done: 1 } });
  await ended(dir, brokenImport);
  t.match(await order('discard', { ...one, reason: 'of no use' }), { status: 200, body: { done: 1 } });
  t.notOk((await listed()).includes(`import:${brokenImport}`));
  t.match((await admin.get(`/admin/reports/datasets/${brokenImport}`)).body, { discarded: [{ reason: 'of no use' }] });
  t.equal((await order('retry', {})).status, 422);
});
row('ours/purge-dataset', async (t) => {
  const { status } = await admin.call('POST', '/admin/rpc/object-store/purge-dataset', {
    headers: { 'content-type': 'application/json' },
    body: `{"userId":${OWNER},"datasetId":"${invalid}"}`,
  });
  t.equal(status, 204);
  await ended(dir, invalid);
  t.equal((await owner.get(`/datasets/${invalid}`)).status, 404);
  t.same(
    await queryTarget(dir, TARGETS.other, 'controlDb', 'select 1 from dataset_install where dataset_id = $1', [
      invalid,
    ]),
    [],
  );
});
row('ours/pauses', async (t) => {
  const [path, all] = [`/admin/pauses/target/${TARGETS.other}`, '/admin/pauses'];
  const body = { kind: 'target', name: TARGETS.other, by: 'Admin-Token', reason: 'new disks' };
  t.match(await admin.send('PUT', path, { reason: 'new disks' }), { status: 200, body });
  t.match((await admin.get(all)).body, { results: [body] });
  t.match((await nobody.get('/health')).body, { paused: [{ kind: 'target', name: TARGETS.other }] });
  t.equal((await admin.send('DELETE', path)).status, 204);
  t.same((await admin.get(all)).body, { results: [] });
  t.equal((await admin.send('PUT', '/admin/pauses/target/nowhere', {})).status, 404);
});
row('ours/store hold', async (t) => {
  const path = '/admin/rpc/object-store/hold';
  t.match(await admin.send('POST', path, { seconds: 60 }), { status: 200, body: { until: /^\d{4}-/ } });
  t.equal((await admin.send('POST', path, { seconds: 60 })).status, 503);
  t.strictSame((await admin.send('DELETE', path)).body, { held: true });
  t.strictSame((await admin.send('DELETE', path)).body, { held: false });
  t.equal((await admin.send('POST', path, { seconds: 61 })).status, 422);
});
row('ours/metrics history', async (t) => {
  const { status, body } = await admin.get('/admin/metrics/history?series=process.&step=86400');
  const { names, series } = body as { names: readonly string[]; series: Record<string, readonly unknown[]> };
  t.equal(status, 200);
  t.ok(names.includes('process.delay'), names.join());
  t.ok(Number(series['process.memory']?.at(-1)) > 1_000_000);
});
row('ours/reload and log level', async (t) => {
  const [reload, level] = ['/admin/rpc/config/reload', '/admin/rpc/log/level'];
  t.strictSame((await admin.get(level)).body, { level: 'info' });
  t.strictSame((await admin.send('POST', `${level}?level=debug`)).body, { from: 'info', to: 'debug' });
  t.strictSame((await admin.get(level)).body, { level: 'debug' });
  const { status, body } = await admin.send('POST', reload);
  const applied = [{ path: 'containerCore.log.level', from: 'debug', to: 'info' }];
  t.match([status, body], [200, { applied, needsRestart: [], unchanged: Number }]);
  const file = join(dir, 'config.yaml');
  const written = await readFile(file, 'utf8');
  await writeFile(file, 'installer: {}\n');
  const refused = await admin.send('POST', reload);
  await writeFile(file, written);
  t.match(
    [refused.status, refused.body],
    [422, { status: 'invalid-input', errors: { byKey: { 'installer.cacheDb': [/found nothing/] } } }],
  );
});
row('ours/configuration', async (t) => {
  const { status, body } = await admin.get('/admin/config');
  const { settings } = body as { settings: readonly { path: string; value: unknown; live?: string }[] };
  t.match([status, body], [200, { file: join(dir, 'config.yaml'), generation: Number, readAt: /^\d{4}-/ }]);
  const of = (path: string) => settings.find((setting) => setting.path === path);
  t.match(of('containerCore.log.level'), { value: 'info', live: 'applies immediately' });
  t.strictSame(of('installer.cacheDb.password'), { path: 'installer.cacheDb.password', value: '[hidden]' });
  const same = { applied: [], needsRestart: [], unchanged: Number };
  t.match(await admin.get('/admin/rpc/config/reload'), { status: 200, body: same });
});
row('ours/lane sizes', async (t) => {
  const path = 'installer.lanes.sharing.workerCount';
  const sized = await admin.send('PATCH', '/admin/lanes/sharing/sizes', { workerCount: 3 });
  t.match([sized.status, sized.body], [200, { applied: [{ path, from: Number, to: 3 }] }]);
  t.match(await (await nobody.get('/metrics')).text, /longshore_lane_workers{lane="sharing"} 3\n/);
  const back = await admin.send('POST', '/admin/rpc/config/reload');
  t.match(back.body, { applied: [{ path, from: 3 }] });
  t.equal((await admin.send('PATCH', '/admin/lanes/sharing/sizes', { workerCount: 21 })).status, 422);
  t.equal((await admin.send('PATCH', '/admin/lanes/nowhere/sizes', { workerCount: 2 })).status, 404);
});
row('ours/logs', async (t) => {
  const { status, body } = await admin.get('/admin/logs?request=r-1');
  t.match([status, body], [200, { results: [], cut: false }]);
  t.equal((await admin.get('/admin/logs')).status, 400);
});
row('ours/api and operators', async (t) => {
  await checkApiPage(t, nobody);
  for (const path of ['/api/openapi.json', '/health', '/ready', '/metrics'])
    t.equal((await nobody.get(path)).status, 200, path);
  const document = JSON.parse((await nobody.get('/api/openapi.json')).text) as Record<string, unknown>;
  const { valid, errors } = await new Validator().validate(document);
  t.ok(valid, JSON.stringify(errors));
  t.equal((await guest.get('/users/self/meta')).status, 403, `guest ${GUEST} has no quota`);
});

/** Where the store was is a link to itself. */
row('codes/GET object-store 500', async (t) => {
  const folder = join(dir, 'objects', 'objects');
  await rename(folder, `${folder}-away`);
  await symlink(folder, folder);
  const { status, body } = await admin.get('/admin/reports/object-store/list-all');
  await rm(folder);
  await rename(`${folder}-away`, folder);
  t.match([status, body], [500, { status: 'server-error' }]);
});
