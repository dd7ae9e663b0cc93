import t from 'tap';
import type { RestrictionLevel } from '../../../engine/model/access-rights.ts';
import { type App, accessApp, DAY_MS, enters, LEVELS } from './access-app.ts';

/** M metadata, S subsetting, V visualisations, 1 first page, A all results. */
const ACTIONS = ['studyMetadata', 'subsetting', 'visualizations', 'resultsFirstPage', 'resultsAll'] as const;
const letters = (actions: Record<string, boolean>): string =>
  ACTIONS.map((name, i) => (actions[name] ? 'MSV1A'.charAt(i) : '-')).join('');

const OPEN: Readonly<Record<RestrictionLevel, string>> = {
  public: 'MSV1A',
  controlled: 'MSV1-',
  protected: 'MSV1-',
  private: 'M----',
  prerelease: 'M----',
};
const ALL = 'MSV1A';

/** Callers, what they are to every dataset, and whether that opens it all. The clock stands at day 0. */
const CALLERS = [
  { who: 'guest-70', status: undefined, opens: false },
  { who: '70', status: undefined, opens: false },
  { who: '71', status: 'requested', opens: false },
  { who: '72', status: 'denied', opens: false },
  { who: '73', status: 'approved', opens: true },
  { who: '1', staff: 'owner', status: undefined, opens: true },
  { who: '4', staff: 'staff', status: undefined, opens: true },
  { who: '2', provider: 'manager', status: undefined, opens: true },
  { who: '3', provider: 'provider', status: undefined, opens: true },
  // A request does not take away what a role gives.
  { who: '1', staff: 'owner', status: 'denied', opens: true },
  { who: '3', provider: 'provider', status: 'denied', opens: true },
] as const;

const study = (app: App, who: string, id: string) => app.call(who, 'GET', `/permissions/${id}`);

t.test('every restriction level, for every kind of caller', async (t) => {
  const app = await accessApp(t);
  for (const caller of CALLERS) {
    const { who, status, opens } = caller;
    const staff = 'staff' in caller ? caller.staff : undefined;
    const provider = 'provider' in caller ? caller.provider : undefined;
    for (const level of LEVELS) {
      const name = `${who} ${staff ?? provider ?? ''} ${status ?? 'unrequested'} on ${level}`;
      if (status !== undefined) {
        const by = who === '1' ? '2' : '1';
        const body = { userId: Number(who), datasetId: level, approvalStatus: status, ...NO_TEXT };
        t.equal((await app.call(by, 'POST', '/dataset-end-users', body)).status, 200, name);
      }
      const expected = opens ? ALL : OPEN[level];
      for (const id of [`S-${level}`, level]) {
        const one = await study(app, who, id);
        const { actionAuthorization, ...rest } = one.body as { actionAuthorization: Record<string, boolean> };
        t.strictSame(
          [one.status, rest, letters(actionAuthorization)],
          [200, { studyId: `S-${level}`, datasetId: level, isUserStudy: false }, expected],
          `${name} as ${id}`,
        );
      }
      const all = (await app.call(who, 'GET', '/permissions?all=true')).body as PermissionsBody;
      const { actionAuthorization, ...entry } = all.perDataset?.[level] ?? { actionAuthorization: {} };
      t.strictSame(
        entry,
        {
          ...{ studyId: `S-${level}`, sha1Hash: 'abc', displayName: `Study ${level}`, shortDisplayName: level },
          ...{ description: `About ${level}`, isUserStudy: false, type: provider ? 'provider' : 'end-user' },
          isManager: provider === 'manager',
          accessRequestStatus: status ?? 'unrequested',
        },
        name,
      );
      t.equal(letters(actionAuthorization), expected, name);
      t.strictSame([all.isStaff, all.isOwner], [staff ? true : undefined, staff === 'owner' ? true : undefined], name);
    }
  }
});

