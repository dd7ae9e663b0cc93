// Contract 3 on the running program, dataset access: endpoints, rules of creation and change, states, roles, errors, limits.

import t, { type Test } from 'tap';
import type { AccessRowId } from '../contract/access.ts';
import {
  accessWorld,
  type Body,
  bodyOf,
  DATASET,
  item,
  type Person,
  replace,
  TEXTS,
} from '../contract/access-world.ts';
import type { Answer } from '../contract/client.ts';
import { inCache } from '../contract/watch.ts';
import { longshore } from '../support/longshore.ts';
import { withCache } from '../support/site-state.ts';

const at = await accessWorld(t);
const { admin, guest, manager, nobody, owner, provider, row, staff, stranger } = at;
const LIST = `/dataset-end-users?datasetId=${DATASET}`;
const PROVIDERS = `/dataset-providers?datasetId=${DATASET}`;
const ask = (who: Person, more: Body = {}) =>
  who.client.send('POST', '/dataset-end-users', { ...TEXTS, userId: who.id, datasetId: DATASET, ...more });
const addStaff = async (userId: number, isOwner = false) =>
  bodyOf(await owner.client.send('POST', '/staff', { userId, isOwner })).staffId as number;
const addProvider = async (userId: number, isManager = false) =>
  bodyOf(await owner.client.send('POST', '/dataset-providers', { datasetId: DATASET, userId, isManager }))
    .providerId as number;
const dataOf = (answer: Answer): readonly Body[] => bodyOf(answer).data as Body[];
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
  const answer = await nobody.get('/api');
  t.match(answer.headers.get('content-type'), /^text\/html/);
  t.match(answer.text, /dataset-end-users/);
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

// Patches, by path
interface PathCase {
  readonly path: string;
  readonly value: unknown;
  readonly wrong: unknown;
  /** What a removal leaves; absent when only replace is allowed. */
  readonly removed?: (value: unknown) => boolean;
  readonly ownToo?: boolean;
}
const text = (name: string, path = `/${name}`): readonly [string, readonly PathCase[]] => [
  name,
  [{ path, value: 'New text', wrong: 5, ownToo: true }],
];
const PATHS: readonly (readonly [string, readonly PathCase[]])[] = [
  [
    'startDate',
    [
      {
        ...{ path: '/startDate', value: '2026-02-03T04:05:06.000Z', wrong: 'soon' },
        removed: (value) => Math.abs(Date.parse(String(value)) - Date.now()) < 60_000,
      },
    ],
  ],
  ['duration', [{ path: '/duration', value: 77, wrong: 'long', removed: (value) => value === -1 }]],
  ['restrictionLevel', [{ path: '/restrictionLevel', value: 'public', wrong: 'open' }]],
  text('purpose'),
  text('researchQuestion'),
  text('analysisPlan'),
  text('disseminationPlan'),
  ['priorAuth', [...text('priorAuth')[1], ...text('priorAuth', 'priorAuth')[1]]],
  ['approvalStatus', [{ path: '/approvalStatus', value: 'approved', wrong: 'maybe' }]],
  ['denialReason', [{ path: '/denialReason', value: 'Why', wrong: 5, removed: (value) => value === undefined }]],
];
for (const [field, cases] of PATHS)
  row(`access/patch/${field}` as AccessRowId, async (t) => {
    for (const { path, value, wrong, removed, ownToo } of cases) {
      const asked = await at.requester();
      const send = (who: Person, ...items: unknown[]) => who.client.send('PATCH', asked.path, items);
      const now = async () => bodyOf(await owner.client.get(asked.path))[field];
      const was = await now();
      t.equal((await send(manager, replace(path, wrong))).status, 422, 'value');
      for (const op of ['add', 'remove'])
        if (!removed) t.equal((await send(manager, item(op, path, value))).status, 403, op);
      t.strictSame(await now(), was);
      t.equal((await send(asked, replace(path, value))).status, ownToo ? 204 : 403, 'requester');
      t.strictSame(await now(), ownToo ? value : was);
      t.equal((await send(manager, replace(path, value))).status, 204, 'manager');
      t.strictSame(await now(), value);
      if (removed) {
        t.equal((await send(owner, item('remove', path))).status, 204);
        t.ok(removed(await now()));
        t.equal((await send(owner, item('add', path, value))).status, 204);
        t.strictSame(await now(), value);
      }
      if (!ownToo) continue;
      t.equal((await send(manager, replace('/approvalStatus', 'approved'))).status, 204);
      t.equal((await send(asked, replace(path, 'Later'))).status, 403, 'while requested');
      t.equal((await send(manager, replace(path, 'Later'))).status, 204, 'at any time');
    }
  });
