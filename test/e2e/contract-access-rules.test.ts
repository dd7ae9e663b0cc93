// The contract of dataset access on the running program: who may do what, errors and limits.

import t, { type Test } from 'tap';
import { accessWorld, type Body, bodyOf, DATASET, dataOf, type Person, replace } from '../contract/access-world.ts';
import type { Answer } from '../contract/client.ts';
import { inCache } from '../contract/watch.ts';
import { withCache } from '../support/places.ts';

const at = await accessWorld(t);
const { admin, ask, become, guest, manager, nobody, owner, provider, row, staff, stranger } = at;
const LIST = `/dataset-end-users?datasetId=${DATASET}`;
const PROVIDERS = `/dataset-providers?datasetId=${DATASET}`;
let nobodyYet = 9_000;
const problem = (
  t: Test,
  { status, body, text }: Answer,
  code: number,
  word: string,
  extra: readonly string[] = [],
): void => {
  t.equal(status, code, text);
  t.strictSame(Object.keys(body as Body).sort(), ['message', ...extra, 'status'].sort());
  t.equal((body as Body).status, word);
};

// Authentication and roles
row('access/authentication/Auth_Key', async (t) => {
  const get = async (headers: Record<string, string>) => (await at.as(headers).get('/staff')).status;
  const [mine, other] = [owner.token, staff.token];
  t.equal(await get({ auth_key: mine }), 200);
  t.equal(await get({ 'auth-key': mine }), 200);
  t.equal(await get({ authorization: `Bearer ${mine}` }), 200);
  t.equal(await get({ auth_key: mine, authorization: `Bearer ${other}` }), 400);
});
const CALLS = [
  ['GET', '/staff'],
  ['POST', '/staff'],
  ['PATCH', '/staff/1'],
  ['DELETE', '/staff/1'],
  ['GET', PROVIDERS],
  ['POST', '/dataset-providers'],
  ['PATCH', '/dataset-providers/1'],
  ['DELETE', '/dataset-providers/1'],
  ['GET', LIST],
  ['POST', '/dataset-end-users'],
  ['GET', `/dataset-end-users/1-${DATASET}`],
  ['PATCH', `/dataset-end-users/1-${DATASET}`],
  ['DELETE', `/dataset-end-users/1-${DATASET}`],
  ['GET', '/history'],
] as const;
row('access/authentication/none', async (t) => {
  for (const [method, path] of [...CALLS, ['GET', '/permissions'], ['GET', '/permissions/STUDY_public']] as const) {
    t.equal((await nobody.send(method, path)).status, 401, `${method} ${path}`);
    t.equal((await at.as({ auth_key: 'x' }).send(method, path)).status, 401, 'a bad token');
  }
});
row('access/authentication/guest', async (t) => {
  for (const [method, path] of CALLS) t.equal((await guest.client.send(method, path)).status, 403, `${method} ${path}`);
  t.strictSame(bodyOf(await guest.client.get('/permissions')), { perDataset: {} });
  t.match(bodyOf(await guest.client.get('/permissions/STUDY_public')), { actionAuthorization: { resultsAll: true } });
});
row('access/authentication/Admin-Token', async (t) => {
  t.equal((await admin.get('/staff')).status, 200);
  t.equal((await admin.get(PROVIDERS)).status, 401, 'no user');
  t.equal((await at.as({ 'admin-token': 'wrong' }).get('/staff')).status, 403);
});
row('access/roles/staff', async (t) => {
  t.equal((await staff.client.get('/staff')).status, 200);
  t.equal((await manager.client.get('/staff')).status, 403);
  t.equal((await staff.client.send('POST', '/staff', { userId: 5, isOwner: true })).status, 403);
  const mine = dataOf(await owner.client.get('/staff')).find(({ isOwner }) => isOwner);
  t.equal((await owner.client.send('DELETE', `/staff/${mine?.staffId}`)).status, 409);
  t.equal((await owner.client.send('PATCH', `/staff/${mine?.staffId}`, [replace('/isOwner', false)])).status, 409);
});
row('access/roles/providers', async (t) => {
  for (const [who, sees, changes] of [
    [owner, 200, 200],
    [manager, 200, 200],
    [provider, 200, 403],
    [staff, 200, 403],
    [stranger, 403, 403],
  ] as const) {
    t.equal((await who.client.get(PROVIDERS)).status, sees);
    const body = { datasetId: DATASET, userId: ++nobodyYet, isManager: false };
    t.equal((await who.client.send('POST', '/dataset-providers', body)).status, changes);
  }
  const elsewhere = { datasetId: 'SAMPLE_public', userId: 1, isManager: true };
  t.equal((await manager.client.send('POST', '/dataset-providers', elsewhere)).status, 403, 'of another dataset');
});
row('access/roles/end users', async (t) => {
  for (const [who, lists, reads, changes] of [
    [owner, 200, 200, 204],
    [manager, 200, 200, 204],
    [provider, 200, 200, 403],
    [staff, 200, 200, 403],
    [stranger, 403, 403, 403],
  ] as const) {
    const { path, id } = await at.requester();
    t.equal((await who.client.get(LIST)).status, lists);
    t.equal((await who.client.get(path)).status, reads);
    t.equal((await who.client.send('DELETE', path)).status, changes);
    t.equal((await ask(who, { userId: id + 50_000 })).status, changes === 204 ? 200 : 403, 'for others');
  }
  const own = await at.requester();
  t.equal((await own.client.send('DELETE', own.path)).status, 204, 'withdraws');
  t.equal((await ask(own)).status, 200, 'and asks again');
  t.equal(await become(own.path, 'approved'), 204);
  t.equal((await own.client.send('DELETE', own.path)).status, 403, 'not once it is approved');
});
row('access/roles/history', async (t) => {
  const elsewhere = await at.person();
  bodyOf(await ask(elsewhere, { datasetId: 'SAMPLE_public' }));
  const rows = async ({ client }: Person) => bodyOf(await client.get('/history')).results as { row: Body }[];
  t.ok((await rows(owner)).some(({ row: image }) => image.datasetPresenterID === 'SAMPLE_public'));
  t.ok((await rows(manager)).length > 0);
  t.ok((await rows(manager)).every(({ row: image }) => image.datasetPresenterID !== 'SAMPLE_public'));
  for (const who of [provider, staff, stranger]) t.strictSame(await rows(who), []);
});
row('access/roles/before existence', async (t) => {
  const { path } = await at.requester();
  for (const [method, there, missing] of [
    ['GET', path, `/dataset-end-users/1-${DATASET}`],
    ['PATCH', path, `/dataset-end-users/1-${DATASET}`],
    ['DELETE', path, `/dataset-end-users/1-${DATASET}`],
    ['DELETE', '/staff/1', '/staff/999999'],
    ['DELETE', '/dataset-providers/1', '/dataset-providers/999999'],
  ] as const) {
    const [a, b] = [await stranger.client.send(method, there), await stranger.client.send(method, missing)];
    t.strictSame([a.status, b.status], [403, 403], `${method} ${missing}`);
    t.strictSame(Object.keys(a.body as Body), Object.keys(b.body as Body));
  }
});

