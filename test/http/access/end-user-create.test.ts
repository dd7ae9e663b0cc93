import t from 'tap';
import { PostgresAccounts } from '../../../engine/adapters/datasets/accounts-postgres.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import type { Answer } from '../numbered-callers.ts';
import { accessApp, asks, DAY_MS, enters, never, shownUser, TEXTS } from './access-app.ts';

const codeAndFields = ({ status, body }: Answer): unknown => {
  const { errors } = body as { errors?: { byKey: Record<string, unknown> } };
  return [status, ...(errors ? Object.keys(errors.byKey).sort() : [])];
};

t.test('anybody may ask for themselves; the dataset decides the level, others all the rest', async (t) => {
  const app = await accessApp(t);
  for (const level of ['public', 'prerelease', 'protected', 'controlled', 'private']) {
    const made = await asks(app, 30, level);
    t.strictSame([made.status, made.body], [200, { created: true, endUserId: `30-${level}` }]);
    const one = await app.call('30', 'GET', `/dataset-end-users/30-${level}`);
    t.strictSame(one.body, {
      user: shownUser(30),
      datasetId: level,
      startDate: '2026-01-01T00:00:00.000Z',
      duration: -1,
      restrictionLevel: level,
      ...TEXTS,
      approvalStatus: 'requested',
    });
  }
  t.strictSame(await app.mails(), [], 'nobody is written to');
});

t.test('what others decide is 403 in an own request, of owners and managers too', async (t) => {
  const app = await accessApp(t);
  for (const who of [30, 1, 2]) {
    const ask = (more: object) =>
      app.call(String(who), 'POST', '/dataset-end-users', { ...TEXTS, userId: who, datasetId: 'private', ...more });
    for (const more of [
      ...[{ startDate: '2026-01-01T00:00:00Z' }, { duration: 5 }, { restrictionLevel: 'private' }],
      ...[{ approvalStatus: 'approved' }, { approvalStatus: 'requested' }, { denialReason: 'x' }],
    ])
      t.equal((await ask(more)).status, 403, `${who} ${JSON.stringify(more)}`);
    t.equal((await ask({ duration: 0, startDate: null })).status, 200, 'what forms send for nothing');
  }
});

t.test('for oneself by the own address', async (t) => {
  const app = await accessApp(t);
  const body = { ...TEXTS, email: 'U30@site.example', datasetId: 'private' };
  t.strictSame((await app.call('30', 'POST', '/dataset-end-users', body)).body, {
    created: true,
    endUserId: '30-private',
  });
  t.match((await app.call('30', 'GET', '/dataset-end-users/30-private')).body, { approvalStatus: 'requested' });
});

t.test('owners and managers of the dataset enter others, who need no account, with what they decide', async (t) => {
  const app = await accessApp(t);
  const given = {
    ...{ startDate: '2027-03-01T00:00:00+02:00', duration: 10, restrictionLevel: 'controlled' },
    ...{ approvalStatus: 'denied', denialReason: 'No' },
  };
  const body = { ...TEXTS, userId: 40, datasetId: 'private' };
  t.equal((await app.call('2', 'POST', '/dataset-end-users', { ...body, ...given })).status, 200);
  t.equal((await enters(app, 41, 'private', {})).status, 200);
  const made = (await app.call('1', 'GET', '/dataset-end-users?datasetId=private')).body as { data: object[] };
  const shown = { datasetId: 'private', ...TEXTS };
  t.strictSame(made.data, [
    { ...shown, user: shownUser(40, false), ...given, startDate: '2027-02-28T22:00:00.000Z' },
    {
      ...{ ...shown, user: shownUser(41, false), startDate: '2026-01-01T00:00:00.000Z', duration: -1 },
      ...{ restrictionLevel: 'public', approvalStatus: 'requested' },
    },
  ]);
});

t.test('a duplicate is 409, whatever its status, and only for those who may know', async (t) => {
  const app = await accessApp(t);
  await enters(app, 40, 'private', { approvalStatus: 'denied' });
  t.match(await enters(app, 40, 'private', {}), { status: 409, body: { status: 'conflict' } });
  t.match(await asks(app, 40, 'private'), { status: 409, body: { status: 'conflict' } });
  const [made, ...rest] = (await Promise.all([0, 1, 2, 3].map(() => asks(app, 44, 'private'))))
    .map((a) => a.status)
    .sort();
  t.strictSame([made, rest], [200, [409, 409, 409]], 'of several at once one is made');
});

