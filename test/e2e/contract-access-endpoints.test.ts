// The contract of dataset access on the running program: every endpoint, and how end users are made.

import t from 'tap';
import { accessWorld, type Body, bodyOf, DATASET, dataOf, item, replace, TEXTS } from '../contract/access-world.ts';
import { checkApiPage } from '../contract/api-page.ts';
import { longshore } from '../support/longshore.ts';
import { withCache } from '../support/places.ts';

const at = await accessWorld(t);
const { admin, ask, manager, nobody, owner, provider, row, staff, stranger } = at;
const LIST = `/dataset-end-users?datasetId=${DATASET}`;
const PROVIDERS = `/dataset-providers?datasetId=${DATASET}`;
const addStaff = async (userId: number, isOwner = false) =>
  bodyOf(await owner.client.send('POST', '/staff', { userId, isOwner })).staffId as number;
const addProvider = async (userId: number, isManager = false) =>
  bodyOf(await owner.client.send('POST', '/dataset-providers', { datasetId: DATASET, userId, isManager }))
    .providerId as number;

// Endpoints
row('access/endpoints/GET /staff', async (t) => {
  const ids = dataOf(await staff.client.get('/staff')).map(({ staffId }) => Number(staffId));
  t.ok(ids.length > 1);
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  t.strictSame(
    dataOf(await staff.client.get('/staff?limit=1&offset=1')).map(({ staffId }) => staffId),
    ids.slice(1, 2),
  );
});
row('access/endpoints/POST /staff', async (t) => t.ok((await addStaff(8_001)) > 0));
row('access/endpoints/PATCH /staff/{staff-id}', async (t) => {
  const path = `/staff/${await addStaff(8_002)}`;
  const isOwner = async () =>
    dataOf(await owner.client.get('/staff')).find(({ user }) => (user as Body).userId === 8_002)?.isOwner;
  t.equal((await owner.client.send('PATCH', path, [replace('/isOwner', true)])).status, 204);
  t.equal(await isOwner(), true);
  for (const wrong of [item('add', '/isOwner', true), replace('/other', true), replace('/isOwner', 'yes')])
    t.equal((await owner.client.send('PATCH', path, [wrong])).status, 422);
  t.equal((await owner.client.send('PATCH', path, [])).status, 400);
  t.equal(await isOwner(), true);
  t.equal(
    (await owner.client.send('PATCH', path, [replace('/isOwner', true), replace('/isOwner', false)])).status,
    204,
  );
  t.equal(await isOwner(), false);
});
row('access/endpoints/DELETE /staff/{staff-id}', async (t) => {
  const path = `/staff/${await addStaff(8_003)}`;
  t.equal((await owner.client.send('DELETE', path)).status, 204);
  t.equal((await owner.client.send('DELETE', path)).status, 404);
});
row('access/endpoints/GET /dataset-providers', async (t) => {
  const list = dataOf(await manager.client.get(PROVIDERS));
  t.match(list.slice(0, 2), [{ user: manager.shown }, { user: provider.shown }]);
  t.ok(list.every(({ datasetId }) => datasetId === DATASET));
  t.match(bodyOf(await manager.client.get(`${PROVIDERS}&limit=1&offset=1`)), {
    ...{ rows: 1, offset: 1, total: list.length, data: [{ user: provider.shown }] },
  });
  t.equal((await manager.client.get('/dataset-providers')).status, 400, 'datasetId is required');
});
row('access/endpoints/POST /dataset-providers', async (t) => t.ok((await addProvider(8_004)) > 0));
row('access/endpoints/PATCH /dataset-providers/{provider-id}', async (t) => {
  const path = `/dataset-providers/${await addProvider(8_005)}`;
  t.equal((await manager.client.send('PATCH', path, [replace('/isManager', true)])).status, 204);
  t.match(dataOf(await manager.client.get(PROVIDERS)).at(-1), { user: { userId: 8_005 }, isManager: true });
  for (const wrong of [item('remove', '/isManager'), replace('/datasetId', 'x'), replace('/isManager', 1)])
    t.equal((await manager.client.send('PATCH', path, [wrong])).status, 422);
});
row('access/endpoints/DELETE /dataset-providers/{provider-id}', async (t) => {
  const path = `/dataset-providers/${await addProvider(8_006)}`;
  t.equal((await manager.client.send('DELETE', path)).status, 204);
  t.equal((await owner.client.send('DELETE', path)).status, 404);
});
row('access/endpoints/GET /dataset-end-users', async (t) => {
  await at.requester();
  const all = dataOf(await manager.client.get(LIST));
  const ids = all.map(({ user }) => Number((user as Body).userId));
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  t.match(bodyOf(await manager.client.get(`${LIST}&limit=1&offset=${all.length - 1}`)), {
    ...{ rows: 1, offset: all.length - 1, total: all.length, data: [all.at(-1)] },
  });
  t.match(bodyOf(await manager.client.get(`${LIST}&offset=5000`)), { rows: 0, data: [], total: all.length });
  t.equal((await manager.client.get('/dataset-end-users')).status, 400, 'datasetId is required');
  t.equal((await owner.client.get('/dataset-end-users')).status, 200, 'but for owners');
});
row('access/endpoints/POST /dataset-end-users', async (t) => {
  const who = await at.person();
  t.strictSame(bodyOf(await ask(who)), { created: true, endUserId: `${who.id}-${DATASET}` });
});
row('access/endpoints/GET /dataset-end-users/{end-user-id}', async (t) => {
  const { client, path, shown } = await at.requester();
  const answer = await client.get(path);
  t.match(bodyOf(answer), { ...TEXTS, user: shown, approvalStatus: 'requested', duration: -1 });
  t.equal((await client.get(path, { 'if-none-match': answer.headers.get('etag') ?? '' })).status, 304);
});
row('access/endpoints/PATCH /dataset-end-users/{end-user-id}', async (t) => {
  const { client, path } = await at.requester();
  t.equal((await client.send('PATCH', path, [replace('/purpose', 'Other')])).status, 204);
  t.equal(bodyOf(await client.get(path)).purpose, 'Other');
});
row('access/endpoints/DELETE /dataset-end-users/{end-user-id}', async (t) => {
  const { client, path } = await at.requester();
  t.equal((await manager.client.send('DELETE', path)).status, 204);
  t.equal((await client.get(path)).status, 404);
});
row('access/endpoints/GET /permissions', async (t) => {
  t.match(bodyOf(await manager.client.get('/permissions')), { perDataset: { [DATASET]: { isManager: true } } });
  const { perDataset } = bodyOf(await stranger.client.get('/permissions?all=true')) as { perDataset: Body };
  const levels = ['controlled', 'prerelease', 'private', 'protected', 'public'];
  t.strictSame(
    Object.keys(perDataset).sort(),
    levels.map((level) => `SAMPLE_${level}`),
  );
});
row('access/endpoints/GET /permissions/{study-id}', async (t) => {
  const byStudy = bodyOf(await stranger.client.get('/permissions/STUDY_public'));
  t.match(byStudy, { datasetId: 'SAMPLE_public', actionAuthorization: { resultsAll: true } });
  t.strictSame(bodyOf(await stranger.client.get('/permissions/SAMPLE_public')), byStudy);
  t.equal((await stranger.client.get('/permissions/none')).status, 404);
});
row('access/endpoints/GET /history', async (t) => {
  const { path, id } = await at.requester();
  t.match(bodyOf(await owner.client.get('/history?limit=1&offset=0')), {
    results: [{ cause: { action: 'CREATE' }, row: { user: { userID: id } } }],
  });
  t.equal((await manager.client.send('DELETE', path)).status, 204);
  t.match(bodyOf(await manager.client.get('/history?limit=2&offset=0')), {
    results: [{ cause: { action: 'DELETE' } }, { cause: { action: 'CREATE' } }],
  });
});
row('access/endpoints/POST /approve-eligible-access-requests', async (t) => {
  const who = await at.person();
  bodyOf(await ask(who, { datasetId: 'SAMPLE_controlled' }));
  t.equal((await admin.send('POST', '/approve-eligible-access-requests')).status, 204);
  const path = `/dataset-end-users/${who.id}-SAMPLE_controlled`;
  t.equal(bodyOf(await who.client.get(path)).approvalStatus, 'approved');
  t.equal((await owner.client.send('POST', '/approve-eligible-access-requests')).status, 401);
});
row('access/endpoints/GET /api', async (t) => {
  await checkApiPage(t, nobody);
  t.strictSame((await nobody.get('/api/openapi.json')).body, at.recorder.document);
});
row('access/endpoints/GET /health', async (t) => {
  t.match(bodyOf(await nobody.get('/health')), { status: 'healthy' });
  t.ok(at.recorder.documents('GET', '/health', 500));
  t.equal((await nobody.get('/ready')).status, 200);
});
row('access/endpoints/GET /metrics', async (t) => {
  const answer = await nobody.get('/metrics');
  t.match(answer.headers.get('content-type'), /^text\/plain/);
  t.match(answer.text, /^longshore_access_mails_total\{/m);
});

// Creation of end users
row('access/creation/1', async (t) => {
  for (const who of [{ userId: undefined }, { email: stranger.email }]) t.equal((await ask(stranger, who)).status, 422);
});
row('access/creation/2', async (t) => {
  const answer = await ask(manager, { userId: 8_100 });
  t.strictSame(bodyOf(answer), { created: true, endUserId: `8100-${DATASET}` }, 'no account is needed');
});
row('access/creation/3 known address', async (t) => {
  const known = await at.person();
  await known.client.get('/permissions');
  t.strictSame(bodyOf(await ask(manager, { userId: undefined, email: known.email })), {
    created: true,
    endUserId: `${known.id}-${DATASET}`,
  });
});
row('access/creation/3 unknown address', async (t) => {
  const email = 'unknown@lab.example';
  t.strictSame(bodyOf(await ask(manager, { userId: undefined, email })), { created: false });
  // Mails are sent within seconds; until then they are rows.
  await withCache(at.dir, async (sql) => {
    while ((await sql.query('select from access.outbox limit 1')).rows.length > 0);
  });
  const { stdout } = await longshore(['access', 'mail', '--data', at.dir, '--json']);
  const mails = JSON.parse(stdout) as { to: string[]; subject: string }[];
  t.match(
    mails.filter(({ to }) => to.includes(email)),
    [{ subject: 'Case histories of a rare fever: End User Account' }],
  );
  const invited = await at.person({ email });
  await invited.client.get('/permissions');
  t.equal((await invited.client.get(`/dataset-end-users/${invited.id}-${DATASET}`)).status, 200, 'once there is one');
});
row('access/creation/own request', async (t) => {
  const who = await at.person();
  for (const more of [
    { startDate: '2026-01-01T00:00:00Z' },
    { duration: 5 },
    { restrictionLevel: 'public' },
    { approvalStatus: 'requested' },
    { denialReason: '' },
  ])
    t.equal((await ask(who, more)).status, 403, JSON.stringify(more));
  const before = Date.now();
  bodyOf(await ask(who, { duration: 0 }));
  const { startDate, ...rest } = bodyOf(await who.client.get(`/dataset-end-users/${who.id}-${DATASET}`));
  t.match(rest, { approvalStatus: 'requested', restrictionLevel: 'private', duration: -1 });
  t.ok(Date.parse(String(startDate)) >= before - 1_000 && Date.parse(String(startDate)) <= Date.now());
});
