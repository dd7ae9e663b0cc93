import pg from 'pg';
import t, { type Test } from 'tap';
import type { ReportJobId } from '../../../../engine/model/report/report-job.ts';
import { reportCollectionsConformance } from '../../../conformance/report-collections.ts';
import { reportJobsConformance } from '../../../conformance/report-jobs.ts';
import { reportQueueConformance } from '../../../conformance/report-queue.ts';
import {
  at as after,
  type CollectingProcess,
  claimOne,
  complete,
  end,
  failed,
  type ReportWorld,
  requestOf,
  rulesAt,
  signal,
  submit,
  userOf,
} from '../../../conformance/report-world.ts';
import { FakeReportExpiry, FakeReportJobs, FakeReportQueue, ReportTable } from '../../../fakes/fake-report-jobs.ts';
import { reportDatabase, reportProcess } from '../../../support/report-database.ts';

const at = await reportDatabase(t);

/** Two processes on empty records. */
async function onPostgres(t: Test): Promise<ReportWorld<CollectingProcess>> {
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
    t.test('queue', async (t) => reportQueueConformance(t, setup));
  });
t.test('PostgreSQL: collections', async (t) => reportCollectionsConformance(t, onPostgres));

t.test('a link that is being made holds up nobody else who asks for its job or runs it', async (t) => {
  // Two that ask for a job at once may each wait for the other's link: whoever held the job against links was a third, and
  // PostgreSQL ended one of them.
  const { first, second } = await onPostgres(t);
  const id = await submit(first, 1);
  const asked = (seconds: number) =>
    second.jobs.submit(requestOf(1), { user: userOf(8), meta: {} }, rulesAt(seconds), signal);
  await linking(id, async () => {
    const claimed = await claimOne(second, 1);
    t.equal(claimed.id, id);
    t.strictSame(await second.queue.renew([claimed], signal), []);
    await end(second, claimed, failed(1), 2);
    t.equal(await asked(1_000), 'queued');
    await end(second, await claimOne(second, 1_001), complete(1_002), 1_002);
    t.equal(await second.expiry.expireOne(id, signal), 'expired');
    t.equal(await second.jobs.requeue(id, { ...rulesAt(0), now: after(1_003) }, signal), 'queued');
  });
});

/** Somebody's link is written meanwhile, and not committed yet. */
async function linking(id: ReportJobId, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...at, options: '-c search_path=report' });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(
      'insert into collection (user_id, guest, report_id, query_id) select 7, false, id, query_id from report_job where id = $1',
      [id],
    );
    await work();
  } finally {
    await client.end();
  }
}
