// The contract of dataset access on the running program: every field of every resource.

import t from 'tap';
import type { AccessRowId } from '../contract/access.ts';
import { accessWorld, type Body, bodyOf, DATASET, faultsOf, item, replace, TEXTS } from '../contract/access-world.ts';

const at = await accessWorld(t);
const { owner, manager, provider, staff, stranger, row } = at;
const LEVELS = ['public', 'prerelease', 'protected', 'controlled', 'private'];
const DATE_TIME_ONLY = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/;
const ALL = { studyMetadata: true, subsetting: true, visualizations: true, resultsFirstPage: true, resultsAll: true };
const READ_ABOUT = {
  ...{ studyMetadata: true, subsetting: false, visualizations: false },
  ...{ resultsFirstPage: false, resultsAll: false },
};

/** One row per field: what the sample has there. Functions are asked, anything else is compared. */
function fields(resource: string, sample: () => Promise<Body>, expected: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(expected))
    row(`access/${resource}/${field}` as AccessRowId, async (t) => {
      const found = field.split('.').reduce((body: Body, key) => body[key] as Body, await sample());
      if (typeof value === 'function') t.ok(value(found), JSON.stringify(found));
      else t.strictSame(found, value);
    });
}
const isId = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;
const first = async (list: Promise<{ body: unknown }>): Promise<Body> =>
  ((await list).body as { data: Body[] }).data[0] as Body;

/** Without the field, and with each of these instead. */
async function faultsWith(post: (body: Body) => Promise<unknown>, good: Body, field: string, ...values: unknown[]) {
  const faults = [await post({ ...good, [field]: undefined })];
  for (const value of values) faults.push(await post({ ...good, [field]: value }));
  return faults;
}

// Staff
const newStaff = async (body: Body) => faultsOf(await owner.client.send('POST', '/staff', body));
fields('staff entry', () => first(owner.client.get('/staff')), { staffId: isId, user: owner.shown, isOwner: true });
row('access/new staff/userId', async (t) => {
  const body = { isOwner: false };
  t.strictSame(await newStaff({ ...body, userId: 5_001 }), 'accepted');
  const faults = await faultsWith(newStaff, body, 'userId', '5a', 0, -1, 1.5, true, null);
  t.strictSame(
    faults,
    Array.from({ length: 7 }, () => ['userId']),
  );
});
row('access/new staff/isOwner', async (t) => {
  t.strictSame(await newStaff({ userId: 5_002, isOwner: true }), 'accepted');
  const faults = await faultsWith(newStaff, { userId: 5_003 }, 'isOwner', 'true', 1, null);
  t.strictSame(
    faults,
    Array.from({ length: 4 }, () => ['isOwner']),
  );
});
row('access/new staff/extra properties', async (t) =>
  t.strictSame(await newStaff({ userId: 5_004, isOwner: false, note: 'more' }), 'accepted'),
);
row('access/new staff answer/staffId', async (t) => {
  const { staffId, ...rest } = bodyOf(await owner.client.send('POST', '/staff', { userId: 5_005, isOwner: false }));
  t.ok(isId(staffId));
  t.strictSame(rest, {});
});
row('access/types/DatastoreId', async (t) => {
  const { data } = bodyOf(await owner.client.get('/staff')) as { data: Body[] };
  t.ok(data.length > 1 && data.every(({ staffId }) => isId(staffId)));
  for (const id of ['0', '-1', 'x', '1.5', '9223372036854775808'])
    t.equal((await owner.client.send('DELETE', `/staff/${id}`)).status, 404, id);
});
row('access/types/User', async (t) => {
  const { user } = await first(owner.client.get('/staff'));
  t.strictSame(user, owner.shown);
});
row('access/types/paged list', async (t) => {
  const page = bodyOf(await owner.client.get('/staff?limit=1&offset=1')) as { data: unknown[]; total: number };
  t.strictSame(Object.keys(page).sort(), ['data', 'offset', 'rows', 'total']);
  t.match(page, { rows: 1, offset: 1, data: [{ user: staff.shown }] });
  t.ok(page.total > 1);
});

