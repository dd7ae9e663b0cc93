import t, { type Test } from 'tap';
import { jobLane } from '../../actors/jobs/job-lane.ts';
import { planClaim } from '../../actors/jobs/job-source.ts';
import { DataTypes } from '../../engine/model/data-types.ts';
import type { JobOutcome } from '../../engine/ports/jobs.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { named, pluginOf, TWO_PLUGINS, twoPluginJobs } from '../support/two-plugins.ts';

const never = new AbortController().signal;
const GENES = 'genes:1.0';
const READS = 'reads:1.0';

t.test('a claim plan', async (t) => {
  const plan = (workers: number, idle: number, room: number, genes: number, reads = 0, types = TWO_PLUGINS) => {
    const held = [...Array(genes).fill(GENES), ...Array(reads).fill(READS), undefined, 'gone:1.0'];
    const { limit, crowdedTypes, withheldTypes } = planClaim({ workers, idle, room, held }, types);
    return [limit, crowdedTypes, withheldTypes];
  };
  t.same(plan(5, 5, 9, 0), [3, [], []], 'takes no more than one plugin may hold');
  t.same(plan(5, 3, 7, 2), [1, [], []], 'nor more than takes a plugin there');
  t.same(plan(5, 1, 1, 2, 2), [1, [], []], 'nor more than there is room for');
  t.same(plan(5, 2, 6, 3), [2, [GENES], []], 'prefers others for idle workers');
  t.same(plan(5, 2, 6, 3, 2), [1, [GENES], []], 'the more so when there are others');
  t.same(plan(5, 0, 4, 4, 1), [2, [], [GENES]], 'withholds what would only wait in memory');
  t.same(plan(5, 0, 4, 3, 3), [3, [], [GENES, READS]], 'of all plugins that are crowded');
  t.same(plan(5, 0, 0, 5), [0, [], []], 'claims nothing without room');
  t.same(plan(1, 1, 3, 0), [1, [], []], 'leaves one worker to whoever comes');
  t.same(plan(1, 0, 2, 1), [1, [], [GENES]], 'and the next place to others');
  const alone = new DataTypes(
    TWO_PLUGINS.all().map((type) => ({ ...type, plugin: 'genes' })),
    [],
  );
  t.same(plan(5, 2, 6, 3, 2, alone), [6, [], []], 'knows no crowd when there is one plugin only');
});

/** A lane of five workers whose jobs end when they are told to. */
async function setup(t: Test, inMemoryQueueSize: number) {
  const { clock, table, jobs, enqueue } = twoPluginJobs();
  const running = new Map<string, (outcome: JobOutcome) => void>();
  let longest = 0;
  const count = (plugin: string): number => [...running.keys()].filter((name) => pluginOf(name) === plugin).length;
  const lane = jobLane({
    handler: {
      lane: 'import',
      run: (job) => {
        const end = Promise.withResolvers<JobOutcome>();
        running.set(job.dataset, end.resolve);
        const others = table.rows.some((row) => pluginOf(row.dataset) === 'reads' && !running.has(row.dataset));
        if (others) longest = Math.max(longest, count('genes'));
        return end.promise;
      },
      report: async () => {},
    },
    jobs,
    types: TWO_PLUGINS,
    breakers: undefined,
    tuning: { inMemoryQueueSize, workerCount: 5, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
    clock,
    log: silentLogger(),
    metrics: new Metrics(),
    random: () => 0,
  });
  t.teardown(() => lane.kill());
  /** Ends the oldest running job of the plugin; false when none runs. */
  const end = async (plugin: string): Promise<boolean> => {
    const name = [...running.keys()].find((one) => pluginOf(one) === plugin);
    if (name === undefined) return false;
    running.get(name)?.({ kind: 'done' });
    running.delete(name);
    await clock.advance(5);
    return true;
  };
  return {
    clock,
    table,
    end,
    enqueue: (...datasets: string[]) => enqueue('import', ...datasets),
    start: async () => {
      await lane.start(never);
      await clock.settle();
    },
    workers: () => ({ genes: count('genes'), reads: count('reads') }),
    longest: () => longest,
  };
}

for (const queueSize of [1, 4, 20]) {
  t.test(`a slow plugin holds 3 of 5 workers at most while another has work, queue of ${queueSize}`, async (t) => {
    const { clock, table, enqueue, start, end, workers, longest } = await setup(t, queueSize);
    await enqueue(...named('genes', 12), ...named('reads', 30));
    const begun = clock.now();
    await start();
    t.same(workers(), { genes: 3, reads: 2 });
    // Only the quick one's jobs end; a slow one does from time to time.
    for (let ended = 1; await end('reads'); ended++) {
      if (ended % 6 === 0) await end('genes');
      const left = table.rows.filter((row) => pluginOf(row.dataset) === 'reads').length;
      const { genes, reads } = workers();
      if (left >= 3) t.same([genes + reads, genes <= 3, reads <= 3], [5, true, true], `${left} jobs left`);
    }
    t.equal(longest(), 3);
    t.same(workers(), { genes: 5, reads: 0 }, 'then it has all workers');
    while (await end('genes'));
    t.same(table.rows, []);
    t.ok(clock.now() - begun < 1_000, 'no job waited for the slow poll');
  });
}

t.test('a plugin that is alone in the lane has all workers', async (t) => {
  const { clock, table, enqueue, start, end, workers } = await setup(t, 4);
  await start();
  await enqueue(...named('genes', 12));
  t.same(workers(), { genes: 5, reads: 0 });
  await end('genes');
  t.same(workers(), { genes: 5, reads: 0 });
  const waiting = table.rows.filter(({ state }) => state === 'queued').length;
  t.equal(waiting, 6, 'none waits in memory');
  await enqueue('reads-1');
  await end('genes');
  t.same(workers(), { genes: 4, reads: 1 }, 'and gives the next free one to whoever comes');
  const begun = clock.now();
  await end('reads');
  while (await end('genes'));
  t.same([table.rows, clock.now() - begun < 1_000], [[], true]);
});
