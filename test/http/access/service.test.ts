import t from 'tap';
import { transient } from '../../../engine/runtime/failure.ts';
import { formatUptime } from '../../../http/kernel/pipeline/ops.ts';
import { accessApp, asks, DAY_MS, dataset, enters, never, replace } from './access-app.ts';

t.test('exactly the endpoints of the contract are served, and the one of approvals', async (t) => {
  const app = await accessApp(t);
  const known = app.routes.map(({ method, path, access }) => `${method} ${path} ${access}`).sort();
  t.strictSame(known, [
    'DELETE /dataset-end-users/:id user',
    'DELETE /dataset-providers/:id user',
    'DELETE /staff/:id user-or-admin',
    'GET /dataset-end-users user',
    'GET /dataset-end-users/:id user',
    'GET /dataset-providers user',
    'GET /health open',
    'GET /history user',
    'GET /permissions user-or-guest',
    'GET /permissions/:study user-or-guest',
    'GET /staff user-or-admin',
    'PATCH /dataset-end-users/:id user',
    'PATCH /dataset-providers/:id user',
    'PATCH /staff/:id user-or-admin',
    'POST /approve-eligible-access-requests admin',
    'POST /dataset-end-users user',
    'POST /dataset-providers user',
    'POST /staff user-or-admin',
  ]);
  t.match((await app.call(undefined, 'GET', '/api')).headers.get('content-type'), /^text\/html/);
});

t.test('every endpoint that people call documents Auth_Key, and no other does', async (t) => {
  const { routes } = await accessApp(t);
  const documented = routes.filter(({ headers = {} }) => 'Auth_Key' in headers);
  t.strictSame(
    documented,
    routes.filter(({ access }) => access !== 'open' && access !== 'admin'),
  );
  t.ok(documented.length > 0 && documented.length < routes.length);
});

t.test(
  'the token may stand in Auth_Key, Auth-Key or Authorization; two that differ are 400, none is 401',
  async (t) => {
    const app = await accessApp(t);
    const get = async (headers: object) => (await app.call(undefined, 'GET', '/staff', undefined, headers)).status;
    for (const good of [{ auth_key: '1' }, { 'Auth-Key': '1' }, { authorization: 'Bearer 1' }])
      t.equal(await get(good), 200);
    t.equal(await get({ auth_key: '1', 'auth-key': '4' }), 400);
    t.equal(await get({ auth_key: 'x' }), 401);
    t.equal(await get({}), 401);
  },
);

t.test('/health tells each dependency apart; it is 200 whatever they say', async (t) => {
  const clocked = { name: 'slow', probe: () => new Promise<void>(() => undefined) };
  const app = await accessApp(t, {
    dependencies: [
      { name: 'access-db', probe: async () => undefined },
      { name: 'account-db', probe: () => Promise.reject(transient('refused', { unreachable: true })) },
      { name: 'smtp', probe: () => Promise.reject(new Error('no such mailbox')) },
      clocked,
    ],
  });
  await app.clock.advance(60_000);
  const asked = app.call(undefined, 'GET', '/health');
  while (app.clock.pending === 0) await app.clock.settle();
  await app.clock.advance(2_000);
  const { status, body } = await asked;
  t.strictSame(
    [status, body],
    [
      200,
      {
        status: 'unhealthy',
        version: '1',
        dependencies: [
          { name: 'access-db', reachable: true, online: 'yes' },
          { name: 'account-db', reachable: false, online: 'unknown', message: 'refused' },
          { name: 'smtp', reachable: true, online: 'no', message: 'the check failed' },
          { name: 'slow', reachable: false, online: 'unknown', message: 'no response within 2000 ms' },
        ],
        info: { threads: 3, uptime: '1m 2.000s', uptimeMillis: 62_000 },
      },
    ],
  );
  const mute = await accessApp(t, {
    dependencies: [{ name: 'smtp', vital: false, probe: () => Promise.reject(new Error('no such mailbox')) }],
  });
  t.match((await mute.call(undefined, 'GET', '/health')).body, { status: 'degraded' });
  const well = await accessApp(t);
  t.match((await well.call(undefined, 'GET', '/health')).body, { status: 'healthy' });
});

t.test('the uptime leaves out leading units that are zero', async (t) => {
  t.equal(formatUptime(1), '0.001s');
  t.equal(formatUptime(3_600_000), '1h 0m 0.000s');
  t.equal(formatUptime(((26 * 60 + 3) * 60 + 4) * 1000 + 567), '1d 2h 3m 4.567s');
});

t.test('requests are approved once their waiting time is over, by the administrator only', async (t) => {
  const app = await accessApp(t);
  await app.catalogue.put(
    [
      dataset('protected', 'protected', { daysForApproval: 2 }),
      dataset('controlled', 'controlled', { daysForApproval: 0 }),
      dataset('private', 'private', { daysForApproval: 0 }),
      dataset('public', 'public', { daysForApproval: -5 }),
    ],
    never,
  );
  for (const id of ['protected', 'controlled', 'private', 'public', 'prerelease']) await asks(app, 30, id);
  const run = async () => (await app.call('admin', 'POST', '/approve-eligible-access-requests')).status;
  const approved = async () => {
    const { body } = await app.call('1', 'GET', '/dataset-end-users?approval=approved');
    return (body as { data: { datasetId: string }[] }).data.map(({ datasetId }) => datasetId);
  };
  t.strictSame(await approved(), []);
  t.equal(await run(), 204);
  t.strictSame(await approved(), ['controlled']);
  await app.clock.advance(2 * DAY_MS - 1);
  await run();
  t.strictSame(await approved(), ['controlled']);
  await app.clock.advance(1);
  t.strictSame(await Promise.all([run(), run(), run()]), [204, 204, 204]);
  t.strictSame(await approved(), ['controlled', 'protected']);
  t.strictSame(
    (await app.mails()).map(({ template, datasetId }) => `${template} ${datasetId}`),
    ['approved controlled', 'approved protected'],
  );
  const { body } = await app.call('1', 'GET', '/history?limit=1');
  t.match(body, { results: [{ cause: { user: { userID: 0, firstName: 'system' }, action: 'UPDATE' } }] });
});

t.test('the waiting time counts from the last time that it was requested, and not for what was decided', async (t) => {
  const app = await accessApp(t);
  await app.catalogue.put([dataset('protected', 'protected', { daysForApproval: 2 })], never);
  await enters(app, 30, 'protected', { startDate: '2020-01-01T00:00:00Z' });
  await enters(app, 31, 'protected', { approvalStatus: 'denied' });
  const run = () => app.call('admin', 'POST', '/approve-eligible-access-requests');
  await run();
  const of = async (user: number) => (await app.call('1', 'GET', `/dataset-end-users/${user}-protected`)).body;
  t.match(await of(30), { approvalStatus: 'requested' }, 'not from its start');
  await app.clock.advance(DAY_MS);
  await app.call('2', 'PATCH', '/dataset-end-users/31-protected', [replace('/approvalStatus', 'requested')]);
  await app.clock.advance(DAY_MS);
  await run();
  t.match(await of(30), { approvalStatus: 'approved' });
  t.match(await of(31), { approvalStatus: 'requested' });
  await app.clock.advance(DAY_MS);
  await run();
  t.match(await of(31), { approvalStatus: 'approved' });
});