// Providers
const providers = `/dataset-providers?datasetId=${DATASET}`;
const newProvider = async (body: Body) => faultsOf(await owner.client.send('POST', '/dataset-providers', body));
fields('provider entry', () => first(manager.client.get(providers)), {
  providerId: isId,
  datasetId: DATASET,
  user: manager.shown,
  isManager: true,
});
row('access/new provider/datasetId', async (t) => {
  const body = { userId: 5_010, isManager: false };
  t.strictSame(await newProvider({ ...body, datasetId: 'SAMPLE_public' }), 'accepted');
  const faults = await faultsWith(newProvider, body, 'datasetId', '', 'none', 'no-id', 5, null);
  t.strictSame(
    faults,
    Array.from({ length: 6 }, () => ['datasetId']),
  );
});
row('access/new provider/userId', async (t) => {
  const body = { datasetId: 'SAMPLE_public', isManager: false };
  t.strictSame(await newProvider({ ...body, userId: 5_011 }), 'accepted');
  const either = ['email', 'userId'];
  t.strictSame(await newProvider(body), either);
  t.strictSame(await newProvider({ ...body, userId: 5_012, email: stranger.email }), either);
  for (const userId of ['x', 0, -1, 1.5, true]) t.strictSame(await newProvider({ ...body, userId }), ['userId']);
});
row('access/new provider/email', async (t) => {
  const { email } = await at.person();
  const body = { datasetId: 'SAMPLE_public', isManager: false };
  for (const wrong of ['no address', 'a@b@c', 'x@', 'Bcc: a@b.example\r\n'])
    t.strictSame(await newProvider({ ...body, email: wrong }), ['email'], wrong);
  t.strictSame(await newProvider({ ...body, email: 5 }), ['email', 'userId']);
  const known = await at.person();
  await known.client.get('/permissions');
  t.match(
    bodyOf(await owner.client.send('POST', '/dataset-providers', { ...body, email: known.email.toUpperCase() })),
    {
      created: true,
    },
  );
  t.strictSame(bodyOf(await owner.client.send('POST', '/dataset-providers', { ...body, email })), { created: false });
});
row('access/new provider/isManager', async (t) => {
  const faults = await faultsWith(newProvider, { userId: 5_013, datasetId: DATASET }, 'isManager', 'true', 1, null);
  t.strictSame(
    faults,
    Array.from({ length: 4 }, () => ['isManager']),
  );
});
const providerAnswer = async (who: Body) =>
  bodyOf(
    await owner.client.send('POST', '/dataset-providers', { datasetId: 'SAMPLE_public', isManager: false, ...who }),
  );
row('access/new provider answer/created', async (t) => {
  t.equal((await providerAnswer({ userId: 5_014 })).created, true);
  t.equal((await providerAnswer({ email: 'nobody1@lab.example' })).created, false);
});
row('access/new provider answer/providerId', async (t) => {
  t.ok(isId((await providerAnswer({ userId: 5_015 })).providerId));
  t.strictSame(Object.keys(await providerAnswer({ email: 'nobody2@lab.example' })), ['created']);
});

// End users
const given = {
  ...TEXTS,
  datasetId: DATASET,
  startDate: '2026-01-02T03:04:05.000Z',
  duration: 30,
  restrictionLevel: 'controlled',
  approvalStatus: 'denied',
  denialReason: 'Not now',
};
const someone = await at.person();
await someone.client.get('/permissions');
bodyOf(await manager.client.send('POST', '/dataset-end-users', { ...given, userId: someone.id }));
const one = `/dataset-end-users/${someone.id}-${DATASET}`;
fields('end user', async () => bodyOf(await manager.client.get(one)), { user: someone.shown, ...given });
let next = 6_000;
const newEndUser = async (body: Body) =>
  faultsOf(await manager.client.send('POST', '/dataset-end-users', { userId: ++next, ...given, ...body }));
