// Statuses of many jobs, what administrators do, and guests who become users.

import t from 'tap';
import { resolveConfig } from '../../../engine/model/report/blast-config.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { verify } from '../numbered-callers.ts';
import { keysOf, REASON, reportApp, START } from './report-app.ts';

t.test('statuses are told by the ids that were sent, of the jobs that there are', async (t) => {
  const app = await reportApp(t);
  const complete = await app.create('1', app.query());
  await app.complete();
  const failed = await app.create('1', app.query());
  await app.fail();
  const queued = await app.create('1', app.query());
  const ask = (body: unknown, user = '2') => app.call(user, 'POST', '/statuses', body);
  const odd = ['0'.repeat(32), 'x', '', 7, null, {}, [], '__proto__', `${queued} `];
  t.strictSame((await ask([complete, queued, failed.toUpperCase(), complete, ...odd])).body, {
    [complete]: 'complete',
    [queued]: 'queued',
    [failed.toUpperCase()]: 'failed',
  });
  t.strictSame((await ask([])).body, {});
  t.strictSame((await app.call('2', 'GET', '/jobs')).body, [], 'nothing goes into a collection');
  for (const body of [{}, 'null', '"text"', '{'])
    t.match(await ask(body), { status: 400, body: { status: 'bad-request' } });
  t.equal((await ask(new Array(10_000).fill(queued))).status, 200);
  t.match(await ask(new Array(10_001).fill('x')), {
    status: 422,
    body: { errors: { general: ['the list has 10001 ids; at most 10000 are allowed'], byKey: {} } },
  });
});

t.test('an administrator has one job expire, or all that have ended', async (t) => {
  const app = await reportApp(t);
  const first = await app.create('1', app.query());
  await app.complete();
  const second = await app.create('1', app.query());
  await app.fail();
  const waiting = await app.create('1', app.query());
  const expire = (path: string) => app.call('admin', 'DELETE', `/maintenance/cache${path}`);
  t.match(await expire(`/${waiting}`), { status: 409, body: { status: 'conflict' } });
  for (const id of ['0'.repeat(32), 'x'])
    t.match(await expire(`/${id}`), { status: 404, body: { status: 'not-found' } });
  t.equal((await expire(`/${first.toUpperCase()}`)).status, 204);
  t.equal((await expire(`/${first}`)).status, 204, 'again');
  const statuses = async () => [first, second, waiting].map(async (id) => app.statusOf(id));
  t.strictSame(await Promise.all(await statuses()), ['expired', 'failed', 'queued']);
  t.equal((await expire('')).status, 204);
  t.strictSame(await Promise.all(await statuses()), ['expired', 'expired', 'queued']);
  t.strictSame(await app.sweep(), { expired: 0, cleaned: 2 });
  t.strictSame(app.store.keys(), []);
});

t.test('more than a batch expires at once', async (t) => {
  const app = await reportApp(t);
  await app.db.query(
    `insert into report_job (id, query_id, configuration, fingerprint, status, created_at, run_at, started_at, ended_at,
       accessed_at, attempt, stderr)
     select lpad(to_hex(n), 32, '0'), repeat('0', 32), '{}', 'f', 'complete', $1, $1, $1, $1, $1, 1, ''
     from generate_series(1, 1200) n`,
    [new Date(START)],
  );
  t.equal((await app.call('admin', 'DELETE', '/maintenance/cache')).status, 204);
  t.strictSame(await app.db.query('select status, count(*)::int from report_job group by status'), [
    { status: 'expired', count: 1_200 },
  ]);
});

