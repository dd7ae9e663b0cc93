// Every path, operation, role and status of contract 3's table of end user patches.

import t from 'tap';
import { type App, accessApp, enters, replace, TEXTS } from './access-app.ts';

const STATUSES = ['requested', 'approved', 'denied'] as const;
type Status = (typeof STATUSES)[number];
const OPERATIONS = ['add', 'remove', 'replace', 'test', 'move', 'copy', 'REPLACE'] as const;

const ANY = ['add', 'remove', 'replace'];
/** Path, operations, a value that changes something, whether the person may. */
const ROWS: readonly { path: string; operations: readonly string[]; value: unknown; self: boolean }[] = [
  { path: '/startDate', operations: ANY, value: '2026-05-01T00:00:00Z', self: false },
  { path: '/duration', operations: ANY, value: 7, self: false },
  { path: '/restrictionLevel', operations: ['replace'], value: 'private', self: false },
  { path: '/purpose', operations: ['replace'], value: 'Other', self: true },
  { path: '/researchQuestion', operations: ['replace'], value: 'Other', self: true },
  { path: '/analysisPlan', operations: ['replace'], value: 'Other', self: true },
  { path: '/disseminationPlan', operations: ['replace'], value: 'Other', self: true },
  { path: '/priorAuth', operations: ['replace'], value: 'Other', self: true },
  { path: 'priorAuth', operations: ['replace'], value: 'Other', self: true },
  { path: '/approvalStatus', operations: ['replace'], value: 'denied', self: false },
  { path: '/denialReason', operations: ANY, value: 'Other', self: false },
  { path: '/userId', operations: [], value: 5, self: false },
  { path: '/datasetId', operations: [], value: 'public', self: false },
  { path: '/dateDenied', operations: [], value: null, self: false },
  { path: 'purpose', operations: [], value: 'Other', self: false },
  { path: 'Xpurpose', operations: [], value: 'Other', self: false },
  { path: '/Purpose', operations: [], value: 'Other', self: false },
  { path: '/purpose/x', operations: [], value: 'Other', self: false },
  { path: '/', operations: [], value: 'Other', self: false },
  { path: '/__proto__', operations: [], value: 'Other', self: false },
  { path: '/constructor', operations: [], value: 'Other', self: false },
];

const ROLES = [
  { name: 'owner', caller: '1' },
  { name: 'manager', caller: '2' },
  { name: 'the person', caller: 'self' },
  { name: 'provider', caller: '3' },
  { name: 'staff', caller: '4' },
  { name: 'stranger', caller: '30' },
] as const;

const patch = (app: App, who: string, id: string, items: unknown, headers = {}) =>
  app.call(who, 'PATCH', `/dataset-end-users/${id}`, items, headers);

t.test('path, operation, role and status decide, and a refusal changes nothing', async (t) => {
  const app = await accessApp(t);
  let user = 1_000;
  for (const status of STATUSES) {
    for (const { path, operations, value, self } of ROWS) {
      user++;
      const more = { approvalStatus: status, ...(status === 'denied' ? { denialReason: 'No' } : {}) };
      await enters(app, user, 'private', { ...more, startDate: '2026-02-01T00:00:00Z', duration: 3 });
      const id = `${user}-private`;
      // What is allowed is tried below, on records of its own.
      const refused = ROLES.flatMap(({ name, caller }) => {
        const mayAll =
          name === 'owner' || name === 'manager' || (name === 'the person' && self && status === 'requested');
        const ops = OPERATIONS.filter((op) => !mayAll || !operations.includes(op));
        return ops.map((op) => ({ name, op, who: caller === 'self' ? String(user) : caller }));
      });
      const wrong = await Promise.all(
        refused.map(async ({ name, op, who }) => {
          // A good item before it must not take effect either.
          const items = [replace('/purpose', `by ${name}`), { op, path, value, from: '/purpose' }];
          const code = (await patch(app, who, id, items)).status;
          return code === 403 ? [] : [`${name}: ${op} ${path} while ${status}: ${code}`];
        }),
      );
      t.strictSame(wrong.flat(), []);
      const [row] = await app.db.query('select row_version from end_user where user_id = $1::numeric', [user]);
      t.strictSame(row, { row_version: 1 }, `${path} while ${status}: unchanged`);
    }
  }
});

t.test('what is allowed takes effect', async (t) => {
  const app = await accessApp(t);
  let user = 5_000;
  for (const { path, operations, value, self } of ROWS) {
    const field = path.replace('/', '');
    for (const op of operations)
      for (const who of ['1', '2', ...(self ? ['self'] : [])]) {
        user++;
        await enters(app, user, 'private', { startDate: '2026-02-01T00:00:00Z', duration: 3, denialReason: 'Old' });
        const id = `${user}-private`;
        const caller = who === 'self' ? String(user) : who;
        const item = op === 'remove' ? { op, path } : { op, path, value };
        t.equal((await patch(app, caller, id, [item])).status, 204, `${caller} ${op} ${path}`);
        const body = (await app.call('1', 'GET', `/dataset-end-users/${id}`)).body as Record<string, unknown>;
        const removed = { startDate: '2026-01-01T00:00:00.000Z', duration: -1, denialReason: undefined };
        const set = field === 'startDate' ? '2026-05-01T00:00:00.000Z' : value;
        t.equal(body[field], op === 'remove' ? removed[field as keyof typeof removed] : set, `${op} ${path}`);
      }
  }
});