row('access/new end user/userId', async (t) => {
  t.strictSame(await newEndUser({}), 'accepted');
  t.strictSame(await newEndUser({ userId: undefined }), ['email', 'userId'], 'one is needed');
  t.strictSame(await newEndUser({ email: stranger.email }), ['email', 'userId'], 'both');
  for (const userId of ['x', 0, -1, 1.5, true]) t.strictSame(await newEndUser({ userId }), ['userId']);
});
row('access/new end user/email', async (t) => {
  for (const email of ['no address', 'a@b@c']) t.strictSame(await newEndUser({ userId: undefined, email }), ['email']);
  const known = await at.person();
  await known.client.get('/permissions');
  t.strictSame(await newEndUser({ userId: undefined, email: known.email }), 'accepted');
});
for (const field of Object.keys(TEXTS) as (keyof typeof TEXTS)[])
  row(`access/new end user/${field}`, async (t) => {
    t.strictSame(await newEndUser({ [field]: '' }), 'accepted');
    for (const value of [undefined, null, 5, 'x'.repeat(32_769), '\u0000'])
      t.strictSame(await newEndUser({ [field]: value }), [field], String(value).slice(0, 10));
  });
row('access/new end user/datasetId', async (t) => {
  for (const datasetId of ['none', ''])
    t.strictSame(
      faultsOf(await owner.client.send('POST', '/dataset-end-users', { ...given, userId: ++next, datasetId })),
      ['datasetId'],
    );
});
row('access/new end user/startDate', async (t) => {
  t.strictSame(await newEndUser({ startDate: undefined }), 'accepted');
  t.strictSame(await newEndUser({ startDate: '2026-05-06T07:08:09+02:00' }), 'accepted');
  for (const startDate of ['soon', '2026-13-01T00:00:00Z', 5])
    t.strictSame(await newEndUser({ startDate }), ['startDate']);
});
row('access/new end user/duration', async (t) => {
  for (const duration of [undefined, 0, -5, 365]) t.strictSame(await newEndUser({ duration }), 'accepted');
  for (const duration of ['5', 1.5, true]) t.strictSame(await newEndUser({ duration }), ['duration']);
});
row('access/new end user/restrictionLevel', async (t) => {
  for (const restrictionLevel of [undefined, ...LEVELS])
    t.strictSame(await newEndUser({ restrictionLevel }), 'accepted');
  for (const restrictionLevel of ['open', 'PUBLIC', 5])
    t.strictSame(await newEndUser({ restrictionLevel }), ['restrictionLevel']);
});
row('access/types/RestrictionLevel', async (t) => {
  for (const level of LEVELS) {
    t.equal((await manager.client.send('PATCH', one, [replace('/restrictionLevel', level)])).status, 204);
    t.equal(bodyOf(await manager.client.get(one)).restrictionLevel, level);
  }
  t.equal((await manager.client.send('PATCH', one, [replace('/restrictionLevel', 'controlled')])).status, 204);
});
row('access/new end user/approvalStatus', async (t) => {
  for (const approvalStatus of [undefined, 'requested', 'approved', 'denied'])
    t.strictSame(await newEndUser({ approvalStatus }), 'accepted');
  for (const approvalStatus of ['unrequested', 'APPROVED', 5])
    t.strictSame(await newEndUser({ approvalStatus }), ['approvalStatus']);
});
row('access/types/ApprovalStatus', async (t) => {
  for (const status of ['approved', 'requested', 'denied']) {
    const { data } = bodyOf(await manager.client.get(`/dataset-end-users?datasetId=${DATASET}&approval=${status}`)) as {
      data: Body[];
    };
    t.ok(data.length > 0 && data.every(({ approvalStatus }) => approvalStatus === status), status);
  }
  t.match(bodyOf(await manager.client.get(`/dataset-end-users?datasetId=${DATASET}&approval=unrequested`)), {
    total: 0,
  });
  t.equal((await manager.client.get(`/dataset-end-users?datasetId=${DATASET}&approval=other`)).status, 400);
});
row('access/new end user/denialReason', async (t) => {
  t.strictSame(await newEndUser({ denialReason: undefined }), 'accepted');
  t.strictSame(await newEndUser({ denialReason: 5 }), ['denialReason']);
});
row('access/new end user answer/created', async (t) => {
  const answer = await manager.client.send('POST', '/dataset-end-users', { ...given, userId: 7_001 });
  t.equal(bodyOf(answer).created, true);
});
row('access/new end user answer/endUserId', async (t) => {
  const { userId: _, ...rest } = { ...given, userId: 0 };
  const made = await manager.client.send('POST', '/dataset-end-users', { ...rest, userId: 7_002 });
  t.strictSame(bodyOf(made), { created: true, endUserId: `7002-${DATASET}` });
  const invited = await manager.client.send('POST', '/dataset-end-users', { ...rest, email: 'nobody3@lab.example' });
  t.strictSame(bodyOf(invited), { created: false });
});
row('access/end user id', async (t) => {
  t.match(bodyOf(await manager.client.get(one)), { datasetId: DATASET, user: { userId: someone.id } });
  for (const id of ['5', `-${DATASET}`, `x-${DATASET}`, '5-', '5-no-id', `05${DATASET}`])
    t.equal((await owner.client.get(`/dataset-end-users/${id}`)).status, 404, id);
});