t.test('bodies: exactly one of userId and email, all texts, known fields, known datasets', async (t) => {
  const app = await accessApp(t);
  const post = (body: unknown) => app.call('1', 'POST', '/dataset-end-users', body);
  const good = { ...TEXTS, userId: 40, datasetId: 'private' };
  for (const body of ['[]', 'x', '"x"']) t.equal((await post(body)).status, 400, body);
  t.equal((await app.call('1', 'POST', '/dataset-end-users', 'x', { 'content-type': 'text/plain' })).status, 415);
  const { userId: _none, ...nobody } = good;
  t.strictSame(codeAndFields(await post(nobody)), [422, 'email', 'userId']);
  t.strictSame(codeAndFields(await post({ ...good, email: 'a@b.example' })), [422, 'email', 'userId']);
  t.strictSame(codeAndFields(await post({ userId: 40 })), [
    ...[422, 'analysisPlan', 'datasetId', 'disseminationPlan', 'priorAuth', 'purpose', 'researchQuestion'],
  ]);
  const faulty: readonly (readonly [string, ...unknown[]])[] = [
    ['userId', 0, 1.5],
    ['datasetId', 'nowhere', 'private\u0000'],
    ['purpose', 5, 'x'.repeat(32_769), 'a\u0000b'],
    ['startDate', '2026-02-30T00:00:00Z', 'tomorrow'],
    ['duration', 1.5],
    ['restrictionLevel', 'PUBLIC'],
    ['approvalStatus', 'unrequested', 'granted'],
    ['allowEdit', true],
  ];
  for (const [field, ...values] of faulty)
    for (const value of values)
      t.strictSame(codeAndFields(await post({ ...good, [field]: value })), [422, field], `${field} ${value}`);
  t.equal(
    (await post({ ...good, email: null, startDate: '2026-05-01', duration: Number.MAX_SAFE_INTEGER })).status,
    200,
  );
});

t.test('by e-mail: an account is entered, a stranger invited once a day and entered with the first call', async (t) => {
  const app = await accessApp(t);
  const post = (email: string) =>
    app.call('2', 'POST', '/dataset-end-users', { ...TEXTS, email, datasetId: 'private', approvalStatus: 'approved' });
  await app.call('50', 'GET', '/permissions');
  t.strictSame((await post('u50@SITE.example')).body, { created: true, endUserId: '50-private' });
  t.strictSame((await post('u60@site.example')).body, { created: false });
  t.strictSame(await app.mails(), [{ template: 'end-user-register', datasetId: 'private', email: 'u60@site.example' }]);
  t.equal((await post('u60@site.example')).status, 429);
  const provider = { datasetId: 'public', isManager: false, email: 'u60@site.example' };
  t.equal((await app.call('2', 'POST', '/dataset-providers', provider)).status, 429, 'for anything');
  t.equal((await app.mails()).length, 1);
  await app.clock.advance(DAY_MS);
  const first = await app.call('60', 'GET', '/permissions/private');
  t.match(first.body, { actionAuthorization: { resultsAll: true } });
  t.equal((await post('u60@site.example')).status, 409);
  const { body } = await app.call('1', 'GET', '/history?limit=1');
  t.match(body, { results: [{ cause: { user: { userID: 2 }, action: 'CREATE' }, row: { user: { userID: 60 } } }] });
});

t.test('an address that several accounts have is 422', async (t) => {
  const app = await accessApp(t);
  const accounts = new PostgresAccounts(app.cache);
  for (const [userId, email] of [
    ['91', 'twins@site.example'],
    ['92', 'Twins@site.example'],
  ] as const)
    await accounts.remember({ userId: userId as UserId, firstName: '', lastName: '', email, affiliation: '' }, never);
  const body = { ...TEXTS, email: 'twins@site.example', datasetId: 'private' };
  t.strictSame(codeAndFields(await app.call('1', 'POST', '/dataset-end-users', body)), [422, 'email']);
});
