import t, { type Test } from 'tap';
import type { RestrictionLevel } from '../../../engine/model/access-request.ts';
import { type App, accessApp, DAY_MS, enters, LEVELS, TEXTS } from './access-app.ts';

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

const STAFF = ['none', 'staff', 'owner'] as const;
const PROVIDER = ['none', 'provider', 'manager'] as const;
/** Of the caller's request, if there is one. The last two are approved: from tomorrow, and until today. */
const REQUEST = ['none', 'requested', 'denied', 'approved', 'approved later', 'approved once'] as const;

interface Person {
  readonly id: number;
  readonly staff: (typeof STAFF)[number];
  readonly provider: (typeof PROVIDER)[number];
  readonly request: (typeof REQUEST)[number];
}

/** Everything that somebody can be at once. */
const PEOPLE: readonly Person[] = STAFF.flatMap((staff, i) =>
  PROVIDER.flatMap((provider, j) =>
    REQUEST.map((request, k) => ({ id: 700 + i * 18 + j * 6 + k, staff, provider, request })),
  ),
);

const study = (app: App, who: string, id: string) => app.call(who, 'GET', `/permissions/${id}`);

/** The person, as they are to the dataset. */
async function enter(app: App, { id, provider, request }: Person, datasetId: string): Promise<void> {
  if (provider !== 'none') {
    const body = { datasetId, userId: id, isManager: provider === 'manager' };
    await app.call('1', 'POST', '/dataset-providers', body);
  }
  if (request === 'none') return;
  const from = (days: number) => new Date(app.clock.now() + days * DAY_MS).toISOString();
  const approvalStatus = statusOf(request);
  const window = { later: { startDate: from(1) }, once: { startDate: from(-2), duration: 2 } };
  const [, when] = request.split(' ') as [string, keyof typeof window | undefined];
  await app.call('1', 'POST', '/dataset-end-users', {
    ...{ ...TEXTS, userId: id, datasetId, approvalStatus },
    ...(when ? window[when] : {}),
  });
}

const statusOf = (request: Person['request']): string =>
  request === 'none' ? 'unrequested' : (request.split(' ')[0] ?? '');

/** The rule: staff, providers and grants in force open everything, all else depends on the level. */
const actionsOf = ({ staff, provider, request }: Omit<Person, 'id'>, level: RestrictionLevel): string =>
  staff !== 'none' || provider !== 'none' || request === 'approved' ? ALL : OPEN[level];

async function check(t: Test, app: App, who: string, person: Omit<Person, 'id'>): Promise<void> {
  const { staff, provider, request } = person;
  const all = (await app.call(who, 'GET', '/permissions?all=true')).body as PermissionsBody;
  const name = `${who}: staff ${staff}, provider ${provider}, request ${request}`;
  t.strictSame([all.isStaff, all.isOwner], [staff === 'none' ? undefined : true, staff === 'owner' || undefined], name);
  for (const level of LEVELS) {
    const expected = actionsOf(person, level);
    const { actionAuthorization, ...entry } = all.perDataset?.[level] ?? { actionAuthorization: {} };
    t.strictSame(
      [entry, letters(actionAuthorization)],
      [
        {
          ...{ studyId: `S-${level}`, sha1Hash: 'abc', displayName: `Study ${level}`, shortDisplayName: level },
          ...{ description: `About ${level}`, isUserStudy: false },
          type: provider === 'none' ? 'end-user' : 'provider',
          isManager: provider === 'manager',
          accessRequestStatus: statusOf(request),
          restrictionLevel: level,
        },
        expected,
      ],
      `${name}, ${level}`,
    );
    for (const id of [`S-${level}`, level]) {
      const one = await study(app, who, id);
      const { actionAuthorization: actions, ...rest } = one.body as { actionAuthorization: Record<string, boolean> };
      t.strictSame(
        [one.status, rest, letters(actions)],
        [200, { studyId: `S-${level}`, datasetId: level, isUserStudy: false }, expected],
        `${name}, as ${id}`,
      );
    }
  }
}

