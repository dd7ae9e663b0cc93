import { hostname } from 'node:os';
import t from 'tap';
import { PostgresJobAdmin } from '../../../../engine/adapters/jobs/job-admin-postgres.ts';
import { PostgresJobHistory } from '../../../../engine/adapters/jobs/job-history-postgres.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresLeases } from '../../../../engine/adapters/postgres/leases-postgres.ts';
import { jobHistoryConformance, type OpenHistory } from '../../../conformance/job-history.ts';
import { signal } from '../../../conformance/jobs.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeJobAdmin } from '../../../fakes/fake-job-admin.ts';
import { FakeJobHistory } from '../../../fakes/fake-job-history.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { FakeLeases, LeaseTable } from '../../../fakes/fake-leases.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, type EngineProcess, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);
const STARTED = new Date('2026-11-26T12:00:00Z');

async function opened({ db, instance }: EngineProcess) {
  const process_ = { instance: instance.id, host: hostname(), pid: process.pid, started: STARTED };
  await new PostgresJobHistory(db).introduce(process_, signal);
  return { jobs: new PostgresJobs(db, instance, new VirtualClock()), leases: new PostgresLeases(db, instance) };
}

const openPostgres: OpenHistory = async (t) => {
  await emptyCache(at);
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  return {
    first: await opened(first),
    second: await opened(second),
    history: new PostgresJobHistory(first.db),
    admin: new PostgresJobAdmin(first.db),
    instances: [first.instance.id, second.instance.id],
    killSecond: () => second.instance[Symbol.asyncDispose](),
    async advance(ms) {
      await first.db.query("update lease set expires_at = expires_at - $1 * interval '1 millisecond'", [ms]);
      await first.db.query("update job_history set at = at - $1 * interval '1 millisecond'", [ms]);
    },
  };
};

const openFake: OpenHistory = async () => {
  const clock = new VirtualClock();
  const leases = new LeaseTable(clock);
  const table = new JobTable(clock, leases, () => undefined);
  return {
    first: { jobs: new FakeJobs(table, 1), leases: new FakeLeases(leases, 1) },
    second: { jobs: new FakeJobs(table, 2), leases: new FakeLeases(leases, 2) },
    history: new FakeJobHistory(table),
    admin: new FakeJobAdmin(table, new FakeCatalog(() => true)),
    instances: [1, 2],
    killSecond: async () => leases.kill(2),
    advance: (ms) => clock.advance(ms),
  };
};

jobHistoryConformance('PostgresJobHistory', openPostgres);
jobHistoryConformance('FakeJobHistory', openFake);

t.test('a process is known for as long as entries may name it', async (t) => {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  await opened({ db, instance });
  const history = new PostgresJobHistory(db);
  const gone = { instance: 1_000_000, host: 'gone', pid: 7, started: STARTED };
  await history.introduce(gone, signal);
  await history.introduce({ ...gone, instance: 1_000_001 }, signal);
  await db.query("update process_instance set seen_at = now() - interval '31 days 1 minute' where id <> 1000001");
  await history.dropBefore(Date.now() - 30 * 86_400_000, signal);
  const known = await db.query<{ id: number }>('select id from process_instance where seen_at > now() - $1::interval', [
    '1 minute',
  ]);
  t.same(
    known.map(({ id }) => id).toSorted((a, b) => a - b),
    [instance.id, 1_000_001],
  );
});

t.test('a discarded job leaves an entry', async (t) => {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const { jobs } = await opened({ db, instance });
  const request = { lane: 'import', dataset: 'set', owner: '7', eventId: 1, source: 'api' } as const;
  await jobs.enqueue([request as never], signal);
  await db.query('delete from job');
  const { entries } = await new PostgresJobHistory(db).page(
    'set' as never,
    { limit: 9, order: 'oldest-first' },
    signal,
  );
  t.match(entries, [{ lane: 'import', outcome: 'discarded', process: undefined }]);
});
