// Who may read what of users' datasets: every caller, whatever the dataset is and whatever came of the caller's request,
// at every route that shows something of a dataset.

import t from 'tap';
import type { UserId } from '../../../engine/model/ids.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { type Added, share } from '../installer/stored-datasets.ts';
import { DAY_MS } from './access-app.ts';
import { type UserDatasetWorld, userDatasetWorld, type Visibility } from './user-dataset-world.ts';

const OWNER = '700' as UserId;
const VISIBILITIES: readonly Visibility[] = ['private', 'protected', 'controlled', 'public'];

/** What came of a request. All but the last two are for the dataset that is looked at. */
const GRANTS = ['requested', 'approved', 'not begun', 'expired', 'denied', 'withdrawn', 'other dataset'] as const;
type Grant = (typeof GRANTS)[number] | 'none';

interface Caller {
  readonly who: string | undefined;
  readonly is: string;
  /** Owns it, accepted it, or is the administrator. */
  readonly given?: boolean;
  /** Could have seen it before, so that 410 is answered instead of 404. */
  readonly before?: boolean;
  readonly grant?: Grant;
}

const GRANTED = GRANTS.map((grant, i) => ({ who: String(720 + i), is: `a user, ${grant}`, grant }));
const CALLERS: readonly Caller[] = [
  { who: OWNER, is: 'the owner', given: true },
  { who: '701', is: 'a recipient who accepted', given: true },
  { who: '702', is: 'a recipient who did not answer' },
  { who: '703', is: 'a recipient whose share was taken back', before: true },
  { who: '704', is: 'a user' },
  { who: '1', is: 'an owner of the site' },
  { who: '4', is: 'staff of the site' },
  ...GRANTED,
  { who: 'guest-704', is: 'a guest' },
  { who: `guest-${OWNER}`, is: 'a guest with the number of the owner' },
  { who: 'guest-701', is: 'a guest with the number of a recipient' },
  { who: 'guest-721', is: 'a guest with the number of somebody with a grant' },
  { who: undefined, is: 'nobody' },
];

/** The table of what is meant, in the words of the decision. */
const READS: Readonly<Record<Visibility, Readonly<Record<'metadata' | 'files', (caller: Caller) => boolean>>>> = {
  private: { metadata: (c) => c.given === true, files: (c) => c.given === true },
  protected: { metadata: () => true, files: (c) => c.given === true || c.grant === 'approved' },
  controlled: { metadata: () => true, files: (c) => c.given === true || c.grant === 'approved' },
  public: { metadata: () => true, files: () => true },
};

/** `archive`: what is not seen is absent, whatever was before (docs/contract/installer.md#endpoints). */
const ROUTES: readonly (readonly [path: string, needs: 'metadata' | 'files', kind?: 'archive' | 'no guests'])[] = [
  ['', 'metadata', 'no guests'],
  ['/files', 'metadata'],
  ['/files/vdi-meta.json', 'metadata'],
  ['/files/documents/notes.pdf', 'metadata'],
  ['/files/upload', 'files', 'archive'],
  ['/files/install', 'files', 'archive'],
  ['/files/dataset-properties/p.tsv', 'files'],
  ['/files/variable-properties/p.tsv', 'files'],
];

const isGuest = ({ who }: Caller): boolean => who?.startsWith('guest-') === true;

function expectedCode(caller: Caller, visibility: Visibility, [, needs, kind]: (typeof ROUTES)[number]): number {
  if (caller.who === undefined) return 401;
  if (kind === 'no guests' && isGuest(caller)) return 403;
  const reads = READS[visibility];
  if (!reads.metadata(caller)) return caller.before && kind !== 'archive' ? 410 : 404;
  return needs === 'metadata' || reads.files(caller) ? 200 : 403;
}

