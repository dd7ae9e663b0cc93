import t, { type Test } from 'tap';
import { Cancellations } from '../../../actors/jobs/cancellations.ts';
import type { FailedOutcome } from '../../../actors/jobs/job-handler.ts';
import { jobLane } from '../../../actors/jobs/job-lane.ts';
import { DataTypes } from '../../../engine/model/data-types.ts';
import type { ClaimedJob, JobOutcome, JobRequest } from '../../../engine/ports/jobs.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeCatalog } from '../../fakes/fake-catalog.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { CancelExchange, FakeJobCancels } from '../../fakes/fake-job-cancels.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;
const DONE: JobOutcome = { kind: 'done' };
const STOPPED = 'an operator stopped this step; it is not repeated by itself';

/** A lane with one worker. Its jobs end when they are aborted, or when `finish` is called. */
async function setup(t: Test, report: () => Promise<void> = async () => {}) {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const jobs = new FakeJobs(table, 1);
  const exchange = new CancelExchange(table);
  const cancellations: Cancellations = new Cancellations(
    [
      {
        held: () => lane.held(),
        isWaiting: (id) => lane.isWaiting(id),
        abortJob: (id, reason) => lane.abortJob(id, reason),
      },
    ],
    silentLogger(),
  );
  const reports: string[] = [];
  const begun: string[] = [];
  let finish = (): void => {};
  const lane = jobLane({
    handler: {
      lane: 'import',
      run: async (job: ClaimedJob, signal: AbortSignal) => {
        begun.push(job.dataset);
        await new Promise<void>((resolve, reject) => {
          finish = resolve;
          signal.addEventListener('abort', () => reject(new Error('stopped halfway')));
        });
        return DONE;
      },
      report: async (job: ClaimedJob, { kind, message }: FailedOutcome, signal: AbortSignal) => {
        signal.throwIfAborted();
        reports.push(`${job.dataset} ${kind}: ${message}`);
        await report();
      },
    },
    ...{ jobs, clock, cancellations, log: silentLogger(), metrics: new Metrics() },
    types: new DataTypes([], []),
    breakers: undefined,
    tuning: { inMemoryQueueSize: 2, workerCount: 1, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
    random: () => 0,
  });
  await lane.start(never);
  t.teardown(() => lane.kill());
  const stop = new AbortController();
  void cancellations.listen(new FakeJobCancels(exchange, 1), stop.signal);
  t.teardown(() => stop.abort());
  const enqueue = async (...datasets: string[]): Promise<void> => {
    const request = { lane: 'import', eventId: 1, source: 'api' } as const;
    await jobs.enqueue(
      datasets.map((dataset, i) => ({ ...request, dataset, owner: String(42 + i) }) as JobRequest),
      never,
    );
    await clock.settle();
  };
  // The order comes from another process.
  const ask = async (dataset: string, hard = false) => {
    const job = table.rows.find((row) => row.dataset === dataset)?.id ?? 0;
    const answer = await new FakeJobCancels(exchange, 2).ask({ job, by: 'user 9', reason: 'a typo', hard }, never);
    await clock.settle();
    return answer;
  };
  const rows = () =>
    table.rows.map(
      ({ dataset, state, failure }) => `${dataset} ${state} ${failure?.kind ?? ''} ${failure?.message ?? ''}`,
    );
  return {
    ...{ clock, table, jobs, lane, cancellations, enqueue, ask, begun, reports, rows },
    async finish() {
      finish();
      await clock.settle();
    },
  };
}

const CANCELLED = 'rejected cancelled by user 9: a typo';

t.test('a cancelled job is dead, its owner is told without names, and the next one begins', async (t) => {
  const { enqueue, ask, begun, reports, rows } = await setup(t);
  await enqueue('d1', 'd2');
  t.equal(await ask('d1'), 'asked');
  t.same(rows(), [`d1 dead ${CANCELLED}`, 'd2 running  ']);
  t.same(reports, [`d1 dead: ${STOPPED}`]);
  t.same(begun, ['d1', 'd2']);
});

t.test('it runs again only when it is retried by hand', async (t) => {
  const { clock, table, enqueue, ask, begun, rows, finish } = await setup(t);
  await enqueue('d1');
  await ask('d1');
  await enqueue('d1');
  await clock.advance(3_600_000);
  t.same([begun, rows()], [['d1'], [`d1 dead ${CANCELLED}`]]);
  const id = table.rows[0]?.id ?? 0;
  t.equal(await new FakeJobAdmin(table, new FakeCatalog(() => true)).retry(id, never), 'queued');
  await clock.settle();
  await finish();
  t.same([begun, rows()], [['d1', 'd1'], []]);
});

t.test('a job that was claimed and has not started is cancelled when its turn comes', async (t) => {
  const { enqueue, ask, begun, reports, rows, finish } = await setup(t);
  await enqueue('d1', 'd2');
  t.same([begun, rows()[1]], [['d1'], 'd2 running  '], 'the lane holds the second');
  t.equal(await ask('d2'), 'asked');
  t.same(reports, []);
  await finish();
  t.same([begun, reports], [['d1'], [`d2 dead: ${STOPPED}`]]);
  t.same(rows(), [`d2 dead ${CANCELLED}`]);
});

t.test('the end of a job wins over a cancel that comes later', async (t) => {
  const { table, cancellations, enqueue, reports, rows, finish } = await setup(t);
  await enqueue('d1');
  const { id, claim } = table.rows[0] ?? {};
  await finish();
  const order = { job: id ?? 0, token: claim?.token ?? 0, by: 'user 9', reason: undefined, hard: true };
  t.equal(cancellations.cancel(order), false);
  t.same([reports, rows()], [[], []]);
});

t.test('an order about an earlier run of the job does not end the present one', async (t) => {
  const { table, cancellations, enqueue, rows } = await setup(t);
  await enqueue('d1');
  const { id = 0, claim } = table.rows[0] ?? {};
  const order = { job: id, token: (claim?.token ?? 0) - 1, by: 'user 9', reason: undefined, hard: false };
  t.equal(cancellations.cancel(order), false);
  t.same(rows(), ['d1 running  ']);
});

t.test('a job is dead even if its owner cannot be told', async (t) => {
  const { enqueue, ask, rows } = await setup(t, async () => {
    throw new Error('the database does not answer');
  });
  await enqueue('d1');
  await ask('d1', true);
  t.same(rows(), [`d1 dead ${CANCELLED}`]);
});
