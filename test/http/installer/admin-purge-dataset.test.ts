import t, { type Test } from 'tap';
import { type DatasetAddress, fileKey } from '../../../engine/model/object-key.ts';
import { DATASET_STATES } from '../../../engine/model/status.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { purgeDatasetRoute } from '../../../http/installer/admin/purge-dataset.ts';
import { FakeDatasetEdits } from '../../fakes/fake-dataset-edits.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { newAddress, newUser, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const never = new AbortController().signal;
const JSON_TYPE = { 'content-type': 'application/json' };

async function setup(t: Test, world = new LaneWorld(t.testdir())) {
  let events = 1_000;
  const routes = [
    purgeDatasetRoute({
      store: world.store,
      edits: new FakeDatasetEdits(world.catalog),
      jobs: world.process().jobs,
      jobAdmin: new FakeJobAdmin(world.jobs, world.catalog),
      eventLog: { nextEventId: async () => ++events },
      sites: [...world.targets.values()],
      clock: world.clock,
    }),
  ];
  const server = await listen(t, routes);
  const url = `http://127.0.0.1:${server.port}/admin/rpc/object-store/purge-dataset`;
  const send = async (body: string, headers: Record<string, string> = { 'admin-token': ADMIN_TOKEN, ...JSON_TYPE }) => {
    const response = await fetch(url, { method: 'POST', headers, body });
    const text = await response.text();
    if (text !== '') t.strictSame(responseFaults(schemaOf(routes, 'purgeDataset', response.status), text), [], text);
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as object) };
  };
  const purge = ({ owner, dataset }: DatasetAddress) => send(`{"userId":${owner},"datasetId":"${dataset}"}`);
  return { world, send, purge };
}

const DONE = { status: 204, body: undefined };

async function installed(world: LaneWorld): Promise<DatasetAddress> {
  const at = await world.accept();
  await world.finish();
  return at;
}

/** What anybody still knows of the dataset. */
async function left(world: LaneWorld, at: DatasetAddress): Promise<object> {
  const states = await Promise.all([...world.targets.values()].map((target) => target.state(at.dataset, never)));
  return {
    keys: world.keys(at),
    cache: world.catalog.datasets.has(at.dataset),
    sites: states.map(({ present }) => present),
    installed: [...world.plugin.installed.keys()].filter((key) => key.endsWith(`/${at.dataset}`)),
  };
}
const NOTHING = { keys: [], cache: false, sites: [false, false], installed: [] };

t.test('a dataset goes from its sites, the store and the cache, and no other', async (t) => {
  const { world, purge } = await setup(t);
  const [at, other] = [await installed(world), await installed(world)];
  await world.store.put(fileKey(at, 'documents', 'notes.txt'), Buffer.from('x'), {}, never);
  const before = await left(world, other);
  t.strictSame(await purge(at), DONE);
  t.equal(world.dataset(at).state, 'pruning', 'gone for its users at once');
  t.notOk(world.keys(at).includes('vdi-meta.json'));
  await world.finish();
  t.strictSame(await left(world, at), NOTHING);
  t.strictSame(await left(world, other), before);
  t.match(await purge(at), { status: 404, body: { status: 'not-found' } });
});

t.test('in whatever state the dataset is', async (t) => {
  const { world, purge } = await setup(t);
  for (const state of DATASET_STATES.filter((one) => one !== 'receiving')) {
    const at = await installed(world);
    world.catalog.apply(at.dataset, [{ set: 'state', state }]);
    t.strictSame(await purge(at), DONE, state);
    await world.finish();
    t.strictSame(await left(world, at), NOTHING, state);
  }
  const waiting = await world.accept();
  t.strictSame(await purge(waiting), DONE, 'an upload that no lane has touched yet');
  await world.finish();
  t.strictSame(await left(world, waiting), NOTHING);
});

t.test('asked for twice it goes once', async (t) => {
  const { world, purge } = await setup(t);
  const at = await installed(world);
  t.strictSame([await purge(at), await purge(at)], [DONE, DONE]);
  await world.finish();
  t.strictSame(await left(world, at), NOTHING);
});

t.test('what only the store knows goes, with or without metadata', async (t) => {
  const world = new LaneWorld(t.testdir());
  const [whole, malformed] = [await installed(world), newAddress()];
  await world.store.put(fileKey(malformed, 'documents', 'notes.txt'), Buffer.from('x'), {}, never);
  world.dropCache();
  const { purge } = await setup(t, world);
  for (const at of [whole, malformed]) {
    t.strictSame(await purge(at), DONE);
    await world.finish();
    t.strictSame(await left(world, at), NOTHING);
  }
});

