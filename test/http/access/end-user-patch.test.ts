// Every path, operation, role and status of the table of patches (docs/contract/access.md#patches).

import t from 'tap';
import { type App, accessApp, enters, replace, TEXTS } from './access-app.ts';

const STATUSES = ['requested', 'approved', 'denied'] as const;
type Status = (typeof STATUSES)[number];
const OPERATIONS = ['add', 'remove', 'replace', 'test', 'move', 'copy', 'REPLACE'] as const;

const ANY = ['add', 'remove', 'replace'];
interface Row {
  readonly path: string;
  readonly operations: readonly string[];
  /** Changes something. */
  readonly value: unknown;
  /** Accepted by nobody. */
  readonly malformed: unknown;
  /** Whether the person may. */
  readonly self: boolean;
}
const text = (path: string, self = true): Row => ({
  ...{ path, operations: ['replace'], value: 'Other', malformed: 5, self },
});
const unknown = (path: string, value: unknown = 'Other'): Row => ({
  ...{ path, operations: [], value, malformed: 5, self: false },
});
const ROWS: readonly Row[] = [
  { path: '/startDate', operations: ANY, value: '2026-05-01T00:00:00.000Z', malformed: 'tomorrow', self: false },
  { path: '/duration', operations: ANY, value: 7, malformed: '7', self: false },
  { path: '/restrictionLevel', operations: ['replace'], value: 'private', malformed: 'secret', self: false },
  ...['/purpose', '/researchQuestion', '/analysisPlan', '/disseminationPlan'].map((path) => text(path)),
  ...['/priorAuth', 'priorAuth'].map((path) => text(path)),
  { path: '/approvalStatus', operations: ['replace'], value: 'denied', malformed: 'unrequested', self: false },
  { path: '/denialReason', operations: ANY, value: 'Other', malformed: null, self: false },
  ...[unknown('/userId', 5), unknown('/datasetId', 'public'), unknown('/dateDenied', null)],
  ...['purpose', 'Xpurpose', '/Purpose', '/purpose/x', '/purpose/', '/', ''].map((path) => unknown(path)),
  ...['/__proto__', '/constructor', 'toString'].map((path) => unknown(path)),
];

/** Callers by role, with the operations that they try: whoever may do nothing tries one that is known and one that is not. */
const ROLES = [
  ...[
    { name: 'owner', caller: '1' },
    { name: 'manager', caller: '2' },
    { name: 'the person', caller: 'self' },
  ].map((role) => ({ ...role, attempts: OPERATIONS as readonly string[] })),
  ...[
    { name: 'provider', caller: '3' },
    { name: 'staff', caller: '4' },
    { name: 'manager of another dataset', caller: '50' },
    { name: 'stranger', caller: '30' },
    { name: 'guest', caller: 'guest-1' },
  ].map((role) => ({ ...role, attempts: ['replace', 'move'] as readonly string[] })),
];

const patch = (app: App, who: string, id: string, items: unknown, headers = {}) =>
  app.call(who, 'PATCH', `/dataset-end-users/${id}`, items, headers);

const START = '2026-02-01T00:00:00.000Z';
const GIVEN = { startDate: START, duration: 3, restrictionLevel: 'protected' };

/** As the request is shown after the only item, or undefined when that is refused. */
function expected(
  { path, operations, value, self }: Row,
  op: string,
  role: string,
  status: Status,
): object | undefined {
  const may = role === 'owner' || role === 'manager' || (role === 'the person' && self && status === 'requested');
  if (!may || !operations.includes(op)) return undefined;
  const reason = status === 'denied' ? { denialReason: 'Old' } : {};
  const before = { ...TEXTS, ...GIVEN, ...reason, approvalStatus: status };
  const field = path.replace('/', '');
  const after = { ...before, [field]: value };
  if (op === 'remove') {
    if (field === 'startDate') return { ...before, startDate: '2026-01-01T00:00:00.000Z' };
    if (field === 'duration') return { ...before, duration: -1 };
    return { ...before, ...(status === 'denied' ? { denialReason: NO_REASON } : {}) };
  }
  if (field === 'approvalStatus' && status !== 'denied') return { ...after, denialReason: NO_REASON };
  return after;
}
const NO_REASON = 'The request was denied; no reason was given.';