t.test('values that are not accepted are 422 and named by their path', async (t) => {
  const app = await accessApp(t);
  await enters(app, 40, 'private', {});
  const faulty: readonly (readonly [string, unknown])[] = [
    ...[null, 5, 'tomorrow', '2026-02-30T00:00:00Z', '', [], undefined].map((value) => ['/startDate', value] as const),
    ...[null, '5', 1.5, 1e300, undefined].map((value) => ['/duration', value] as const),
    ...[null, 'PUBLIC', 'open', 5].map((value) => ['/restrictionLevel', value] as const),
    ...[null, 'unrequested', 'Approved', '', 5].map((value) => ['/approvalStatus', value] as const),
    ...[null, 5, {}, 'x'.repeat(32_769), 'a\u0000', '\ud800'].map((value) => ['/purpose', value] as const),
    ...[null, 5].map((value) => ['/denialReason', value] as const),
    ['priorAuth', null],
  ];
  for (const [path, value] of faulty)
    t.match(
      await patch(app, '1', '40-private', [replace('/purpose', 'Other'), replace(path, value)]),
      { status: 422, body: { status: 'invalid-input', errors: { byKey: { [path]: [String] } } } },
      `${path} ${String(value).slice(0, 20)}`,
    );
  t.match((await app.call('1', 'GET', '/dataset-end-users/40-private')).body, TEXTS);
  for (const body of ['{}', '"x"', '{', '[]']) t.equal((await patch(app, '1', '40-private', body)).status, 400, body);
  for (const item of [null, 5, {}, { op: 'replace' }, { path: '/purpose', value: '' }, { op: 5, path: '/purpose' }])
    t.equal((await patch(app, '1', '40-private', [item])).status, 422, JSON.stringify(item));
});

const MOVES: Readonly<Record<Status, readonly Status[]>> = {
  requested: ['requested', 'approved', 'denied'],
  approved: ['approved', 'denied'],
  denied: ['denied', 'requested', 'approved'],
};

t.test('the status moves only along the allowed ways, and tells whom it concerns', async (t) => {
  const app = await accessApp(t);
  let user = 7_000;
  let written = 0;
  for (const from of STATUSES)
    for (const to of STATUSES) {
      user++;
      const id = `${user}-private`;
      await enters(app, user, 'private', { approvalStatus: from });
      await app.clock.advance(1_000);
      const allowed = MOVES[from].includes(to);
      t.equal(
        (await patch(app, '2', id, [replace('/approvalStatus', to)])).status,
        allowed ? 204 : 422,
        `${from} ${to}`,
      );
      const [row] = await app.db.query(
        `select approval_status, denial_reason, date_denied, requested_at, row_version from end_user
         where user_id = $1::numeric`,
        [user],
      );
      const now = allowed ? to : from;
      const changed = allowed && from !== to;
      const at = new Date(app.clock.now());
      const made = new Date(app.clock.now() - 1_000);
      t.strictSame(
        row,
        {
          approval_status: now,
          denial_reason: now === 'denied' ? 'The request was denied; no reason was given.' : '',
          date_denied: now === 'denied' ? (changed ? at : made) : null,
          requested_at: changed && to === 'requested' ? at : made,
          row_version: changed ? 2 : 1,
        },
        `${from} ${to}`,
      );
      const mails = (await app.mails()).slice(written);
      written += mails.length;
      const told = changed && to !== 'requested' ? [to] : [];
      t.strictSame(
        mails.map(({ template }) => template),
        told,
        `${from} ${to}`,
      );
    }
});

t.test('items apply in order: a reason that goes with a decision stays, an old one goes with its status', async (t) => {
  const app = await accessApp(t);
  await enters(app, 40, 'private', {});
  const read = async () =>
    (await app.call('1', 'GET', '/dataset-end-users/40-private')).body as Record<string, unknown>;
  const to = (...items: unknown[]) => patch(app, '2', '40-private', items);
  await to(replace('/denialReason', 'Too vague'), replace('/approvalStatus', 'denied'));
  t.match(await read(), { approvalStatus: 'denied', denialReason: 'Too vague' });
  t.equal((await to({ op: 'remove', path: '/denialReason' })).status, 204);
  t.match(await read(), { denialReason: /no reason was given/ });
  await to(replace('/approvalStatus', 'approved'));
  t.equal((await read()).denialReason, undefined);
  t.equal((await to(replace('/approvalStatus', 'denied'), replace('/approvalStatus', 'requested'))).status, 204);
  t.match(await read(), { approvalStatus: 'requested' });
  await to(replace('/approvalStatus', 'denied'));
  await to(replace('/denialReason', 'By exception'), replace('/approvalStatus', 'approved'));
  t.match(await read(), { approvalStatus: 'approved', denialReason: 'By exception' });
});

t.test('nobody decides about an own request', async (t) => {
  const app = await accessApp(t);
  for (const who of ['1', '2']) {
    const body = { ...TEXTS, userId: Number(who), datasetId: 'private' };
    await app.call(who, 'POST', '/dataset-end-users', body);
    t.equal((await patch(app, who, `${who}-private`, [replace('/approvalStatus', 'approved')])).status, 403, who);
  }
});

t.test('an own edit is told to the managers and to the person; what changes nothing is not', async (t) => {
  const app = await accessApp(t);
  await enters(app, 40, 'private', {});
  t.equal((await patch(app, '40', '40-private', [replace('/purpose', TEXTS.purpose)])).status, 204);
  t.strictSame(await app.mails(), []);
  t.equal((await patch(app, '40', '40-private', [replace('priorAuth', 'New')])).status, 204);
  const request = { userId: '40', ...TEXTS, priorAuth: 'New', denialReason: '', startDate: '2026-01-01T00:00:00.000Z' };
  t.strictSame(await app.mails(), [
    { template: 'edit-managers', datasetId: 'private', request },
    { template: 'edit-requester', datasetId: 'private', request },
  ]);
});
