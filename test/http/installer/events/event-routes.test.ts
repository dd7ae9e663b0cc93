import { spawn } from 'node:child_process';
import t, { type Test } from 'tap';
import { request } from 'undici';
import type { DatasetEventKind } from '../../../../engine/model/dataset-event.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { FakeDatasetEvents } from '../../../fakes/fake-dataset-events.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { commandBlock, runCommands } from '../../../support/command-blocks.ts';
import { newAddress, newUser } from '../../../support/dataset-samples.ts';
import { type Frame, framesOf, take } from '../../../support/event-frames.ts';
import { httpApp } from '../../http-app.ts';
import { verify } from '../../numbered-callers.ts';
import { ADMIN_TOKEN, type AppOptions, installerApp } from '../installer-app.ts';
import { responseFaults, schemaOf } from '../response-check.ts';
import { imported } from '../stored-datasets.ts';

const db = await cacheDatabase(t);
const GUEST = 'guest-9';
const STREAM = { accept: 'text/event-stream' };

async function setup(t: Test, options: AppOptions = {}) {
  const events = new FakeDatasetEvents();
  const app = await installerApp(t, db, { datasetEvents: events, ...options });
  const owner = newUser();
  const at = await imported(app, db, owner);
  const tell = (kind: DatasetEventKind, addressee?: UserId, { owner, dataset } = at) =>
    events.tell({ kind, owner, dataset, at: 1_700_000_000_000, ...(addressee ? { addressee } : {}) });
  const give = async (friend: UserId) => {
    events.given.set(at.dataset, new Set([friend]));
    await db.query(`insert into dataset_share values ($1, $2::numeric, 'grant', 'accept')`, [at.dataset, friend]);
  };
  const follow = async (user: string, path: string, headers: Record<string, string> = {}) => {
    const until = new AbortController();
    const {
      statusCode,
      headers: got,
      body,
    } = await request(app.url + path, {
      headers: {
        ...(user === 'admin' ? { 'admin-token': ADMIN_TOKEN } : { authorization: `Bearer ${user}` }),
        ...STREAM,
        ...headers,
      },
      signal: until.signal,
    });
    t.equal(statusCode, 200);
    t.teardown(() => until.abort());
    const frames = framesOf(body);
    t.match(await take(frames, 1), [{ retry: /^[12]\d{3}$|^3000$/ }]);
    const told = async (count: number) => (await take(frames, count)).map(short);
    return { headers: got, frames, told, leave: () => until.abort() };
  };
  const page = async (user: string, path: string) => {
    const got = await app.call(user, 'GET', path);
    return { ...got, body: got.body as { events: { id: number; kind: string }[]; upTo: number; more: boolean } };
  };
  return { app, events, owner, at, tell, give, follow, page };
}

const short = ({ id, event }: Frame): string => `${id} ${event}`;