t.test('jobs that failed are listed with what they were made of, and why', async (t) => {
  const app = await reportApp(t);
  const list = () => app.call('admin', 'GET', '/maintenance/broken-jobs');
  t.strictSame((await list()).body, []);
  const queryJobID = app.query();
  const id = await app.create('1', queryJobID, {
    blastConfig: { formatType: 'csv' },
    userMeta: { summary: 'private' },
  });
  await app.clock.advance(1_000);
  await app.fail();
  await app.create('1', app.query());
  t.strictSame((await list()).body, [
    {
      reportJobID: id,
      rawConfig: { queryJobID, blastConfig: resolveConfig({ formatType: 'csv' }) },
      createdOn: new Date(START).toISOString(),
      failedOn: new Date(START + 1_000).toISOString(),
      reason: REASON,
    },
  ]);
});

t.test("a guest's collection moves to the user who has the guest's token", async (t) => {
  const app = await reportApp(t);
  const [query, other] = [app.query(), app.query()];
  const both = await app.create('5', query, { userMeta: { summary: 'mine' } });
  await app.create('guest-7', query, { userMeta: { summary: 'of the guest', description: 'more' } });
  const moved = await app.create('guest-7', other, { userMeta: { summary: 'moved' } });
  await app.create('7', app.query());
  const link = (body: object, user = '5') => app.call(user, 'POST', '/link-guest', body);
  t.equal((await link({ guestToken: 'guest-7' })).status, 204);
  t.match((await app.call('5', 'GET', '/jobs')).body, [
    { reportJobID: moved, userMeta: { summary: 'moved' } },
    { reportJobID: both, userMeta: { summary: 'mine', description: 'more' } },
  ]);
  t.strictSame((await app.call('guest-7', 'GET', '/jobs')).body, []);
  t.equal(((await app.call('7', 'GET', '/jobs')).body as unknown[]).length, 1, 'user 7 is somebody else');
  t.equal((await link({ guestToken: 'guest-7' })).status, 204, 'again');
  t.equal((await link({ guestToken: 'guest-7', guestID: 7 })).status, 204, 'with the number');
  t.equal((await link({ guestToken: 'guest-9223372036854775807', guestID: null })).status, 204);
  const exact = '{"guestToken":"guest-9223372036854775807","guestID":9223372036854775807}';
  t.equal((await app.call('5', 'POST', '/link-guest', exact)).status, 204, 'digit by digit');
});

t.test('without that token nothing moves', async (t) => {
  const app = await reportApp(t);
  await app.create('guest-7', app.query());
  const link = (body: unknown, user = '5') => app.call(user, 'POST', '/link-guest', body);
  for (const body of [
    { guestToken: '7' },
    { guestToken: 'x' },
    { guestToken: '' },
    { guestToken: 'guest-7', guestID: 8 },
    { guestToken: 'guest-8', guestID: 7 },
  ])
    t.match(await link(body), { status: 403, body: { status: 'forbidden' } }, JSON.stringify(body));
  t.match(await link({ guestToken: 'guest-7' }, 'guest-8'), { status: 403 }, 'a guest gains nothing');
  t.match(await link({ guestToken: 'guest-7' }, 'admin'), { status: 401 });
  t.strictSame(keysOf(await link({ guestID: 7 })), ['guestToken']);
  t.strictSame(keysOf(await link({ guestToken: 7, guestID: 'x', more: 1 })), ['guestID', 'guestToken', 'more']);
  t.equal((await link('[]')).status, 400);
  t.strictSame((await app.call('5', 'GET', '/jobs')).body, []);
  t.equal(((await app.call('guest-7', 'GET', '/jobs')).body as unknown[]).length, 1);
});

t.test('where tokens cannot be looked at, the answer tells that apart', async (t) => {
  const away = await reportApp(t, {
    verify: async (token) => {
      if (token === 'guest-7') throw transient('the issuer is away');
      return verify(token);
    },
  });
  t.equal((await away.call('5', 'POST', '/link-guest', { guestToken: 'guest-7' })).status, 503);
  const none = await reportApp(t, { verify: undefined });
  t.equal((await none.call('5', 'POST', '/link-guest', { guestToken: 'guest-7' })).status, 403);
});