t.test('every restriction level, for everything that a caller can be', async (t) => {
  const app = await accessApp(t);
  for (const person of PEOPLE) for (const level of LEVELS) await enter(app, person, level);
  for (const { id, staff } of PEOPLE)
    if (staff !== 'none') await app.call('1', 'POST', '/staff', { userId: id, isOwner: staff === 'owner' });
  t.equal(PEOPLE.length, 54);
  for (const person of PEOPLE) await check(t, app, String(person.id), person);
  // A guest is nothing of this, whatever a user of the same number is.
  const nothing = { staff: 'none', provider: 'none', request: 'none' } as const;
  for (const { id } of PEOPLE.slice(-2)) await check(t, app, `guest-${id}`, nothing);
});

t.test('a grant opens a dataset from its start until its days are over, to the millisecond', async (t) => {
  const app = await accessApp(t);
  const start = new Date(app.clock.now() + DAY_MS).toISOString();
  const days = { 80: 2, 81: 0, 82: -1, 83: Number.MAX_SAFE_INTEGER, 84: 1 } as const;
  for (const level of LEVELS)
    for (const [user, duration] of Object.entries(days)) {
      const more = { approvalStatus: 'approved', startDate: start, duration };
      t.equal((await enters(app, Number(user), level, more)).status, 200);
    }
  const steps = [
    { advance: 0, open: [] },
    { advance: DAY_MS - 1, open: [] },
    { advance: 1, open: [80, 81, 82, 83, 84] },
    { advance: DAY_MS - 1, open: [80, 81, 82, 83, 84] },
    { advance: 1, open: [80, 81, 82, 83] },
    { advance: DAY_MS - 1, open: [80, 81, 82, 83] },
    { advance: 1, open: [81, 82, 83] },
    { advance: 10_000 * DAY_MS, open: [81, 82, 83] },
  ];
  for (const { advance, open } of steps) {
    await app.clock.advance(advance);
    for (const user of [80, 81, 82, 83, 84]) {
      const { body } = await app.call(String(user), 'GET', '/permissions');
      for (const level of LEVELS) {
        const one = (await study(app, String(user), level)).body as { actionAuthorization: Record<string, boolean> };
        const listed = (body as PermissionsBody).perDataset?.[level]?.actionAuthorization ?? {};
        const expected = open.includes(user) ? ALL : OPEN[level];
        t.strictSame(
          [letters(one.actionAuthorization), letters(listed)],
          [expected, expected],
          `${user} on ${level} at ${app.clock.now()}`,
        );
      }
    }
  }
});

t.test('/permissions lists only what the caller has to do with, and an empty map when that is nothing', async (t) => {
  const app = await accessApp(t);
  t.strictSame((await app.call('90', 'GET', '/permissions')).body, { perDataset: {} });
  t.strictSame((await app.call('guest-90', 'GET', '/permissions')).body, { perDataset: {} });
  t.strictSame((await app.call('1', 'GET', '/permissions')).body, { isStaff: true, isOwner: true, perDataset: {} });
  t.strictSame((await app.call('4', 'GET', '/permissions')).body, { isStaff: true, perDataset: {} });
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
    t.strictSame((await app.call(who, 'GET', '/permissions')).body, { perDataset: {} }, who);
    const { body } = await study(app, who, 'private');
    t.equal(letters((body as { actionAuthorization: Record<string, boolean> }).actionAuthorization), OPEN.private, who);
  }
});

t.test('with listAll every curated dataset is listed, unless asked for otherwise', async (t) => {
  const app = await accessApp(t, { listAll: true });
  t.strictSame(datasetsOf((await app.call('90', 'GET', '/permissions')).body), [...LEVELS].sort());
  t.strictSame((await app.call('90', 'GET', '/permissions?all=false')).body, { perDataset: {} });
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