// Patch items
const patched = async (...items: unknown[]) => (await manager.client.send('PATCH', one, items)).status;
row('access/patch item/op', async (t) => {
  t.equal(await patched(replace('/purpose', 'Other')), 204);
  t.equal(await patched({ path: '/purpose', value: 'x' }), 422);
  t.equal(await patched({ op: 5, path: '/purpose', value: 'x' }), 422);
});
row('access/patch item/path', async (t) => {
  t.equal(await patched({ op: 'replace', value: 'x' }), 422);
  t.equal(await patched({ op: 'replace', path: 5, value: 'x' }), 422);
  t.equal(await patched(replace('', 'x')), 403);
});
row('access/patch item/value', async (t) => {
  t.equal(await patched(replace('/duration', 31)), 204);
  t.equal(await patched(replace('/purpose', 'text')), 204);
  t.equal(await patched(item('replace', '/purpose')), 422, 'none');
  t.equal(await patched(replace('/purpose', { more: [] })), 422);
});
row('access/patch item/from', async (t) => {
  t.equal(await patched({ ...replace('/purpose', 'Moved?'), from: '/priorAuth' }), 204);
  t.match(bodyOf(await manager.client.get(one)), { purpose: 'Moved?', priorAuth: TEXTS.priorAuth });
});

// Permissions
const permissionsOf = async (who: { client: typeof owner.client }, query = '') =>
  bodyOf(await who.client.get(`/permissions${query}`));
row('access/permissions/isStaff', async (t) => {
  t.match(await permissionsOf(staff), { isStaff: true });
  t.notOk('isStaff' in (await permissionsOf(manager)));
});
row('access/permissions/isOwner', async (t) => {
  t.match(await permissionsOf(owner), { isStaff: true, isOwner: true });
  t.notOk('isOwner' in (await permissionsOf(staff)));
});
row('access/permissions/perDataset', async (t) => {
  t.strictSame(Object.keys((await permissionsOf(manager)).perDataset as Body).sort(), [DATASET, 'SAMPLE_protected']);
  t.strictSame(await permissionsOf(stranger), { perDataset: {} });
});
const entryOf = async (who: { client: typeof owner.client }, query = ''): Promise<Body> =>
  ((await permissionsOf(who, query)).perDataset as Record<string, Body>)[DATASET] as Body;