t.test('path, operation, role and status decide; a refusal changes nothing, what is allowed that alone', async (t) => {
  const app = await accessApp(t);
  await app.call('1', 'POST', '/dataset-providers', { datasetId: 'public', userId: 50, isManager: true });
  let user = 1_000;
  const make = async (status: Status): Promise<number> => {
    const of = ++user;
    const reason = status === 'denied' ? { denialReason: 'Old' } : {};
    const made = await enters(app, of, 'private', { ...GIVEN, ...reason, approvalStatus: status });
    if (made.status !== 200) throw new Error(`request of ${of} was not made: ${made.status}`);
    return of;
  };
  const show = async (of: number): Promise<object> => {
    const { body } = await app.call('1', 'GET', `/dataset-end-users/${of}-private`);
    const { user: _user, datasetId: _dataset, ...shown } = body as Record<string, unknown>;
    return shown;
  };
  let combinations = 0;
  for (const status of STATUSES)
    for (const row of ROWS) {
      const kept = await make(status);
      const before = await show(kept);
      const wrong: string[] = [];
      const told = async (of: number, role: (typeof ROLES)[number], op: string, value: unknown, first: object[]) => {
        const who = role.caller === 'self' ? String(of) : role.caller;
        const item = { op, path: row.path, ...(op === 'remove' ? {} : { value }), from: '/purpose' };
        return (await patch(app, who, `${of}-private`, [...first, item])).status;
      };
      const one = async (role: (typeof ROLES)[number], op: string): Promise<void> => {
        combinations++;
        const name = `${role.name}: ${op} ${row.path} while ${status}`;
        const after = expected(row, op, role.name, status);
        // A good item before a refused one must not take effect either.
        const good = [replace('/purpose', `by ${role.name}`)];
        const refused = after === undefined ? 403 : 422;
        const codes = [
          ...(after === undefined ? [await told(kept, role, op, row.value, good)] : []),
          ...(op === 'replace' || (after && op !== 'remove') ? [await told(kept, role, op, row.malformed, good)] : []),
        ];
        wrong.push(...codes.filter((code) => code !== refused).map((code) => `${name}: ${code}`));
        if (after === undefined) return;
        const own = await make(status);
        t.equal(await told(own, role, op, row.value, []), 204, name);
        t.strictSame(await show(own), after, name);
      };
      for (const op of OPERATIONS)
        await Promise.all(ROLES.filter(({ attempts }) => attempts.includes(op)).map((role) => one(role, op)));
      t.strictSame(wrong, []);
      t.strictSame(await show(kept), before, `${row.path} while ${status}: unchanged`);
      const [version] = await app.db.query('select row_version from end_user where user_id = $1::numeric', [kept]);
      t.strictSame(version, { row_version: 1 }, `${row.path} while ${status}: not written`);
    }
  t.equal(combinations, STATUSES.length * ROWS.length * (3 * OPERATIONS.length + 5 * 2));
  t.comment(`${combinations} combinations`);
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
      await enters(app, user, 'private', { approvalStatus: from });
      await app.clock.advance(1_000);
      const { status } = await patch(app, '2', `${user}-private`, [replace('/approvalStatus', to)]);
      const [row] = await app.db.query(
        `select approval_status, denial_reason, date_denied, requested_at, row_version from end_user
         where user_id = $1::numeric`,
        [user],
      );
      const mails = (await app.mails()).slice(written).map(({ template }) => template);
      written += mails.length;
      const allowed = MOVES[from].includes(to);
      const now = allowed ? to : from;
      const changed = allowed && from !== to;
      const at = new Date(app.clock.now());
      const made = new Date(app.clock.now() - 1_000);
      t.strictSame(
        { status, ...row, mails },
        {
          status: allowed ? 204 : 422,
          approval_status: now,
          denial_reason: now === 'denied' ? NO_REASON : '',
          date_denied: now === 'denied' ? (changed ? at : made) : null,
          requested_at: changed && to === 'requested' ? at : made,
          row_version: changed ? 2 : 1,
          mails: changed && to !== 'requested' ? [to] : [],
        },
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
