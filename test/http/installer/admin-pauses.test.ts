import t, { type Test } from 'tap';
import { PostgresJobs } from '../../../engine/adapters/jobs/jobs-postgres.ts';
import { LANES } from '../../../engine/model/event.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../support/engine-process.ts';
import { ADMIN_TOKEN, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const at = await cacheDatabase(t);
const ADMIN = { 'admin-token': ADMIN_TOKEN };
const JSON_BODY = { ...ADMIN, 'content-type': 'application/json' };
const SINCE = /^\d{4}-\d\d-\d\dT/;
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

async function setup(t: Test) {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const app = await installerApp(t, db, { jobs: new PostgresJobs(db, instance, new VirtualClock()) });
  const call = async (method: string, path: string, body?: object) => {
    const init = body ? { headers: JSON_BODY, body: JSON.stringify(body) } : { headers: ADMIN };
    return await app.call(undefined, method, path, init);
  };
  const list = async (): Promise<readonly object[]> => {
    const answer = await call('GET', '/admin/pauses');
    t.strictSame(responseFaults(schemaOf(app.routes, 'listPauses', 200), answer.text), []);
    return (answer.body as { results: readonly object[] }).results;
  };
  return { app, call, list };
}

t.test('a lane, a plugin and a target are paused, listed and resumed', async (t) => {
  const { app, call, list } = await setup(t);
  t.strictSame(await list(), []);
  const target = await call('PUT', '/admin/pauses/target/AlphaDB', { reason: 'new disks', until: TOMORROW });
  t.equal(target.status, 200, target.text);
  t.strictSame(responseFaults(schemaOf(app.routes, 'pause', 200), target.text), []);
  const site = { kind: 'target', name: 'AlphaDB', since: SINCE, by: 'Admin-Token', reason: 'new disks' };
  t.match(target.body, { ...site, until: TOMORROW });
  t.match(await call('PUT', '/admin/pauses/plugin/genes', {}), { status: 200 });
  const again = await call('PUT', '/admin/pauses/target/AlphaDB', {});
  const { since } = target.body as { since: string };
  t.strictSame(again.body, { kind: 'target', name: 'AlphaDB', since, by: 'Admin-Token' }, 'changed, with its begin');
  t.match(await call('PUT', '/admin/pauses/lane/import', {}), { status: 200 });
  t.match(await list(), [
    { kind: 'lane', name: 'import' },
    { kind: 'plugin', name: 'genes' },
    { kind: 'target', name: 'AlphaDB' },
  ]);
  const { status, text } = await call('DELETE', '/admin/pauses/target/AlphaDB');
  t.strictSame([status, text], [204, '']);
  t.equal((await call('DELETE', '/admin/pauses/target/AlphaDB')).status, 204, 'once more changes nothing');
  t.strictSame((await list()).length, 2);
});

t.test('the job report says which lanes are paused', async (t) => {
  const { app, call } = await setup(t);
  await call('PUT', '/admin/pauses/lane/install', { reason: 'site work' });
  await call('PUT', '/admin/pauses/target/AlphaDB', {});
  const answer = await call('GET', '/admin/reports/jobs');
  t.strictSame(responseFaults(schemaOf(app.routes, 'reportJobs', 200), answer.text), []);
  const { lanes } = answer.body as { lanes: readonly { lane: string; paused?: object }[] };
  t.match(lanes.find(({ lane }) => lane === 'install')?.paused, { by: 'Admin-Token', reason: 'site work' });
  t.strictSame(
    lanes.filter(({ paused }) => paused !== undefined).map(({ lane }) => lane),
    ['install'],
  );
});

t.test('what does not exist is refused by name, and says what exists', async (t) => {
  const { call, list } = await setup(t);
  for (const [path, message] of [
    ['lane/imports', `there is no lane 'imports'; there is: ${LANES.join(', ')}`],
    ['plugin/AlphaDB', "there is no plugin 'AlphaDB'; there is: genes"],
    ['target/alphadb', "there is no target 'alphadb'; there is: AlphaDB, BetaDB"],
    ['daemon/pruner', "nothing of kind 'daemon' can be paused; kinds: lane, plugin, target"],
  ] as const)
    for (const method of ['PUT', 'DELETE']) {
      const { status, body } = await call(method, `/admin/pauses/${path}`, method === 'PUT' ? {} : undefined);
      t.strictSame([status, (body as { message: string }).message], [404, message], `${method} ${path}`);
    }
  t.strictSame(await list(), []);
});

t.test('an invalid body is refused by its field', async (t) => {
  const { call, list } = await setup(t);
  for (const [body, key] of [
    [{ until: '2026-01-01T00:00:00Z' }, 'until'],
    [{ until: 'tomorrow' }, 'until'],
    [{ reason: '' }, 'reason'],
    [{ reason: 'x'.repeat(1_001) }, 'reason'],
    [{ forever: true }, 'forever'],
  ] as const) {
    const answer = await call('PUT', '/admin/pauses/lane/import', body);
    t.equal(answer.status, 422, answer.text);
    t.match(answer.text, `"${key}"`);
  }
  t.strictSame(await list(), []);
});

t.test('only administrators may look or change', async (t) => {
  const { app } = await setup(t);
  for (const [method, path] of [
    ['GET', '/admin/pauses'],
    ['PUT', '/admin/pauses/lane/import'],
    ['DELETE', '/admin/pauses/lane/import'],
  ] as const) {
    t.equal((await app.call(undefined, method, path)).status, 401, method);
    t.equal((await app.call('7', method, path)).status, 401, method);
  }
});