fields('permission entry', () => entryOf(manager), {
  studyId: 'STUDY_private',
  sha1Hash: (hash: unknown) => typeof hash === 'string',
  displayName: 'Case histories of a rare fever',
  shortDisplayName: 'Rare fever',
  description: 'Needs an approved request; people decide.',
  isUserStudy: false,
  actionAuthorization: ALL,
  isManager: true,
  restrictionLevel: 'private',
});
row('access/permission entry/type', async (t) => {
  t.equal((await entryOf(provider)).type, 'provider');
  t.equal((await entryOf(someone)).type, 'end-user');
});
row('access/permission entry/accessRequestStatus', async (t) => {
  t.equal((await entryOf(someone)).accessRequestStatus, 'denied');
  t.equal((await entryOf(await at.requester())).accessRequestStatus, 'requested');
  t.equal((await entryOf(stranger, '?all=true')).accessRequestStatus, 'unrequested');
});
fields('study permission', async () => bodyOf(await stranger.client.get('/permissions/STUDY_private')), {
  studyId: 'STUDY_private',
  datasetId: DATASET,
  isUserStudy: false,
  actionAuthorization: READ_ABOUT,
});

// History
const story = await at.requester();
const HISTORY_STORY = { userID: story.id, firstName: `First${story.id}`, lastName: `Last${story.id}` };
const storyUser = { ...HISTORY_STORY, email: story.email, organization: 'Lab' };
const managerUser = {
  ...{ userID: manager.id, firstName: `First${manager.id}`, lastName: `Last${manager.id}` },
  ...{ email: manager.email, organization: 'Lab' },
};
const told = (...items: unknown[]) => manager.client.send('PATCH', story.path, items);
await told(replace('/approvalStatus', 'denied'), replace('/denialReason', 'Too vague'), replace('/duration', 12));
const storyRows = (bodyOf(await owner.client.get('/history?limit=100')).results as { cause: Body; row: Body }[]).filter(
  ({ row: image }) => (image.user as Body).userID === story.id,
);
row('access/history/meta', async (t) => {
  const { meta, results } = bodyOf(await owner.client.get('/history?limit=2&offset=1'));
  t.strictSame(meta, { rows: 2, offset: 1 });
  t.equal((results as unknown[]).length, 2);
});
row('access/history/cause.action', async (t) => {
  t.strictSame(
    storyRows.map(({ cause }) => cause.action),
    ['UPDATE', 'CREATE'],
  );
  const gone = await at.requester();
  t.equal((await gone.client.send('DELETE', gone.path)).status, 204);
  t.match(bodyOf(await owner.client.get('/history?limit=1')), { results: [{ cause: { action: 'DELETE' } }] });
});
fields('history', async () => storyRows[0] as unknown as Body, {
  'cause.user': managerUser,
  'cause.timestamp': (at: string) => DATE_TIME_ONLY.test(at),
  'row.endUserID': isId,
  'row.user': storyUser,
  'row.datasetPresenterID': DATASET,
  'row.restrictionLevel': 'PRIVATE',
  'row.approvalStatus': 'DENIED',
  'row.startDate': (at: string) => DATE_TIME_ONLY.test(at),
  'row.duration': 12,
  'row.purpose': TEXTS.purpose,
  'row.researchQuestion': TEXTS.researchQuestion,
  'row.analysisPlan': TEXTS.analysisPlan,
  'row.priorAuth': TEXTS.priorAuth,
  'row.denialReason': 'Too vague',
});
row('access/history/row.dateDenied', async (t) => {
  t.match(storyRows[0]?.row.dateDenied, DATE_TIME_ONLY);
  t.notOk('dateDenied' in (storyRows[1]?.row ?? {}), 'absent before');
});
row('access/history/row.allowSelfEdits', async (t) =>
  t.strictSame(
    storyRows.map(({ row: image }) => image.allowSelfEdits),
    [false, true],
  ),
);

// Health
fields('health', async () => bodyOf(await at.nobody.get('/health')), {
  status: 'healthy',
  dependencies: [
    { name: 'access-db', reachable: true, online: 'yes' },
    { name: 'account-db', reachable: true, online: 'yes' },
    { name: 'disks', reachable: true, online: 'yes' },
  ],
  info: ({ threads, uptime, uptimeMillis }: Body) =>
    isId(threads) && isId(uptimeMillis) && /^(\d+[dhm] )*\d+(\.\d+)?s$/.test(String(uptime)),
});
