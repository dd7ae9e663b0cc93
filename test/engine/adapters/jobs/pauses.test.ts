import t from 'tap';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresPauses } from '../../../../engine/adapters/jobs/pauses-postgres.ts';
import { type OpenPauses, pausesConformance } from '../../../conformance/pauses.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../../fakes/fake-leases.ts';
import { FakePauses, PauseTable } from '../../../fakes/fake-pauses.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

const openPostgres: OpenPauses = async (t) => {
  await emptyCache(at);
  const [one, two] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  return {
    pauses: new PostgresPauses(one.db, one.instance),
    other: new PostgresPauses(two.db, two.instance),
    jobs: new PostgresJobs(two.db, two.instance, new VirtualClock()),
    async advance(ms) {
      await one.db.query(`update pause set until = until - $1 * interval '1 millisecond'`, [ms]);
    },
  };
};

const openFake: OpenPauses = async () => {
  const clock = new VirtualClock(Date.now());
  const jobs = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const table = new PauseTable(jobs);
  return {
    pauses: new FakePauses(table),
    other: new FakePauses(table),
    jobs: new FakeJobs(jobs, 1),
    advance: (ms) => clock.advance(ms),
  };
};

pausesConformance('PostgresPauses', openPostgres);
pausesConformance('FakePauses', openFake);
