import t from 'tap';
import { RESTRICTION_LEVELS } from '../../../engine/model/access-request.ts';
import { type App, accessApp, asks, enters, replace, TEXTS } from './access-app.ts';

interface HistoryBody {
  readonly meta: { readonly rows: number; readonly offset: number };
  readonly results: readonly {
    readonly cause: { readonly user: { readonly userID: number }; readonly action: string };
    readonly row: Record<string, unknown> & { readonly user: { readonly userID: number } };
  }[];
}

const history = async (app: App, who: string, query = ''): Promise<HistoryBody> =>
  (await app.call(who, 'GET', `/history${query}`)).body as HistoryBody;
const lines = ({ results }: HistoryBody): readonly string[] =>
  results.map(({ cause, row }) => `${cause.user.userID} ${cause.action} ${row.user.userID} ${row.datasetPresenterID}`);

t.test('each change is told with its cause, as it was after it, newest first', async (t) => {
  const app = await accessApp(t);
  await asks(app, 30, 'private');
  await app.clock.advance(1_500);
  const decision = [replace('/approvalStatus', 'denied'), replace('/denialReason', 'No'), replace('/duration', 7)];
  await app.call('2', 'PATCH', '/dataset-end-users/30-private', decision);
  await app.call('2', 'PATCH', '/dataset-end-users/30-private', decision);
  await app.clock.advance(1_000);
  await app.call('30', 'DELETE', '/dataset-end-users/30-private');
  const { disseminationPlan: _unshown, ...texts } = TEXTS;
  const user = (id: number) => ({
    ...{ userID: id, firstName: `F${id}`, lastName: `L${id}` },
    ...{ email: `u${id}@site.example`, organization: `Lab ${id}` },
  });
  const row = {
    endUserID: 1,
    user: user(30),
    datasetPresenterID: 'private',
    restrictionLevel: 'PRIVATE',
    startDate: '2026-01-01T00:00:00.000',
    ...texts,
  };
  const denied = {
    ...row,
    ...{ approvalStatus: 'DENIED', duration: 7, denialReason: 'No' },
    ...{ dateDenied: '2026-01-01T00:00:01.500', allowSelfEdits: false },
  };
  t.strictSame(await history(app, '1'), {
    meta: { rows: 3, offset: 0 },
    results: [
      { cause: { user: user(30), action: 'DELETE', timestamp: '2026-01-01T00:00:02.500' }, row: denied },
      { cause: { user: user(2), action: 'UPDATE', timestamp: '2026-01-01T00:00:01.500' }, row: denied },
      {
        cause: { user: user(30), action: 'CREATE', timestamp: '2026-01-01T00:00:00.000' },
        row: {
          ...row,
          ...{ approvalStatus: 'REQUESTED', duration: -1, denialReason: '', allowSelfEdits: true },
        },
      },
    ],
  });
});

t.test('its words are in upper case, whichever they are, and nothing in it is null', async (t) => {
  const app = await accessApp(t);
  await asks(app, 30, 'private');
  for (const level of RESTRICTION_LEVELS)
    await app.call('2', 'PATCH', '/dataset-end-users/30-private', [replace('/restrictionLevel', level)]);
  for (const status of ['approved', 'denied', 'requested'])
    await app.call('2', 'PATCH', '/dataset-end-users/30-private', [replace('/approvalStatus', status)]);
  const { body } = await app.call('1', 'GET', '/history');
  const { results } = body as { results: { row: Record<string, string>; cause: { action: string } }[] };
  const words = (of: (one: (typeof results)[number]) => string | undefined) => [...new Set(results.map(of))].sort();
  t.same(
    words(({ row }) => row.restrictionLevel),
    RESTRICTION_LEVELS.map((level) => level.toUpperCase()).sort(),
  );
  t.same(
    words(({ row }) => row.approvalStatus),
    ['APPROVED', 'DENIED', 'REQUESTED'],
  );
  t.same(
    words(({ cause }) => cause.action),
    ['CREATE', 'UPDATE'],
  );
  t.notMatch(JSON.stringify(body), 'null');
});

t.test('owners see all, managers what concerns their datasets, others nothing', async (t) => {
  const app = await accessApp(t);
  await app.call('1', 'POST', '/dataset-providers', { datasetId: 'public', userId: 50, isManager: true });
  await asks(app, 30, 'private');
  await asks(app, 30, 'public');
  await enters(app, 31, 'public', {});
  t.strictSame(lines(await history(app, '1')), ['1 CREATE 31 public', '30 CREATE 30 public', '30 CREATE 30 private']);
  t.strictSame(lines(await history(app, '50')), ['1 CREATE 31 public', '30 CREATE 30 public']);
  t.strictSame(lines(await history(app, '2')).length, 3);
  for (const who of ['3', '4', '30', '99'])
    t.strictSame(await history(app, who), { meta: { rows: 0, offset: 0 }, results: [] }, who);
  t.equal((await app.call('guest-1', 'GET', '/history')).status, 403);
});

t.test('pages are stable, and bounds are checked whoever asks', async (t) => {
  const app = await accessApp(t);
  for (let i = 0; i < 5; i++) await enters(app, 100 + i, 'public', {});
  t.strictSame(lines(await history(app, '1', '?limit=2&offset=1')), ['1 CREATE 103 public', '1 CREATE 102 public']);
  t.strictSame((await history(app, '1', '?limit=2&offset=4')).meta, { rows: 1, offset: 4 });
  for (const query of ['limit=0', 'limit=101', 'limit=-1', 'offset=-1', 'limit=x'])
    for (const who of ['1', '99'])
      t.equal((await app.call(who, 'GET', `/history?${query}`)).status, 400, `${who} ${query}`);
  t.equal((await app.call('1', 'GET', '/history?limit=100&offset=0')).status, 200);
});

t.test('a page has a hundred entries unless another limit is given', async (t) => {
  const app = await accessApp(t);
  for (let i = 0; i <= 100; i++) await enters(app, 100 + i, 'public', {});
  t.equal(lines(await history(app, '1')).length, 100);
});

t.test('it is append-only, and nothing is written without a cause', async (t) => {
  const app = await accessApp(t);
  await asks(app, 30, 'private');
  for (const sql of [
    "update end_user_history set action = 'UPDATE'",
    'delete from end_user_history',
    'truncate end_user_history',
    'delete from people_audit',
  ])
    await t.rejects(app.db.query(sql), { message: /append-only/ }, sql);
  await t.rejects(app.db.query('delete from end_user'), { message: /longshore\.cause/ });
  t.equal((await history(app, '1')).meta.rows, 1);
});