// Errors
row('access/errors/400', async (t) => {
  const json = { 'content-type': 'application/json' };
  for (const body of ['{', '[]', '"text"'])
    problem(t, await owner.client.call('POST', '/staff', { headers: json, body }), 400, 'bad-request');
  problem(t, await owner.client.get('/staff?limit=many'), 400, 'bad-request');
});
row('access/errors/401', async (t) => problem(t, await nobody.get('/staff'), 401, 'unauthorized'));
row('access/errors/403', async (t) => problem(t, await stranger.client.get('/staff'), 403, 'forbidden'));
row('access/errors/404', async (t) => {
  problem(t, await owner.client.get(`/dataset-end-users/1-${DATASET}`), 404, 'not-found');
  problem(t, await owner.client.get('/nowhere'), 404, 'not-found');
});
row('access/errors/405', async (t) => {
  const answer = await owner.client.send('PUT', '/staff', {});
  problem(t, answer, 405, 'bad-method');
  t.match(answer.headers.get('allow'), /GET.*POST/);
});
row('access/errors/409', async (t) => {
  problem(t, await owner.client.send('POST', '/staff', { userId: staff.id, isOwner: false }), 409, 'conflict');
  const body = { datasetId: DATASET, userId: provider.id, isManager: false };
  problem(t, await owner.client.send('POST', '/dataset-providers', body), 409, 'conflict');
  problem(t, await ask(await at.requester()), 409, 'conflict');
});
row('access/errors/412', async (t) => {
  const { path, client } = await at.requester();
  const answer = await client.send('PATCH', path, [replace('/purpose', 'x')], { 'if-match': '"other"' });
  problem(t, answer, 412, 'conflict');
});
row('access/errors/415', async (t) =>
  problem(
    t,
    await owner.client.call('POST', '/staff', { headers: { 'content-type': 'text/plain' }, body: '{}' }),
    415,
    'bad-request',
  ),
);
row('access/errors/422', async (t) => {
  const answer = await owner.client.send('POST', '/staff', { userId: 0, isOwner: 'x' });
  problem(t, answer, 422, 'invalid-input', ['errors']);
  const { errors } = answer.body as { errors: { general: unknown[]; byKey: Record<string, unknown[]> } };
  t.strictSame(errors.general, []);
  t.strictSame(Object.keys(errors.byKey).sort(), ['isOwner', 'userId']);
  t.type(errors.byKey.userId?.[0], 'string');
});
row('access/errors/429', async (t) => {
  const invite = () => ask(manager, { userId: undefined, email: 'often@lab.example' });
  bodyOf(await invite());
  const answer = await invite();
  problem(t, answer, 429, 'bad-request');
  t.match(answer.headers.get('retry-after'), /^\d+$/);
});
row('access/errors/500', async (t) => {
  await inCache(at.dir, 'alter table access.staff rename to staff_away');
  try {
    const answer = await owner.client.get('/staff');
    problem(t, answer, 500, 'server-error', ['requestId']);
    t.equal((answer.body as Body).requestId, answer.headers.get('x-request-id'));
  } finally {
    await inCache(at.dir, 'alter table access.staff_away rename to staff');
  }
});

