import t, { type Test } from 'tap';
import { reportCollectionsConformance } from '../../conformance/report-collections.ts';
import { reportJobsConformance } from '../../conformance/report-jobs.ts';
import { reportQueueConformance } from '../../conformance/report-queue.ts';
import type { ReportWorld } from '../../conformance/report-world.ts';
import { FakeReportCollections } from '../../fakes/fake-report-collections.ts';
import { FakeReportExpiry, FakeReportJobs, FakeReportQueue, ReportTable } from '../../fakes/fake-report-jobs.ts';
import { reportDatabase, reportProcess } from '../../support/report-database.ts';

const at = await reportDatabase(t);

/** Two processes on empty records. */
async function onPostgres(t: Test): Promise<ReportWorld> {
  const [first, second] = await Promise.all([reportProcess(t, at), reportProcess(t, at)]);
  await first.db.query('truncate report_job, report_file, collection');
  return {
    first,
    second,
    killSecond: () => second.instance[Symbol.asyncDispose](),
    lapse: async () => {
      await first.db.query(`update report_job set lease_until = now() - interval '1 second' where holder is not null`);
    },
  };
}

async function inMemory(): Promise<ReportWorld> {
  const table = new ReportTable();
  const process = (number: number) => ({
    jobs: new FakeReportJobs(table),
    collections: new FakeReportCollections(table),
    queue: new FakeReportQueue(table, number),
    expiry: new FakeReportExpiry(table),
  });
  return {
    first: process(1),
    second: process(2),
    killSecond: async () => {
      table.dead.add(2);
    },
    lapse: async () => {
      for (const row of table.rows.values()) row.lapsed = true;
    },
  };
}

for (const [name, setup] of [
  ['PostgreSQL', onPostgres],
  ['fake', inMemory],
] as const)
  t.test(name, async (t) => {
    t.test('jobs', async (t) => reportJobsConformance(t, setup));
    t.test('collections', async (t) => reportCollectionsConformance(t, setup));
    t.test('queue', async (t) => reportQueueConformance(t, setup));
  });
