import t from 'tap';
import { PostgresJobCancels } from '../../../../engine/adapters/jobs/job-cancels-postgres.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { jobCancelsConformance, type OpenJobCancels } from '../../../conformance/job-cancels.ts';
import { CancelExchange, FakeJobCancels } from '../../../fakes/fake-job-cancels.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../../fakes/fake-leases.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

const openPostgres: OpenJobCancels = async (t) => {
  await emptyCache(at);
  const [one, two] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  const of = ({ db, instance }: typeof one) => ({
    cancels: new PostgresJobCancels(db, instance),
    jobs: new PostgresJobs(db, instance, new VirtualClock()),
  });
  return { first: of(one), second: of(two), killSecond: () => two.instance[Symbol.asyncDispose]() };
};

const openFake: OpenJobCancels = async () => {
  const clock = new VirtualClock();
  const leases = new LeaseTable(clock);
  const table = new JobTable(clock, leases, () => undefined);
  const exchange = new CancelExchange(table);
  const of = (process: number) => ({
    cancels: new FakeJobCancels(exchange, process),
    jobs: new FakeJobs(table, process),
  });
  return { first: of(1), second: of(2), killSecond: async () => void leases.kill(2) };
};

jobCancelsConformance('PostgresJobCancels', openPostgres);
jobCancelsConformance('FakeJobCancels', openFake);
