// What is told of requests for users' datasets, from the change in the access database to the events of the installer.

import t, { type Test } from 'tap';
import { copyAccessEvents } from '../../../../actors/daemons/access-events.ts';
import { PostgresAccessEvents } from '../../../../engine/adapters/access/access-events.ts';
import { accessMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import type { Clock } from '../../../../engine/runtime/time.ts';
import { FakeDatasetEvents } from '../../../fakes/fake-dataset-events.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { openDatabase } from '../../../support/database.ts';

const signal = new AbortController().signal;
const DAY = 86_400_000;
const [OWNER, MANAGER, REQUESTER] = ['7', '8', '9'];

async function setup(t: Test) {
  const db = await openDatabase(t, 'access');
  await migrate(db, 'access', await accessMigrations(), signal);
  const change = (text: string, values: readonly unknown[] = []) =>
    db.transaction(async (sql) => {
      await sql.query(`select set_config('longshore.cause_user', '0', true),
        set_config('longshore.cause_time', '2026-01-01T00:00:00Z', true)`);
      await sql.query(text, values);
    }, signal);
  await change(`insert into curated_dataset select id, 'S-' || id, '', '', '', '', 'protected', -1, '', '', '', '', '', owner
    from (values ('mine', ${OWNER}::numeric), ('curated', null)) d (id, owner)`);
  await change(`insert into provider (user_id, dataset_id, is_manager)
    select u, d, u <> 6 from unnest(array['mine', 'curated']) d, unnest(array[6, ${MANAGER}]) u`);
  const standing = new VirtualClock();
  let skippedMs = 0;
  // Days pass without the runs of the daemon in between.
  const clock: Clock = {
    now: () => standing.now() + skippedMs,
    sleep: (ms, signal) => standing.sleep(ms, signal),
    after: (ms, fire) => standing.after(ms, fire),
  };
  const datasetEvents = new FakeDatasetEvents();
  const accessEvents = new PostgresAccessEvents(db);
  const daemon = copyAccessEvents({ accessEvents, datasetEvents, clock, log: silentLogger(), metrics: new Metrics() });
  let after = await datasetEvents.newest(signal);
  return {
    ...{ change, datasetEvents, accessEvents },
    pass: (days: number) => {
      skippedMs += days * DAY;
    },
    /** A request, or a grant that began now. */
    request: (status: 'requested' | 'approved', { dataset = 'mine', days = -1, user = REQUESTER } = {}) =>
      change(
        `insert into end_user (user_id, dataset_id, restriction_level, approval_status, start_date, duration, purpose,
           research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason, requested_at)
         values ($1::numeric, $2, 'protected', $3, $4, $5, 'p', '', '', '', '', '', $4)`,
        [user, dataset, status, new Date(clock.now()), days],
      ),
    decide: (set: string) => change(`update end_user set ${set} where dataset_id = 'mine'`),
    /** What a run of the daemon tells. */
    async told(): Promise<readonly string[]> {
      await daemon.runNow(signal).catch(() => undefined);
      const page = await datasetEvents.page({ of: 'all' }, after, 100, signal);
      after = page.upTo;
      return page.events.map(({ kind, dataset, owner, addressee, detail }) =>
        [kind, dataset, `of ${owner}`, `to ${addressee}`, ...(detail.ends ? [detail.ends] : [])].join(' '),
      );
    },
    start: async () => {
      await daemon.start(signal);
      t.teardown(() => daemon.kill());
    },
  };
}

t.test('a request is told to the owner and the managers, a decision to the person who asked', async (t) => {
  const { start, told, request, decide } = await setup(t);
  await start();
  await request('requested');
  t.same(await told(), ['access-requested mine of 7 to 7', 'access-requested mine of 7 to 8']);
  t.same(await told(), [], 'once');
  await decide(`approval_status = 'approved'`);
  await decide(`purpose = 'other'`);
  t.same(await told(), ['access-approved mine of 7 to 9']);
  await decide(`approval_status = 'denied', denial_reason = 'no', date_denied = now()`);
  t.same(await told(), ['access-denied mine of 7 to 9']);
});

t.test('requests for curated datasets are not told', async (t) => {
  const { start, told, request } = await setup(t);
  await start();
  await request('requested', { dataset: 'curated' });
  t.same(await told(), []);
});

t.test('the end of a grant is told once, in time; another end is told again', async (t) => {
  const { pass, start, told, request, decide } = await setup(t);
  await start();
  const ends = (days: number) => new Date(Date.UTC(2026, 0, 1 + days)).toISOString();
  await request('approved', { days: 30 });
  await request('approved', { days: 4, user: '10' });
  await request('approved', { user: '11' });
  await told();
  pass(2);
  t.same(await told(), [`access-expiring mine of 7 to 10 ${ends(4)}`]);
  pass(21);
  t.same(await told(), [`access-expiring mine of 7 to 9 ${ends(30)}`]);
  await decide('duration = case duration when 30 then 35 else duration end');
  pass(8);
  t.same(await told(), [`access-expiring mine of 7 to 9 ${ends(35)}`]);
  pass(30);
  t.same(await told(), []);
});

t.test('a copy that is not confirmed is made again, and stored once', async (t) => {
  const { accessEvents, datasetEvents, start, told, request } = await setup(t);
  await start();
  await request('requested');
  const copied = accessEvents.copied.bind(accessEvents);
  accessEvents.copied = async () => {
    throw transient('away');
  };
  t.equal((await told()).length, 2);
  accessEvents.copied = copied;
  t.same(await told(), []);
  t.same(await accessEvents.queued(10, signal), []);
  t.equal((await datasetEvents.page({ of: 'all' }, 0, 10, signal)).events.length, 2);
});