t.test('what only the cache or a target knows goes', async (t) => {
  const { world, purge } = await setup(t);
  const [cached, sited] = [await installed(world), await installed(world)];
  for (const at of [cached, sited])
    await world.store.remove(
      world.keys(at).map((key) => `${at.owner}/${at.dataset}/${key}`),
      never,
    );
  world.catalog.datasets.delete(sited.dataset);
  world.deliver();
  for (const row of [...world.jobs.rows]) world.jobs.remove(row);
  for (const at of [cached, sited]) {
    t.strictSame(await purge(at), DONE);
    t.match(world.jobs.get('hardDelete', at.dataset), { source: 'admin', owner: at.owner });
    await world.finish();
    t.strictSame(await left(world, at), NOTHING);
  }
});

t.test('a target that cannot tell may know it', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, TOXO, ['state']);
  const { purge } = await setup(t, world);
  away.reason = transient('no route to host');
  t.strictSame(await purge(newAddress()), DONE);
  away.reason = undefined;
  t.equal((await purge(newAddress())).status, 404);
});

t.test('a dataset is somebody’s: another user has none of that id', async (t) => {
  const { world, purge } = await setup(t);
  const at = await installed(world);
  const before = await left(world, at);
  t.match(await purge({ ...at, owner: newUser() }), { status: 404, body: { message: /has no dataset/ } });
  await world.finish();
  t.strictSame(await left(world, at), before);
  t.equal(world.dataset(at).state, 'live');
});

t.test('a removal that was given up is taken up again', async (t) => {
  const { world, purge } = await setup(t);
  const at = await installed(world);
  world.plugin.decide = ({ kind }) =>
    kind === 'uninstall' ? { kind: 'script-error', message: 'exit code 1' } : undefined;
  t.strictSame(await purge(at), DONE);
  await world.finish();
  t.strictSame(world.jobRows(), ['hardDelete dead']);
  world.plugin.decide = () => undefined;
  t.strictSame(await purge(at), DONE);
  await world.finish();
  t.strictSame(await left(world, at), NOTHING);
});

t.test('a store that does not answer changes nothing', async (t) => {
  const { world, purge } = await setup(t);
  const at = await installed(world);
  world.store.onCall = () => {
    throw transient('the store is away');
  };
  t.match(await purge(at), { status: 503, body: { status: 'server-error' } });
  t.equal(world.dataset(at).state, 'live');
  t.strictSame(world.jobRows(), []);
  t.match(await purge(newAddress()), { status: 503 });
});

t.test('ids that are none are refused by their names', async (t) => {
  const { send } = await setup(t);
  for (const [body, byKey] of [
    ['{}', { userId: [/is missing/], datasetId: [/is missing/] }],
    ['{"userId":null,"datasetId":null}', { userId: [/is missing/], datasetId: [/is missing/] }],
    ['{"userId":0,"datasetId":"a"}', { userId: [/pattern/] }],
    ['{"userId":-1,"datasetId":"a"}', { userId: [/pattern/] }],
    ['{"userId":1.5,"datasetId":"a"}', { userId: [/pattern/] }],
    ['{"userId":9223372036854776001,"datasetId":"a"}', { userId: [/higher than the id of any user/] }],
    ['{"userId":"me","datasetId":"a"}', { userId: [/pattern/] }],
    ['{"userId":1,"datasetId":"a/b"}', { datasetId: [/pattern/] }],
    ['{"userId":1,"datasetId":""}', { datasetId: [/pattern/] }],
    [`{"userId":1,"datasetId":"${'a'.repeat(65)}"}`, { datasetId: [/pattern/] }],
    ['{"userId":1,"datasetId":"a","force":true}', { force: [/not a known field/] }],
  ] as const)
    t.match(await send(body), { status: 422, body: { status: 'invalid-input', errors: { byKey } } }, body);
  t.equal((await send('{"userId":')).status, 400);
  t.equal((await send(' '.repeat(1_025))).status, 400);
  t.equal((await send('{}', { 'admin-token': ADMIN_TOKEN, 'content-type': 'text/plain' })).status, 415);
  t.equal((await send('{"userId":1,"datasetId":"a","force":null}')).status, 404, 'what is null counts as absent');
  for (const user of ['9223372036854776000', '"42"', '1'])
    t.equal((await send(`{"userId":${user},"datasetId":"${'a'.repeat(64)}"}`)).status, 404, user);
});