row('access/patch/any other path', async (t) => {
  const { path } = await at.requester();
  for (const other of [
    '/userId',
    '/datasetId',
    '/dateDenied',
    '/purpose/0',
    'purpose',
    '//purpose',
    '/Purpose',
    '/__proto__',
  ])
    t.equal((await owner.client.send('PATCH', path, [replace(other, 'x')])).status, 403, other);
});
row('access/patch/any other operation', async (t) => {
  const { path } = await at.requester();
  for (const op of ['move', 'copy', 'test', 'Replace', ''])
    t.equal((await owner.client.send('PATCH', path, [item(op, '/duration', 5)])).status, 403, op);
});
row('access/patch/any other caller', async (t) => {
  const { path } = await at.requester();
  for (const who of [stranger, provider, staff, guest])
    t.equal((await who.client.send('PATCH', path, [replace('/purpose', 'x')])).status, 403);
});
row('access/patch/all or none', async (t) => {
  const { path, client } = await at.requester();
  const before = bodyOf(await client.get(path));
  const good = replace('/purpose', 'Changed');
  t.equal((await owner.client.send('PATCH', path, [good, replace('/duration', 'x')])).status, 422);
  t.equal((await owner.client.send('PATCH', path, [good, replace('/none', 'x')])).status, 403);
  t.strictSame(bodyOf(await client.get(path)), before);
  t.equal((await owner.client.send('PATCH', path, [good, replace('/purpose', 'Again')])).status, 204);
  t.equal(bodyOf(await client.get(path)).purpose, 'Again', 'in order');
});
row('access/patch/If-Match', async (t) => {
  const { path, client } = await at.requester();
  const etag = (await client.get(path)).headers.get('etag') ?? '';
  const change = (value: string, tag: string) =>
    client.send('PATCH', path, [replace('/purpose', value)], { 'if-match': tag });
  t.equal((await change('First', etag)).status, 204);
  t.equal((await change('Second', etag)).status, 412);
  t.equal(bodyOf(await client.get(path)).purpose, 'First');
});

// States
const MOVES = [
  ['requested', 'approved', 204],
  ['requested', 'denied', 204],
  ['denied', 'requested', 204],
  ['denied', 'approved', 204],
  ['approved', 'denied', 204],
  ['approved', 'requested', 422],
] as const;
let nobodyYet = 9_000;
const inState = async (status: string): Promise<string> => {
  const userId = ++nobodyYet;
  bodyOf(await ask(manager, { userId, approvalStatus: status }));
  return `/dataset-end-users/${userId}-${DATASET}`;
};
const become = async (path: string, status: string) =>
  (await manager.client.send('PATCH', path, [replace('/approvalStatus', status)])).status;
for (const [from, to, code] of MOVES)
  row(`access/states/${from} to ${to}` as AccessRowId, async (t) => {
    const path = await inState(from);
    t.equal(await become(path, to), code);
    const { approvalStatus, denialReason } = bodyOf(await manager.client.get(path));
    t.equal(approvalStatus, code === 204 ? to : from);
    if (approvalStatus === 'denied') t.ok(String(denialReason).length > 0, 'a reason');
  });
row('access/states/to unrequested', async (t) => {
  for (const from of ['requested', 'approved', 'denied'])
    t.equal(await become(await inState(from), 'unrequested'), 422);
});
row('access/states/same', async (t) => {
  for (const status of ['requested', 'approved', 'denied']) {
    const path = await inState(status);
    const before = await manager.client.get(path);
    t.equal(await become(path, status), 204);
    t.equal((await manager.client.get(path)).headers.get('etag'), before.headers.get('etag'), status);
  }
});

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
  t.strictSame(bodyOf(await guest.client.get('/permissions')), {});
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