/** All ask while it is protected: what is private can be asked for by nobody. */
async function prepared(world: UserDatasetWorld): Promise<ReadonlyMap<Visibility, Added>> {
  const { app, make, become, asks, decides } = world;
  const other = await make('protected');
  const made = new Map<Visibility, Added>();
  const now = app.clock.now();
  const iso = (days: number) => new Date(now + days * DAY_MS).toISOString();
  for (const visibility of VISIBILITIES) {
    const at = await make('protected');
    await share(app.cache, at, '701' as UserId, 'grant', 'accept');
    await share(app.cache, at, '702' as UserId, 'grant', null);
    await share(app.cache, at, '703' as UserId, 'revoke', 'accept');
    for (const { who, grant } of GRANTED) {
      if (grant === 'other dataset') continue;
      await asks(who, at.dataset);
      const approve = ['/approvalStatus', 'approved'] as const;
      if (grant === 'approved') await decides(at, who, approve, ['/duration', 30]);
      if (grant === 'not begun') await decides(at, who, approve, ['/startDate', iso(1)]);
      if (grant === 'expired') await decides(at, who, approve, ['/startDate', iso(-10)], ['/duration', 10]);
      if (grant === 'denied') await decides(at, who, ['/approvalStatus', 'denied']);
      if (grant === 'withdrawn') {
        await decides(at, who, approve);
        await app.call(OWNER, 'DELETE', `/dataset-end-users/${who}-${at.dataset}`);
      }
    }
    await become(at, visibility);
    made.set(visibility, at);
  }
  const last = GRANTED.at(-1)?.who ?? '';
  await asks(last, other.dataset);
  await decides(other, last, ['/approvalStatus', 'approved']);
  return made;
}

interface Permissions {
  readonly perDataset: Readonly<Record<string, { readonly actionAuthorization: Record<string, boolean> }>>;
}

t.test('who may read what, at every route and on the site', async (t) => {
  // The site's database has a clock of its own.
  const world = await userDatasetWorld(t, OWNER, new VirtualClock(Date.now()));
  const made = await prepared(world);
  await world.tellSite();
  let rows = 0;
  for (const [visibility, at] of made) {
    const { dataset } = at;
    await world.install(at);
    const shown = await world.shownTo(at);
    const meant = CALLERS.filter(
      (caller) => READS[visibility].files(caller) && (caller.given || caller.grant === 'approved'),
    );
    t.strictSame(shown, meant.map(({ who }) => who).sort(), `${visibility}: the site shows it`);
    for (const caller of CALLERS) {
      const { who, is } = caller;
      const reads = READS[visibility];
      for (const route of ROUTES) {
        const { status } = await world.get(who, `/datasets/${dataset}${route[0]}`);
        t.equal(status, expectedCode(caller, visibility, route), `${visibility}, ${is}: ${route[0] || 'details'}`);
        rows++;
      }
      if (who === undefined) continue;

      const community = (await world.get(who, '/datasets/community')).body as { datasetId: string }[];
      const isListed = community.some((item) => item.datasetId === dataset);
      t.equal(isListed, visibility !== 'private', `${visibility}, ${is}: community`);
      if (!isGuest(caller)) {
        const mine = (await world.get(who, '/datasets')).body as { datasetId: string }[];
        t.equal(
          mine.some((item) => item.datasetId === dataset),
          caller.given === true,
          `${visibility}, ${is}: own list`,
        );
      }

      const one = await world.get(who, `/permissions/${dataset}`);
      t.equal(one.status, reads.metadata(caller) ? 200 : 404, `${visibility}, ${is}: permission`);
      const said = (one.body as { actionAuthorization?: Record<string, boolean> }).actionAuthorization;
      const all = reads.files(caller);
      const only = {
        studyMetadata: true,
        subsetting: all,
        visualizations: all,
        resultsFirstPage: all,
        resultsAll: all,
      };
      if (reads.metadata(caller)) t.strictSame(said, only, `${visibility}, ${is}: actions`);
      const listed = ((await world.get(who, '/permissions')).body as Permissions).perDataset[dataset];
      const requested = caller.grant !== undefined && !['withdrawn', 'other dataset'].includes(caller.grant);
      const isShown = caller.given === true || (requested && reads.metadata(caller));
      t.strictSame(listed?.actionAuthorization, isShown ? only : undefined, `${visibility}, ${is}: listed permission`);
      rows += 5;
    }
  }
  t.equal(rows, 4 * CALLERS.length * ROUTES.length + 4 * (CALLERS.length - 1) * 5);
});

