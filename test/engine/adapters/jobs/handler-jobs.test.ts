import t, { type Test } from 'tap';
import {
  PostgresHandlerJobs,
  PostgresHandlerStatistics,
} from '../../../../engine/adapters/jobs/handler-jobs-postgres.ts';
import { handlerJobsConformance, handlerStatisticsConformance } from '../../../conformance/handler-jobs.ts';
import { FakeHandlerJobs, FakeHandlerStatistics, HandlerTable } from '../../../fakes/fake-handler-jobs.ts';
import { cacheDatabase, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

/** Two processes on empty records. */
async function processes(t: Test) {
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  await first.db.query('truncate handler_job, handler_response');
  await first.db.query('delete from handler_total');
  await first.db.query('insert into handler_total default values');
  return { first, second };
}

t.test('PostgreSQL', async (t) => {
  handlerJobsConformance(t, async (t) => {
    const { first, second } = await processes(t);
    return {
      first: new PostgresHandlerJobs(first.db, first.instance),
      second: new PostgresHandlerJobs(second.db, second.instance),
      killSecond: () => second.instance[Symbol.asyncDispose](),
    };
  });
  handlerStatisticsConformance(t, async (t) => new PostgresHandlerStatistics((await processes(t)).first.db));
});

t.test('fake', async (t) => {
  handlerJobsConformance(t, async () => {
    const table = new HandlerTable();
    return {
      first: new FakeHandlerJobs(table, 1),
      second: new FakeHandlerJobs(table, 2),
      killSecond: async () => {
        table.dead.add(2);
      },
    };
  });
  handlerStatisticsConformance(t, async () => new FakeHandlerStatistics());
});