t.test('the events of a dataset: what happened, then what happens', async (t) => {
  const { owner, at, tell, follow } = await setup(t);
  const first = tell('accepted');
  tell('accepted', undefined, newAddress());
  const { frames, told, headers } = await follow(owner, `/datasets/${at.dataset}/events`);
  const [frame] = await take(frames, 1);
  const data = { id: first, kind: 'accepted', at: '2023-11-14T22:13:20.000Z', datasetId: at.dataset };
  const { owner: shown, ...rest } = (frame?.data ?? {}) as { owner: number };
  t.strictSame({ ...frame, data: rest }, { id: String(first), event: 'accepted', data });
  t.equal(shown, Number(owner));
  t.match(headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  tell('shared', newUser());
  const last = tell('installed');
  t.same(await told(1), [`${last} installed`]);
});

t.test('a client that comes back gets what came after the last event that it has', async (t) => {
  const { owner, at, tell, follow } = await setup(t);
  const [first, second, third] = [tell('accepted'), tell('import-ended'), tell('installed')];
  const path = `/datasets/${at.dataset}/events`;
  for (const [query, header, expected] of [
    ['', first, [`${second} import-ended`, `${third} installed`]],
    [`?after=${second}`, undefined, [`${third} installed`]],
    [`?after=${first}`, second, [`${third} installed`]],
    ['?after=0', undefined, [`${first} accepted`, `${second} import-ended`]],
  ] as const) {
    const { told, leave } = await follow(owner, path + query, header ? { 'last-event-id': String(header) } : {});
    t.same(await told(expected.length), expected, `${query} ${header}`);
    leave();
  }
});

t.test('an id that is none is refused, with what is allowed', async (t) => {
  const { app, owner } = await setup(t);
  for (const id of ['x', '-1', '1.5', '99999999999999999'])
    t.match(await app.call(owner, 'GET', '/events', { headers: { 'last-event-id': id } }), {
      status: 400,
      body: { message: `header Last-Event-ID is '${id}': expected the id of an event, a whole number` },
    });
  t.match(await app.call(owner, 'GET', '/events?after=x'), { status: 400, body: { message: /'after' is 'x'/ } });
  t.match(await app.call(owner, 'GET', '/events?limit=0'), { status: 400, body: { message: /'limit' is '0'/ } });
});

t.test('who does not see the dataset cannot follow it; who sees it gets what is not addressed to others', async (t) => {
  const { app, owner, at, tell, give, follow } = await setup(t);
  const path = `/datasets/${at.dataset}/events`;
  const friend = newUser();
  t.equal((await app.call(friend, 'GET', path)).status, 404);
  t.equal((await app.call(GUEST, 'GET', path)).status, 404);
  t.equal((await app.call(undefined, 'GET', path)).status, 401);
  await give(friend);
  const ids = [tell('accepted'), tell('shared', friend), tell('access-requested', owner), tell('installed')];
  const seen = [`${ids[0]} accepted`, `${ids[1]} shared`, `${ids[3]} installed`];
  t.same(await (await follow(friend, path)).told(3), seen);
  t.same(await (await follow(owner, path)).told(3), [seen[0], `${ids[2]} access-requested`, seen[2]]);
  t.same(await (await follow('admin', path)).told(2), [seen[0], seen[2]]);
  await db.query(
    `update dataset set visibility = 'public', metadata = metadata || '{"visibility": "public"}'
    where dataset_id = $1`,
    [at.dataset],
  );
  t.same(await (await follow(GUEST, path)).told(2), [seen[0], seen[2]]);
});

t.test(
  "a caller's events: of own datasets, of those given to the caller, and those addressed to the caller",
  async (t) => {
    const { owner, tell, give, follow } = await setup(t);
    const friend = newUser();
    const streams = {
      owner: await follow(owner, '/events'),
      friend: await follow(friend, '/events'),
      operator: await follow('admin', '/events?all=true'),
    };
    const offered = tell('shared', friend);
    t.same(await streams.friend.told(1), [`${offered} shared`]);
    await give(friend);
    const installed = tell('installed');
    const other = tell('accepted', undefined, newAddress());
    t.same(await streams.friend.told(1), [`${installed} installed`]);
    t.same(await streams.owner.told(1), [`${installed} installed`]);
    t.same(await streams.operator.told(3), [`${offered} shared`, `${installed} installed`, `${other} accepted`]);
  },
);

t.test('the events of all are for operators; the Admin-Token has none of its own', async (t) => {
  const { app, owner } = await setup(t);
  t.match(await app.call(owner, 'GET', '/events?all=true'), {
    status: 403,
    body: { message: "query parameter 'all' is for operators" },
  });
  t.match(await app.call('admin', 'GET', '/events'), { status: 403, body: { message: /all=true/ } });
  t.equal((await app.call(GUEST, 'GET', '/events')).status, 403);
});

t.test('a script gets pages of JSON, which are as documented', async (t) => {
  const { app, events, owner, tell, page } = await setup(t);
  const ids = [tell('accepted'), tell('import-ended'), tell('installed')];
  const first = await page(owner, '/events?limit=2');
  t.match(first.body, { events: [{ id: ids[0] }, { id: ids[1] }], upTo: ids[1], more: true, missed: false });
  t.same(responseFaults(schemaOf(app.routes, 'followEvents', 200), first.text), []);
  const second = await page(owner, `/events?after=${first.body.upTo}`);
  t.match(second.body, { events: [{ id: ids[2] }], upTo: ids[2], more: false, missed: false });
  t.match((await page(owner, `/events?after=${ids[2]}`)).body, { events: [], upTo: ids[2] });
  await events.dropBefore(Number.MAX_SAFE_INTEGER, new AbortController().signal);
  t.match((await page(owner, `/events?after=${ids[0]}`)).body, { events: [], missed: true });
  t.match((await page(owner, '/events?after=0')).body, { events: [], missed: false });
});

t.test('the commands of docs/events.md show what they say', async (t) => {
  const { app, owner, at, tell } = await setup(t);
  const ids = [tell('accepted'), tell('installed')];
  const env = { ...process.env, SERVER: app.url, TOKEN: owner, ID: at.dataset, LAST: String(ids[0]) };
  t.match(JSON.parse(await runCommands(commandBlock('pageOfEvents'), { env })), { events: [{ id: ids[1] }] });
  const curl = spawn('bash', ['-euc', `exec ${commandBlock('followEvents')}`], { env });
  t.teardown(() => curl.kill());
  t.match(await take(framesOf(curl.stdout), 3), [{ retry: String }, { event: 'accepted' }, { event: 'installed' }]);
});

t.test('HEAD has the headers of the stream, and ends', async (t) => {
  const { app, owner } = await setup(t);
  const { status, headers, text } = await app.call(owner, 'HEAD', '/events', { headers: STREAM });
  t.same([status, headers.get('content-type'), text], [200, 'text/event-stream', '']);
});

t.test('streams do not hold up a server that stops', async (t) => {
  const { app, owner } = await setup(t);
  const { server, url } = await httpApp(t, app.routes, { auth: { verify }, url: { basePath: '' } });
  const headers = { authorization: `Bearer ${owner}`, ...STREAM };
  const { body } = await request(`${url}/events`, { headers });
  const frames = framesOf(body);
  await take(frames, 1);
  // Far beyond the timeout of a test.
  await server.stop(systemClock.now() + 3_600_000);
  t.same(await frames.next(), { value: undefined, done: true });
});

t.test('streams of one caller and of all are bounded; a stream that ends makes room', async (t) => {
  const { app, owner, follow } = await setup(t, { settings: { eventStreams: { perUser: 2, total: 3 } } });
  const [first] = [await follow(owner, '/events'), await follow(owner, '/events')];
  const full = await app.call(owner, 'GET', '/events', { headers: STREAM });
  t.match(full, { status: 429, body: { message: /you have 2 streams/ } });
  t.equal(full.headers.get('retry-after'), '10');
  const other = newUser();
  await follow(other, '/events');
  t.match(await app.call(other, 'GET', '/events', { headers: STREAM }), {
    status: 503,
    body: { message: /serves 3 streams/ },
  });
  t.equal((await app.call(other, 'GET', '/events')).status, 200, 'pages are not');
  first?.leave();
  for (;;) {
    const until = new AbortController();
    const { statusCode, body } = await request(`${app.url}/events`, {
      headers: { authorization: `Bearer ${owner}`, ...STREAM },
      signal: until.signal,
    });
    body.on('error', () => undefined);
    if (statusCode === 200) return until.abort();
    await body.dump();
  }
});