t.test('a guest learns of no person from what is protected or controlled', async (t) => {
  const world = await userDatasetWorld(t, OWNER);
  // Known by name from a call of their own.
  await world.app.call(OWNER, 'GET', '/permissions');
  const seen = async (who: string, visibility: Visibility, path: (dataset: string) => string): Promise<boolean> => {
    const { dataset } = await world.make(visibility);
    const answer = await world.get(who, path(dataset));
    t.equal(answer.status, 200);
    await world.app.cache.query(`update dataset set state = 'deleted' where dataset_id = $1`, [dataset]);
    return /F700|u700@site|Olga|olga@lab/.test(answer.text);
  };
  const paths = [
    () => '/datasets/community',
    (dataset: string) => `/datasets/${dataset}/files`,
    (dataset: string) => `/datasets/${dataset}/files/vdi-meta.json`,
  ];
  for (const path of paths)
    for (const visibility of ['protected', 'controlled'] as const)
      for (const who of ['guest-5', `guest-${OWNER}`])
        t.notOk(await seen(who, visibility, path), `${who} ${path('ID')}`);
  t.ok(await seen('guest-5', 'public', () => '/datasets/community'), 'who publishes is named');
  t.ok(await seen('5', 'protected', () => '/datasets/community'), 'a user sees whom to ask');
});

t.test('a grant counts from its beginning to its end, to the millisecond', async (t) => {
  const world = await userDatasetWorld(t, OWNER);
  const at = await world.make('protected');
  await world.asks('730', at.dataset);
  const startDate = new Date(world.app.clock.now() + DAY_MS).toISOString();
  await world.decides(at, '730', ['/approvalStatus', 'approved'], ['/startDate', startDate], ['/duration', 2]);
  const reads = async () => (await world.get('730', `/datasets/${at.dataset}/files/upload`)).status;
  t.equal(await reads(), 403);
  await world.app.clock.advance(DAY_MS - 1);
  t.equal(await reads(), 403, 'a millisecond too early');
  await world.app.clock.advance(1);
  t.equal(await reads(), 200);
  await world.app.clock.advance(2 * DAY_MS - 1);
  t.equal(await reads(), 200, 'the last millisecond');
  await world.app.clock.advance(1);
  t.equal(await reads(), 403);
  await world.decides(at, '730', ['/duration', Number.MAX_SAFE_INTEGER]);
  await world.app.clock.advance(10_000 * DAY_MS);
  t.equal(await reads(), 200, 'as long as a number can say');
});

t.test('without dataset access service the files of protected datasets are for owner and recipients', async (t) => {
  const { make, app, installer } = await userDatasetWorld(t, OWNER);
  const { installerApp } = await import('../installer/installer-app.ts');
  const alone = await installerApp(t, app.cache);
  for (const visibility of ['protected', 'controlled'] as const) {
    const at = await make(visibility);
    await share(app.cache, at, '701' as UserId, 'grant', 'accept');
    for (const key of installer.store.keys()) {
      const opened = await installer.store.get(key, undefined, new AbortController().signal);
      if (!opened) throw new Error(`${key} is not there`);
      await alone.store.put(key, opened.body, {}, new AbortController().signal);
    }
    const codes = [];
    for (const who of [OWNER, '701', '704', 'guest-704'])
      codes.push((await alone.call(who, 'GET', `/datasets/${at.dataset}/files/upload`)).status);
    t.strictSame(codes, [200, 200, 403, 403], visibility);
  }
});