// Limits
/** Runs statements as the service's own changes run. */
const change = (...statements: readonly string[]): Promise<void> =>
  withCache(at.dir, async (sql) => {
    await sql.query('begin');
    await sql.query(`select set_config('longshore.cause_user', '0', true),
      set_config('longshore.cause_time', '2026-01-01T00:00:00Z', true)`);
    for (const statement of statements) await sql.query(statement);
    await sql.query('commit');
  });
row('access/limits/staff', async (t) => {
  await change('insert into access.staff (user_id, is_owner) select 100000 + n, false from generate_series(1, 1100) n');
  t.match(bodyOf(await owner.client.get('/staff')), { rows: 1_000, offset: 0 });
  t.equal(dataOf(await owner.client.get('/staff?limit=1050')).length, 1_050);
});
row('access/limits/providers', async (t) => {
  await change(`insert into access.provider (user_id, dataset_id, is_manager)
    select 100000 + n, 'SAMPLE_prerelease', false from generate_series(1, 1100) n`);
  const path = '/dataset-providers?datasetId=SAMPLE_prerelease';
  t.match(bodyOf(await owner.client.get(path)), { rows: 1_000, offset: 0, total: 1_100 });
  t.match(bodyOf(await owner.client.get(`${path}&offset=1000`)), { rows: 100, offset: 1_000, total: 1_100 });
});
row('access/limits/end users', async (t) => {
  await change(`insert into access.end_user (user_id, dataset_id, restriction_level, approval_status, start_date, duration,
      purpose, research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason, requested_at)
    select 100000 + n, 'SAMPLE_prerelease', 'public', 'requested', now(), -1, '', '', '', '', '', '', now()
    from generate_series(1, 250) n`);
  const path = '/dataset-end-users?datasetId=SAMPLE_prerelease';
  t.match(bodyOf(await owner.client.get(path)), { rows: 100, offset: 0, total: 250 });
  const ids = dataOf(await owner.client.get(`${path}&limit=230&offset=10`)).map(({ user }) => (user as Body).userId);
  t.strictSame(
    ids,
    Array.from({ length: 230 }, (_, n) => 100_011 + n),
  );
});
row('access/limits/history', async (t) => {
  t.match(bodyOf(await owner.client.get('/history')), { meta: { rows: 100, offset: 0 } });
  t.match(bodyOf(await owner.client.get('/history?limit=1')), { meta: { rows: 1 } });
  for (const limit of ['0', '101', '-1', 'x']) t.equal((await owner.client.get(`/history?limit=${limit}`)).status, 400);
});
row('access/limits/offset', async (t) => {
  for (const path of ['/staff?', `${PROVIDERS}&`, `${LIST}&`, '/history?'])
    for (const offset of ['-1', 'x', '1.5'])
      t.equal((await owner.client.get(`${path}offset=${offset}`)).status, 400, `${path}offset=${offset}`);
});
row('access/limits/ids', async (t) => {
  for (const path of ['/staff/0', '/dataset-providers/0', `/dataset-end-users/0-${DATASET}`])
    t.equal((await owner.client.send('DELETE', path)).status, 404, path);
});
row('access/limits/texts', async (t) => {
  const { path, client } = await at.requester();
  t.equal((await client.send('PATCH', path, [replace('/purpose', 'x'.repeat(32_768))])).status, 204);
  t.equal((await client.send('PATCH', path, [replace('/purpose', 'x'.repeat(32_769))])).status, 422);
});
