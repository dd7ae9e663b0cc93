import t from 'tap';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresLeases } from '../../../../engine/adapters/postgres/leases-postgres.ts';
import { jobOutcomesConformance } from '../../../conformance/job-outcomes.ts';
import { jobsConformance, type OpenJobs } from '../../../conformance/jobs.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { FakeLeases, LeaseTable } from '../../../fakes/fake-leases.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess, jobsSeen } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

const openPostgres: OpenJobs = async (t) => {
  await emptyCache(at);
  const clock = new VirtualClock();
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  return {
    first: {
      jobs: new PostgresJobs(first.db, first.instance, clock),
      leases: new PostgresLeases(first.db, first.instance),
    },
    second: {
      jobs: new PostgresJobs(second.db, second.instance, clock),
      leases: new PostgresLeases(second.db, second.instance),
    },
    killSecond: () => second.instance[Symbol.asyncDispose](),
    async advance(ms) {
      // The database's own time cannot be moved: move everything it is compared with.
      await first.db.query("update lease set expires_at = expires_at - $1 * interval '1 millisecond'", [ms]);
      await first.db.query("update job set run_at = run_at - $1 * interval '1 millisecond'", [ms]);
      await clock.advance(ms);
    },
    async addToCatalog(dataset, type) {
      await first.db.query(
        `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata,
          visibility, name, upload_status, import_status)
        values ($1, 1, $1, 0, 'live', $2, $3, '{}', 'private', 'name', 'success', 'queued')`,
        [dataset, type.name, type.version],
      );
    },
    view: () => jobsSeen(first.db),
  };
};

const openFake: OpenJobs = async () => {
  const clock = new VirtualClock();
  const leases = new LeaseTable(clock);
  const types = new Map<string, string>();
  const table = new JobTable(clock, leases, (dataset) => types.get(dataset));
  return {
    first: { jobs: new FakeJobs(table, 1), leases: new FakeLeases(leases, 1) },
    second: { jobs: new FakeJobs(table, 2), leases: new FakeLeases(leases, 2) },
    killSecond: async () => leases.kill(2),
    advance: (ms) => clock.advance(ms),
    addToCatalog: async (dataset, type) => void types.set(dataset, `${type.name}:${type.version}`),
    view: async () => table.view(),
  };
};

for (const [name, open] of [
  ['PostgresJobs', openPostgres],
  ['FakeJobs', openFake],
] as const) {
  jobsConformance(name, open);
  jobOutcomesConformance(name, open);
}
