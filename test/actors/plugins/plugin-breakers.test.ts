import t, { type Test } from 'tap';
import { jobLane } from '../../../actors/jobs/job-lane.ts';
import { queueMetrics } from '../../../actors/jobs/queue-metrics.ts';
import { PluginBreakers } from '../../../actors/plugins/plugin-breakers.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { defect, type Failure, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { fromWire, toWire } from '../../../engine/threads/thread-messages.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakePluginClient } from '../../fakes/fake-plugin-client.ts';
import { PLASMO } from '../../support/dataset-samples.ts';
import { InProcessTasks } from '../../support/in-process-tasks.ts';
import { named, pluginOf, TWO_PLUGINS, twoPluginJobs } from '../../support/two-plugins.ts';

const never = new AbortController().signal;

/** What a task ends with when nobody listens at the plugin's port, as it comes out of a worker thread. */
const refused = (): Failure =>
  fromWire(structuredClone(toWire(transient('connection refused', { unreachable: true, unanswered: true }))));

const refuse = (): never => {
  throw refused();
};

/** Two plugins; lanes whose jobs are one call of the plugin each. */
function setup(t: Test) {
  const { clock, table, jobs, enqueue, rows } = twoPluginJobs();
  const metrics = new Metrics();
  const parts = { clock, log: silentLogger(), metrics };
  const genes = new FakePluginClient();
  const reads = new FakePluginClient();
  const breakers = new PluginBreakers(TWO_PLUGINS, parts);
  const tasks = breakers.guard(
    new InProcessTasks({
      store: new FakeObjectStore(() => clock.now()),
      plugins: new Map([
        ['genes', genes],
        ['reads', reads],
      ]),
    }),
  );
  const call = (dataset: string, signal = never) => {
    const plugin = pluginOf(dataset);
    const type = { name: plugin, version: '1.0' };
    const input = { plugin, eventId: 1, dataset: dataset as DatasetId, target: PLASMO, type };
    return tasks.run('uninstall', input, { signal, alone: false, owner: '1' as UserId });
  };
  const lane = (name: 'import' | 'install', workerCount = 1) => {
    const started = jobLane({
      handler: {
        lane: name,
        run: async (job, signal) => {
          const reply = await call(job.dataset, signal);
          if (reply.kind !== 'success') throw defect(reply.message);
          return { kind: 'done' };
        },
        report: async () => {},
      },
      jobs,
      types: TWO_PLUGINS,
      breakers,
      tuning: { inMemoryQueueSize: 2, workerCount, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
      ...parts,
      random: () => 0,
    });
    t.teardown(() => started.kill());
    return started.start(never);
  };
  const gauge = async () => (await metrics.text()).match(/^longshore_plugin_breaker_open.*$/gm);
  const health = (plugin: string): string => {
    try {
      breakers.check(plugin);
      return 'well';
    } catch (error) {
      return (error as Error).message;
    }
  };
  return { clock, table, jobs, enqueue, rows, metrics, parts, genes, reads, breakers, call, lane, gauge, health };
}

t.test('five calls in a row that nobody answers stop the jobs of that plugin, until a probe is answered', async (t) => {
  const { clock, enqueue, rows, genes, reads, breakers, lane, gauge, health } = setup(t);
  genes.decide = refuse;
  await lane('import');
  await lane('install');
  await enqueue('import', ...named('genes', 3));
  await enqueue('install', ...named('genes', 7).slice(3), ...named('reads', 2));
  t.equal(genes.calls.length, 5, 'of both lanes together');
  t.same(breakers.blockedTypes(), ['genes:1.0']);
  t.same(await gauge(), [
    'longshore_plugin_breaker_open{plugin="genes"} 1',
    'longshore_plugin_breaker_open{plugin="reads"} 0',
  ]);
  t.equal(health('genes'), 'plugin genes does not respond; next attempt in 30 s');
  t.equal(health('reads'), 'well');
  await clock.advance(29_000);
  t.same([genes.calls.length, reads.calls.length], [5, 2], 'the other plugin went on');
  t.strictSame(
    rows().map((row) => row.replace(/queued|delayed/, 'waits')),
    named('genes', 7).map((dataset) => `${dataset} waits 0`),
    'no try was used',
  );

  const answer = Promise.withResolvers<undefined>();
  genes.decide = () => answer.promise;
  await clock.advance(1_000);
  t.equal(genes.calls.length, 6, 'one probe');
  t.equal(health('genes'), 'plugin genes does not respond; next attempt now');
  await clock.advance(29_000);
  t.equal(genes.calls.length, 6, 'and no other call before its answer');
  await enqueue('install', 'reads-3');
  t.equal(reads.calls.length, 3);
  answer.resolve(undefined);
  await clock.advance(8_000);
  t.same([rows(), genes.calls.length], [[], 12]);
  t.same(await gauge(), [
    'longshore_plugin_breaker_open{plugin="genes"} 0',
    'longshore_plugin_breaker_open{plugin="reads"} 0',
  ]);
  t.same([health('genes'), breakers.blockedTypes()], ['well', []]);
});

t.test('a probe that was taken on and goes on for long holds nobody up', async (t) => {
  const { clock, enqueue, rows, genes, lane, health } = setup(t);
  genes.decide = refuse;
  await lane('install', 3);
  await enqueue('install', ...named('genes', 7));
  await clock.advance(29_000);
  const before = genes.calls.length;
  const answer = Promise.withResolvers<undefined>();
  genes.decide = () => (genes.calls.length === before + 1 ? answer.promise : undefined);
  await clock.advance(1_000);
  await clock.advance(29_999);
  t.equal(genes.calls.length, before + 1);
  await clock.advance(10_000);
  t.same([rows().length, health('genes')], [1, 'well']);
  answer.resolve(undefined);
  await clock.advance(5);
  t.same(rows(), []);
});

t.test('a probe that nobody answers keeps it open for as long again', async (t) => {
  const { clock, enqueue, genes, lane, breakers } = setup(t);
  genes.decide = refuse;
  await lane('install', 3);
  await enqueue('install', ...named('genes', 9));
  await clock.advance(5_000);
  const before = genes.calls.length;
  await clock.advance(25_000);
  t.equal(genes.calls.length, before + 1);
  await clock.advance(29_000);
  t.same([genes.calls.length, breakers.blockedTypes()], [before + 1, ['genes:1.0']]);
  await clock.advance(1_000);
  t.equal(genes.calls.length, before + 2);
});

t.test('while open, calls fail at once, name the plugin and are told apart from an answer', async (t) => {
  const { genes, call } = setup(t);
  genes.decide = refuse;
  for (const dataset of named('genes', 5)) await t.rejects(call(dataset), { message: 'connection refused' });
  await t.rejects(call('genes-6'), {
    kind: 'transient',
    unreachable: true,
    message: 'plugin genes did not answer 5 times in a row; next probe in 30 s',
  });
  t.equal(genes.calls.length, 5);
  t.same(await call('reads-1'), { kind: 'success' });
});

t.test('any answer starts the count over', async (t) => {
  for (const kind of ['script-error', 'server-error', 'defect'] as const) {
    const { genes, call, breakers } = setup(t);
    for (let at = 1; at <= 20; at++) {
      genes.decide = () => {
        if (at % 5 !== 0) throw refused();
        if (kind === 'defect') throw defect('HTTP 400');
        return { kind, message: 'no disk' };
      };
      await call(`genes-${at}`).catch(() => undefined);
    }
    t.same([genes.calls.length, breakers.blockedTypes()], [20, []], kind);
  }
});

t.test('a time-out, a busy thread or an abort is neither an answer nor none', async (t) => {
  const { genes, call, breakers } = setup(t);
  for (let at = 1; at <= 9; at++) {
    genes.decide = () => {
      throw at % 2 === 1 ? refused() : transient('no response within 60 s');
    };
    await t.rejects(call(`genes-${at}`));
  }
  t.same([genes.calls.length, breakers.blockedTypes()], [9, ['genes:1.0']]);
  const only = setup(t);
  only.genes.decide = () => {
    throw transient('the worker threads are busy', { unreachable: true });
  };
  for (const dataset of named('genes', 9)) await t.rejects(only.call(dataset));
  t.same(only.breakers.blockedTypes(), []);
});

t.test('the depth of the queues is read every 10 s', async (t) => {
  const { clock, enqueue, jobs, metrics, parts } = setup(t);
  const timer = queueMetrics({ jobs, ...parts, random: () => 0.5 });
  t.teardown(() => timer.kill());
  await enqueue('install', ...named('genes', 3));
  const claim = { lane: 'install', limit: 1, crowdedTypes: [], blockedTypes: [] } as const;
  const first = await jobs.completeAndFetch([], claim, never);
  await clock.advance(4_000);
  await timer.start(never);
  await clock.settle();
  const shown = async () =>
    (await metrics.text())
      .match(/^longshore_jobs(_oldest_seconds)?\{lane="install".*$/gm)
      ?.map((line) => line.slice(14));
  const atStart = [
    '{lane="install",state="queued"} 2',
    '{lane="install",state="running"} 1',
    '{lane="install",state="delayed"} 0',
    '{lane="install",state="dead"} 0',
    '_oldest_seconds{lane="install"} 4',
  ];
  t.same(await shown(), atStart);
  const [second] = await jobs.completeAndFetch([], claim, never);
  const failed = { kind: 'dead', failure: 'defect', message: 'a bug' } as const;
  const later = { kind: 'retry', delayMs: 60_000, message: 'busy', countsAttempt: true } as const;
  const done = [
    ...first.map((job) => ({ job, outcome: failed })),
    ...(second ? [{ job: second, outcome: later }] : []),
  ];
  await jobs.completeAndFetch(done, { ...claim, limit: 0 }, never);
  await clock.advance(9_999);
  t.same(await shown(), atStart, 'a scrape reads nothing');
  await clock.advance(1);
  t.same(await shown(), [
    '{lane="install",state="queued"} 1',
    '{lane="install",state="running"} 0',
    '{lane="install",state="delayed"} 1',
    '{lane="install",state="dead"} 1',
    '_oldest_seconds{lane="install"} 14',
  ]);
});
