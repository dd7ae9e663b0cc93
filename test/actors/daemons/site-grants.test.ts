import pino from 'pino';
import t from 'tap';
import { tellSites } from '../../../actors/daemons/site-grants.ts';
import { PostgresGrantChanges } from '../../../engine/adapters/access/user-datasets.ts';
import { PostgresSiteGrants } from '../../../engine/adapters/sites/site-grants-postgres.ts';
import { targetId, type UserId } from '../../../engine/model/ids.ts';
import { NO_GRANT_CHANGES, type SiteGrants } from '../../../engine/ports/access-requests.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { DAY_MS, never } from '../../http/access/access-app.ts';
import { userDatasetWorld } from '../../http/access/user-dataset-world.ts';
import { PLASMO } from '../../support/dataset-samples.ts';

const OWNER = '700' as UserId;
const now = () => new VirtualClock(Date.now());

t.test('a site shows a dataset while a grant for it runs, and no longer', async (t) => {
  const world = await userDatasetWorld(t, OWNER, now());
  const at = await world.make('protected');
  await world.install(at);
  await world.asks('710', at.dataset);
  const seen = async () => {
    await world.tellSite();
    return world.shownTo(at);
  };
  t.strictSame(await seen(), [OWNER], 'requested');
  await world.decides(at, '710', ['/approvalStatus', 'approved']);
  t.strictSame(await seen(), [OWNER, '710'], 'approved');
  const start = (days: number) => new Date(world.app.clock.now() + days * DAY_MS).toISOString();
  await world.decides(at, '710', ['/startDate', start(1)]);
  t.strictSame(await seen(), [OWNER], 'not begun');
  await world.decides(at, '710', ['/startDate', start(-3)], ['/duration', 2]);
  t.strictSame(await seen(), [OWNER], 'over');
  await world.decides(at, '710', ['/duration', Number.MAX_SAFE_INTEGER]);
  t.strictSame(await seen(), [OWNER, '710'], 'as long as a number can say');
  await world.decides(at, '710', ['/approvalStatus', 'denied']);
  t.strictSame(await seen(), [OWNER], 'denied');
  await world.decides(at, '710', ['/approvalStatus', 'approved']);
  t.strictSame(await seen(), [OWNER, '710'], 'approved again');
  await world.become(at, 'private');
  await world.install(at);
  t.strictSame(await world.shownTo(at), [OWNER], 'private');
  await world.become(at, 'protected');
  await world.install(at);
  t.strictSame(await world.shownTo(at), [OWNER, '710'], 'protected again');
  t.equal((await world.app.call(OWNER, 'DELETE', `/dataset-end-users/710-${at.dataset}`)).status, 204);
  t.strictSame(await seen(), [OWNER], 'removed');
});

t.test('more grants than one page holds, of a site that is told for the first time', async (t) => {
  const world = await userDatasetWorld(t, OWNER, now());
  const at = await world.make('protected');
  await world.install(at);
  await world.asks('710', at.dataset);
  await world.app.db.transaction(async (sql) => {
    await sql.query(`select set_config('longshore.cause_user', '0', true),
      set_config('longshore.cause_time', '2026-01-01T00:00:00Z', true)`);
    await sql.query(
      `insert into end_user (user_id, dataset_id, restriction_level, approval_status, start_date, duration, purpose,
         research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason, requested_at)
       select 10000 + n, $1, 'protected', 'approved', now() - interval '1 hour', -1, '', '', '', '', '', '', now()
       from generate_series(1, 1200) n`,
      [at.dataset],
    );
  }, never);
  await world.tellSite();
  t.equal((await world.shownTo(at)).length, 1_201);
});

t.test('a site that is away keeps no other waiting, and is told once it is back', async (t) => {
  const world = await userDatasetWorld(t, OWNER, now());
  const at = await world.make('protected');
  await world.install(at);
  await world.asks('710', at.dataset);
  await world.decides(at, '710', ['/approvalStatus', 'approved']);
  const there = new PostgresSiteGrants(world.app.cache, { id: PLASMO, schema: 'control' });
  let isAway = true;
  let told = 0;
  const other: SiteGrants = {
    id: targetId('ToxoSite'),
    known: async () => {
      if (isAway) throw transient('the database is away');
      return told;
    },
    tell: async (_source, _after, changes) => {
      told = changes.at(-1)?.number ?? 0;
    },
  };
  const lines: { readonly level: number; readonly msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const clock = new VirtualClock();
  const timer = tellSites({
    changes: new PostgresGrantChanges(world.app.db),
    sites: [other, there],
    periodMs: 5_000,
    ...{ clock, log, metrics: new Metrics() },
  });
  t.teardown(() => timer.kill());
  await timer.start(never);
  for (let i = 0; i < 3; i++) await timer.runNow(never);
  t.strictSame(await world.shownTo(at), [OWNER, '710'], 'the other one');
  isAway = false;
  await timer.runNow(never);
  t.ok(told > 0, 'it was told');
  t.strictSame(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    ['40 a site cannot receive grant changes', '30 a site receives grant changes again'],
    'said once',
  );
});

t.test('nothing is granted any more when there is no dataset access service, or another one', async (t) => {
  const world = await userDatasetWorld(t, OWNER, now());
  const at = await world.make('protected');
  await world.install(at);
  await world.asks('710', at.dataset);
  await world.decides(at, '710', ['/approvalStatus', 'approved']);
  await world.tellSite();
  const site = new PostgresSiteGrants(world.app.cache, { id: PLASMO, schema: 'control' });
  const source = await NO_GRANT_CHANGES.source(never);
  t.equal(await site.known(source, never), 0);
  t.strictSame(await world.shownTo(at), [OWNER]);
  await world.tellSite();
  t.strictSame(await world.shownTo(at), [OWNER, '710'], 'there is one again');
  const [mine] = await new PostgresGrantChanges(world.app.db).after(0, never);
  if (!mine) throw new Error('no change');
  await site.tell('another', 0, [mine], never);
  const stale = { ...mine, grant: undefined };
  await site.tell(await new PostgresGrantChanges(world.app.db).source(never), 0, [stale], never);
  t.strictSame(await world.shownTo(at), [OWNER, '710'], 'who knows less than the site tells it nothing');
});