t.test('a grant opens a dataset from its start until its days are over, to the millisecond', async (t) => {
  const app = await accessApp(t);
  const start = new Date(app.clock.now() + DAY_MS).toISOString();
  for (const level of LEVELS)
    for (const [user, duration] of [
      [80, 2],
      [81, 0],
      [82, -1],
      [83, Number.MAX_SAFE_INTEGER],
    ] as const)
      t.equal((await enters(app, user, level, { approvalStatus: 'approved', startDate: start, duration })).status, 200);
  const steps = [
    { advance: 0, open: [] },
    { advance: DAY_MS - 1, open: [] },
    { advance: 1, open: [80, 81, 82, 83] },
    { advance: 2 * DAY_MS - 1, open: [80, 81, 82, 83] },
    { advance: 1, open: [81, 82, 83] },
    { advance: 10_000 * DAY_MS, open: [81, 82, 83] },
  ];
  for (const { advance, open } of steps) {
    await app.clock.advance(advance);
    for (const level of LEVELS)
      for (const user of [80, 81, 82, 83]) {
        const { body } = await study(app, String(user), level);
        const { actionAuthorization } = body as { actionAuthorization: Record<string, boolean> };
        const expected = open.includes(user) ? ALL : OPEN[level];
        t.equal(letters(actionAuthorization), expected, `${user} on ${level} at ${app.clock.now()}`);
      }
  }
});

t.test('/permissions lists only what the caller has to do with, and no map when that is nothing', async (t) => {
  const app = await accessApp(t);
  t.strictSame((await app.call('90', 'GET', '/permissions')).body, {});
  t.strictSame((await app.call('guest-90', 'GET', '/permissions')).body, {});
  t.strictSame((await app.call('1', 'GET', '/permissions')).body, { isStaff: true, isOwner: true });
  t.strictSame((await app.call('4', 'GET', '/permissions')).body, { isStaff: true });
  await enters(app, 90, 'private', {});
  t.strictSame(datasetsOf((await app.call('90', 'GET', '/permissions')).body), ['private']);
  t.strictSame(datasetsOf((await app.call('2', 'GET', '/permissions?all=false')).body), [...LEVELS].sort());
  t.strictSame(datasetsOf((await app.call('90', 'GET', '/permissions?all=true')).body), [...LEVELS].sort());
  t.equal((await app.call(undefined, 'GET', '/permissions')).status, 401);
  t.equal((await app.call('90', 'GET', '/permissions?all=maybe')).status, 400);
});

t.test('a guest with the number of a user has no part in what the user has', async (t) => {
  const app = await accessApp(t);
  await enters(app, 73, 'private', { approvalStatus: 'approved' });
  for (const who of ['guest-1', 'guest-2', 'guest-4', 'guest-73']) {
    t.strictSame((await app.call(who, 'GET', '/permissions')).body, {}, who);
    const { body } = await study(app, who, 'private');
    t.equal(letters((body as { actionAuthorization: Record<string, boolean> }).actionAuthorization), OPEN.private, who);
  }
});

t.test('with listAll every curated dataset is listed, unless asked for otherwise', async (t) => {
  const app = await accessApp(t, { listAll: true });
  t.strictSame(datasetsOf((await app.call('90', 'GET', '/permissions')).body), [...LEVELS].sort());
  t.strictSame((await app.call('90', 'GET', '/permissions?all=false')).body, {});
});

t.test('/permissions/{study-id}: a study id goes before a dataset id; what is neither is 404', async (t) => {
  const app = await accessApp(t);
  await app.db.query("update curated_dataset set study_id = 'public' where dataset_id = 'private'");
  t.match((await study(app, '90', 'public')).body, { studyId: 'public', datasetId: 'private' });
  for (const id of ['nowhere', 'S-', 'x'.repeat(500)]) t.equal((await study(app, '90', id)).status, 404, id);
  // What is no text is no path.
  for (const id of ['%00', '%F0%9F']) t.equal((await study(app, '90', id)).status, 400, id);
});

interface PermissionsBody {
  readonly isStaff?: boolean;
  readonly isOwner?: boolean;
  readonly perDataset?: Record<string, { actionAuthorization: Record<string, boolean> }>;
}

const datasetsOf = (body: unknown): readonly string[] => Object.keys((body as PermissionsBody).perDataset ?? {}).sort();

const NO_TEXT = { purpose: '', researchQuestion: '', analysisPlan: '', disseminationPlan: '', priorAuth: '' };
