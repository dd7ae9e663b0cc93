import t from 'tap';
import { ADMIN_TOKEN, accessApp, replace, shownUser } from './access-app.ts';

t.test('GET /staff: any staff, ascending by id, in pages; others 403', async (t) => {
  const app = await accessApp(t);
  await app.call('1', 'GET', '/staff');
  const owner = { staffId: 1, user: shownUser(1), isOwner: true };
  const other = { staffId: 2, user: shownUser(4), isOwner: false };
  const all = await app.call('4', 'GET', '/staff');
  t.strictSame([all.status, all.body], [200, { data: [owner, other], rows: 2, offset: 0, total: 2 }]);
  const page = await app.call('4', 'GET', '/staff?limit=1&offset=1');
  t.strictSame(page.body, { data: [other], rows: 1, offset: 1, total: 2 });
  const beyond = await app.call('4', 'GET', '/staff?offset=7');
  t.strictSame(beyond.body, { data: [], rows: 0, offset: 7, total: 2 });
  for (const query of ['limit=0', 'limit=-1', 'offset=-1', 'limit=x', 'page=1'])
    t.equal((await app.call('4', 'GET', `/staff?${query}`)).status, 400, query);
});

t.test('POST /staff: the administrator makes the first owner, owners make more', async (t) => {
  const app = await accessApp(t);
  await app.db.query('alter table staff disable trigger staff_recorded');
  await app.db.query('delete from staff');
  await app.db.query('alter table staff enable trigger staff_recorded');
  t.equal((await app.call('1', 'POST', '/staff', { userId: 1, isOwner: true })).status, 403, 'nobody is an owner');
  const admin = { 'admin-token': ADMIN_TOKEN };
  const first = await app.call(undefined, 'POST', '/staff', { userId: 1, isOwner: true }, admin);
  t.strictSame([first.status, first.body], [200, { staffId: 3 }]);
  t.equal((await app.call(undefined, 'POST', '/staff', {}, { 'admin-token': 'b'.repeat(40) })).status, 403);
  const second = await app.call('1', 'POST', '/staff', { userId: '9007199254740993', isOwner: false, note: 'extra' });
  t.equal(second.status, 200, 'further properties are allowed, and ids above 2^53');
  t.match(await app.call('1', 'POST', '/staff', { userId: 1, isOwner: false }), {
    status: 409,
    body: { status: 'conflict' },
  });
  const [{ causes } = {}] = await app.db.query(
    'select array_agg(cause_user::text order by audit_id) as causes from people_audit where audit_id > 12',
  );
  t.strictSame(causes, ['0', '1'], 'the causes are recorded');
});

t.test('POST /staff: 400 for what is not a JSON object, 422 for every fault', async (t) => {
  const app = await accessApp(t);
  for (const body of ['{', '[]', '3', 'null']) t.equal((await app.call('1', 'POST', '/staff', body)).status, 400, body);
  t.match(await app.call('1', 'POST', '/staff', { userId: -1, isOwner: 'yes' }), {
    status: 422,
    body: { status: 'invalid-input', errors: { byKey: { userId: [String], isOwner: [String] } } },
  });
  t.match(await app.call('1', 'POST', '/staff', {}), {
    status: 422,
    body: { errors: { byKey: { userId: [/missing/], isOwner: [/missing/] } } },
  });
});

t.test('PATCH /staff/{staff-id}: owners only, items in order, the last owner stays', async (t) => {
  const app = await accessApp(t);
  const patch = (who: string, id: string, body: unknown) => app.call(who, 'PATCH', `/staff/${id}`, body);
  for (const id of ['77', 'x', '0', '99999999999999999999'])
    t.equal((await patch('1', id, [replace('/isOwner', true)])).status, 404, id);
  t.equal((await patch('1', '2', [])).status, 400);
  t.equal((await patch('1', '2', {})).status, 400);
  for (const item of [
    { op: 'add', path: '/isOwner', value: true },
    replace('/userId', 3),
    replace('/isOwner', 'true'),
    { op: 'replace', path: '/isOwner' },
    'x',
  ])
    t.equal((await patch('1', '2', [replace('/isOwner', true), item])).status, 422, JSON.stringify(item));
  t.equal((await app.call('4', 'POST', '/staff', { userId: 8, isOwner: true })).status, 403, 'nothing was changed');
  t.equal((await patch('1', '1', [replace('/isOwner', false)])).status, 409, 'the last owner');
  t.equal((await patch('1', '2', [replace('/isOwner', false), replace('/isOwner', true)])).status, 204);
  t.equal((await patch('4', '1', [replace('/isOwner', false)])).status, 204);
  t.equal((await patch('1', '2', [replace('/isOwner', false)])).status, 403);
});

t.test('DELETE /staff/{staff-id}: owners only, the last owner stays', async (t) => {
  const app = await accessApp(t);
  t.equal((await app.call('1', 'DELETE', '/staff/77')).status, 404);
  t.match(await app.call('1', 'DELETE', '/staff/1'), { status: 409, body: { status: 'conflict' } });
  t.equal((await app.call('1', 'DELETE', '/staff/2')).status, 204);
  t.equal((await app.call('1', 'DELETE', '/staff/2')).status, 404);
});

t.test('two owners who demote each other at once leave one', async (t) => {
  const app = await accessApp(t);
  await app.call('1', 'PATCH', '/staff/2', [replace('/isOwner', true)]);
  const admin = { 'admin-token': ADMIN_TOKEN };
  const codes = await Promise.all(
    [1, 2].map(
      async (id) => (await app.call(undefined, 'PATCH', `/staff/${id}`, [replace('/isOwner', false)], admin)).status,
    ),
  );
  t.strictSame(codes.sort(), [204, 409]);
});
