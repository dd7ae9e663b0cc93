// Two lanes of one process, of which one hands the next job of a dataset to the other. The datasets are `genes-1`, `reads-2`.

import t, { type Test } from 'tap';
import type { Receiver } from '../../../actors/jobs/hand-over.ts';
import { jobLane } from '../../../actors/jobs/job-lane.ts';
import type { LaneName } from '../../../engine/model/event.ts';
import type { ClaimedJob, JobOutcome } from '../../../engine/ports/jobs.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { TWO_PLUGINS, twoPluginJobs } from '../../support/two-plugins.ts';

const never = new AbortController().signal;
const DONE: JobOutcome = { kind: 'done' };
const RETRY = { attempts: 3, baseMs: 1_000, maxMs: 8_000 };

interface Settings {
  /** Of each lane. */
  readonly workers?: number;
  /** Types whose plugin does not answer, for the second lane. */
  readonly blocked?: readonly string[];
}

async function setup(t: Test, { workers = 3, blocked = [] }: Settings = {}) {
  const world = twoPluginJobs();
  const { jobs, clock } = world;
  const metrics = new Metrics();
  const receivers = new Map<LaneName, Receiver>();
  /** What was claimed by which lane. */
  const claims: string[] = [];
  const ran: string[] = [];
  const running = new Map<string, PromiseWithResolvers<JobOutcome>>();
  /** Until then no answer that hands a job over arrives. */
  let hold: Promise<void> | undefined;
  const completeAndFetch = jobs.completeAndFetch.bind(jobs);
  jobs.completeAndFetch = async (done, claim, signal) => {
    const fetched = await completeAndFetch(done, claim, signal);
    claims.push(...fetched.map((job) => `${job.dataset} ${job.lane} by ${claim.lane}`));
    if (fetched.some((job) => job.lane !== claim.lane)) await hold;
    return fetched;
  };
  const start = async (lane: 'import' | 'install', run: (job: ClaimedJob) => Promise<JobOutcome>) => {
    const started = jobLane({
      handler: { lane, run, report: async () => {} },
      jobs,
      types: TWO_PLUGINS,
      breakers: lane === 'install' ? { blockedTypes: () => blocked, watch: () => () => undefined } : undefined,
      receivers,
      tuning: { inMemoryQueueSize: 2, workerCount: workers, retry: RETRY },
      clock,
      log: silentLogger(),
      metrics,
      random: () => 0,
    });
    await started.start(never);
    t.teardown(() => started.kill());
    return started;
  };
  const install = await start('install', async ({ dataset }) => {
    ran.push(dataset);
    const end = Promise.withResolvers<JobOutcome>();
    running.set(dataset, end);
    return end.promise;
  });
  const imports = await start('import', async ({ dataset, owner }) => {
    await jobs.enqueue([{ lane: 'install', dataset, owner, eventId: 1, source: 'import-lane' }], never);
    await clock.settle();
    return DONE;
  });
  const enqueue = async (...datasets: string[]): Promise<void> => {
    await world.enqueue('import', ...datasets);
    await clock.settle();
  };
  const end = async (dataset: string): Promise<void> => {
    running.get(dataset)?.resolve(DONE);
    await clock.settle();
  };
  return {
    ...{ ...world, enqueue, end, claims, ran, install, imports, metrics },
    holdCalls: (until: Promise<void>) => {
      hold = until;
    },
  };
}

t.test('an idle lane is handed the job that follows, which runs under a lease of its own', async (t) => {
  const { enqueue, claims, ran, install, end, rows, table, metrics } = await setup(t);
  await enqueue('genes-1');
  t.same([ran, claims], [['genes-1'], ['genes-1 import by import', 'genes-1 install by import']]);
  t.same(
    install.held().map(({ lane, dataset }) => ({ lane, dataset })),
    [{ lane: 'install', dataset: 'genes-1' }],
    'it is held, so its lease is renewed',
  );
  t.match(await metrics.text(), /lane_claimed_total\{lane="install"\} 1\n/);
  await end('genes-1');
  t.same([rows(), table.leases.held()], [[], []]);
});

t.test('a lane without an idle worker claims the job when one is free', async (t) => {
  const { enqueue, claims, ran, end } = await setup(t, { workers: 1 });
  await enqueue('genes-1');
  await enqueue('reads-1');
  t.same(ran, ['genes-1']);
  await end('genes-1');
  t.same(ran, ['genes-1', 'reads-1']);
  t.ok(claims.includes('reads-1 install by install'), claims.join());
});

t.test('a job whose plugin does not answer is not handed over', async (t) => {
  const { enqueue, ran, rows } = await setup(t, { blocked: ['genes:1.0'] });
  await enqueue('genes-1', 'reads-1');
  t.same([ran, rows()], [['reads-1'], ['genes-1 queued 0', 'reads-1 running 0']]);
});

t.test('a plugin with its share of the lane is handed a job only when no other plugin waits', async (t) => {
  const { enqueue, claims, ran } = await setup(t, { workers: 3 });
  await enqueue('genes-1', 'genes-2');
  t.same(ran, ['genes-1', 'genes-2']);
  await enqueue('genes-3');
  t.same(ran, ['genes-1', 'genes-2', 'genes-3'], 'nobody waits');
  t.ok(claims.includes('genes-3 install by import'), claims.join());
});

t.test('a lane that stops while the job is on its way gives it back', async (t) => {
  const { enqueue, ran, install, rows, table, clock, holdCalls, imports } = await setup(t);
  const answered = Promise.withResolvers<void>();
  await enqueue('reads-1');
  holdCalls(answered.promise);
  await enqueue('genes-1');
  install.quiet();
  answered.resolve();
  await clock.settle();
  t.same([ran, rows()], [['reads-1'], ['reads-1 running 0', 'genes-1 queued 0']]);
  t.same([imports.held(), table.leases.held()], [[], ['reads-1']]);
});
