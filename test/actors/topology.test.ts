// The whole tree over fakes: from an accepted upload to installed on two targets. Time stands still unless a test says
// otherwise; what happens is set off by what happened before.

import t, { type Test } from 'tap';
import { Daemons } from '../../actors/daemons/daemons.ts';
import type { LaneChannels } from '../../actors/events/event-router.ts';
import type { LaneTunings } from '../../actors/jobs/job-lane.ts';
import { Scratch } from '../../actors/jobs/scratch.ts';
import { PluginBreakers } from '../../actors/plugins/plugin-breakers.ts';
import { RUNNING_LANES, topology } from '../../actors/topology.ts';
import { LANES } from '../../engine/model/event.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { Supervisor } from '../../engine/runtime/supervisor.ts';
import { ChangeTable, FakeChangeQueue } from '../fakes/fake-change-queue.ts';
import { FakeDatasetIndex, FakeTargetIndex } from '../fakes/fake-dataset-index.ts';
import { EventLogTable, FakeEventLog } from '../fakes/fake-event-log.ts';
import { FakeJobs } from '../fakes/fake-jobs.ts';
import { FakeLeases } from '../fakes/fake-leases.ts';
import { FakeSlimPasses } from '../fakes/fake-slim-passes.ts';
import { InProcessTasks } from '../support/in-process-tasks.ts';
import { TUNING, TUNINGS } from '../support/lane-settings.ts';
import { LaneWorld } from '../support/lane-world.ts';

const never = new AbortController().signal;
const GRACE_MS = 30_000;
const DAEMONS = {
  pruner: { retentionWindowMs: 3_600_000, pruneIntervalMs: 60_000 },
  reconciler: { enabled: true, fullRunIntervalMs: 600_000, slimRunIntervalMs: 60_000, performDeletes: true },
};
const CHANNELS = Object.fromEntries(
  LANES.filter((lane) => lane !== 'upload').map((lane) => [lane, { channel: lane, key: lane }]),
) as unknown as LaneChannels;
const INSTALLED = {
  data: ['complete'],
  meta: ['complete'],
  shown: true,
  name: 'Genes of interest',
  sync: { data: 'current', meta: 'current' },
};

class Site {
  readonly world: LaneWorld;
  readonly changes: ChangeTable;
  readonly events: EventLogTable;
  readonly slimPasses = new FakeSlimPasses();
  settled = 0;
  readonly #dir: string;

  constructor(t: Test) {
    this.#dir = t.testdir();
    this.world = new LaneWorld(this.#dir);
    this.changes = new ChangeTable(this.world.clock);
    this.events = new EventLogTable(this.world.clock);
    const { changes } = this.world.store;
    const push = changes.push.bind(changes);
    changes.push = (...made) => {
      this.changes.ready.add(made);
      return push(...made);
    };
  }

  /** A process with the whole tree, started; killed with the test. */
  async start(
    t: Test,
    { withDaemons = false, tuning = this.world.settings.tuning as LiveSetting<LaneTunings> } = {},
  ): Promise<{ readonly id: number; readonly tree: Supervisor; readonly daemons: Daemons }> {
    const { world } = this;
    const { id } = world.process();
    const { catalog, uploads, store, targets } = world;
    const jobs = new FakeJobs(world.jobs, id);
    const events = new FakeEventLog(this.events, id);
    const daemons = new Daemons({
      ...world.settings,
      ...{ store, targets, jobs, events, metrics: new Metrics(), settings: DAEMONS },
      index: new FakeDatasetIndex(catalog, () => world.jobs.rows),
      slimPasses: this.slimPasses,
      targetIndexes: [new FakeTargetIndex(targets.keys(), world.schema)],
    });
    const children = topology({
      ...world.settings,
      ...{ catalog, uploads, store, targets, jobs, events, tuning },
      ...(withDaemons ? { daemons } : {}),
      leases: new FakeLeases(world.leases, id),
      changes: new FakeChangeQueue(this.changes, id),
      tasks: new InProcessTasks({ store, plugins: new Map([['genes', world.plugin]]) }),
      breakers: new PluginBreakers(world.settings.types, world.settings),
      channels: CHANNELS,
      scratch: new Scratch(this.#dir),
      settleStore: async () => {
        this.settled++;
      },
      metrics: new Metrics(),
    });
    const options = { clock: world.clock, log: silentLogger(), metrics: new Metrics() };
    const tree = new Supervisor({ name: 'lanes', children, ...options });
    t.teardown(() => tree.kill());
    await tree.start(never);
    return { id, tree, daemons };
  }

  /** The process ends here and now. */
  crash(id: number, tree: Supervisor): void {
    this.world.leases.kill(id);
    this.changes.ready.kill(id);
    this.events.rows.kill(id);
    tree.kill();
  }

  /** Another process installs the dataset everywhere. */
  async finishedByNext(t: Test, at: DatasetAddress): Promise<void> {
    const installed = this.installed(at);
    const { tree } = await this.start(t);
    await installed;
    await this.stop(tree);
    t.same(await this.world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
  }

  stop(tree: Supervisor): Promise<void> {
    return tree.stop(this.world.clock.now() + GRACE_MS);
  }

  /** Resolves when the catalog shows the dataset installed everywhere, data and metadata. */
  installed(at: DatasetAddress): Promise<void> {
    const { catalog } = this.world;
    const { promise, resolve } = Promise.withResolvers<void>();
    const write = catalog.write.bind(catalog);
    catalog.write = async (dataset, ...rest) => {
      await write(dataset, ...rest);
      const installs = catalog.datasets.get(at.dataset)?.installs ?? [];
      if (installs.length === 4 && installs.every(({ status }) => status === 'complete')) resolve();
    };
    return promise;
  }
}

/** A site with one process that runs the whole tree but for its daemons. */
async function started(t: Test) {
  const site = new Site(t);
  return { site, world: site.world, ...(await site.start(t)) };
}

t.test('children start in the order in which they need each other', async (t) => {
  const { tree } = await new Site(t).start(t, { withDaemons: true });
  const daemons = ['eventIntake', 'eventRouter', 'reconciler', 'pruner', 'uploadSweep', 'preemption', 'queueMetrics'];
  t.same(
    tree.statuses().map(({ name, state }) => `${name} ${state}`),
    ['leaseRenewer', ...RUNNING_LANES, ...daemons].map((name) => `${name} running`),
  );
});

t.test('an accepted upload is installed on its targets, driven by what the store reports', async (t) => {
  const { site, world, tree } = await started(t);
  const at = await world.accept({ properties: { 'p.tsv': 'x' } });
  await site.installed(at);
  await site.stop(tree);
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
  t.match(await world.record(at), {
    ...{ state: 'live', upload: { status: 'success' }, import: { status: 'complete' } },
    ...{ files: { property: [{ name: 'p.tsv' }] }, sync: { meta: 'current', data: 'current' } },
  });
  const onSites = ['Plasmo', 'Toxo'].flatMap((name) => [`installData ${name}Site`, `installMeta ${name}Site`]);
  t.same(world.calls.toSorted(), ['import', ...onSites].toSorted());
  t.same([world.leases.held(), site.changes.ready.waiting], [[], []]);
  t.equal(site.settled, 1);
});

t.test('running lanes take over their bounds; nothing is lost or done twice', async (t) => {
  const site = new Site(t);
  const { world } = site;
  const imports = (workerCount: number): LaneTunings => ({ ...TUNINGS.current, import: { ...TUNING, workerCount } });
  const tuning = new LiveSetting(imports(4));
  const { tree } = await site.start(t, { tuning });
  const running: (() => void)[] = [];
  let expected = { count: 4, reached: Promise.withResolvers<void>() };
  let most = 0;
  world.plugin.decide = async ({ kind }) => {
    if (kind !== 'import') return undefined;
    const end = Promise.withResolvers<void>();
    running.push(end.resolve);
    most = Math.max(most, running.length);
    if (running.length === expected.count) expected.reached.resolve();
    await end.promise;
    return undefined;
  };
  const until = (count: number): Promise<void> => {
    expected = { count, reached: Promise.withResolvers() };
    return expected.reached.promise;
  };
  const { reached } = expected;
  const all = await Promise.all(Array.from({ length: 12 }, () => world.accept()));
  const installed = Promise.all(all.map((at) => site.installed(at)));
  await reached.promise;
  tuning.set(imports(1));
  for (const end of running.splice(0, 3)) end();
  await world.clock.settle();
  t.equal(running.length, 1, 'the fourth runs on alone');
  most = 0;
  for (let n = 0; n < 3; n++) {
    const next = until(1);
    running.pop()?.();
    await next;
  }
  t.equal(most, 1);
  const grown = until(3);
  tuning.set(imports(3));
  await grown;
  world.plugin.decide = () => undefined;
  for (const end of running.splice(0)) end();
  await installed;
  await site.stop(tree);
  for (const at of all) t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
  t.equal(world.calls.length, 60, 'five calls for each');
});

t.test('another process finishes what a crash cut off', async (t) => {
  const { site, world, id, tree } = await started(t);
  const cut = Promise.withResolvers<void>();
  world.plugin.decide = ({ kind, target }, signal) => {
    if (kind !== 'installData' || target !== 'ToxoSite') return undefined;
    cut.resolve();
    return hanging(signal);
  };
  const at = await world.accept();
  await cut.promise;
  site.crash(id, tree);
  world.plugin.decide = () => undefined;
  await site.finishedByNext(t, at);
  t.same([world.jobRows(), world.leases.held(), await world.attempts(at)], [[], [], []]);
});

t.test('a job that runs on after the lanes were told to take no more keeps its lease and is finished', async (t) => {
  const { site, world, tree } = await started(t);
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  world.plugin.decide = async ({ kind }) => {
    if (kind !== 'import') return undefined;
    begun.resolve();
    await goOn.promise;
    return undefined;
  };
  const at = await world.accept();
  await begun.promise;
  tree.quiet();
  await world.clock.advance(120_000);
  t.same(world.leases.held(), [at.dataset]);
  const stopped = site.stop(tree);
  goOn.resolve();
  await stopped;
  t.equal(world.dataset(at).import.status, 'complete');
  t.same([world.leases.held(), world.jobs.get('import', at.dataset)], [[], undefined]);
});

t.test('a stop that runs out of time gives the running job back, and the next process does it', async (t) => {
  const { site, world, tree } = await started(t);
  const begun = Promise.withResolvers<void>();
  world.plugin.decide = (_call, signal) => {
    begun.resolve();
    return hanging(signal);
  };
  const at = await world.accept();
  await begun.promise;
  const stopped = site.stop(tree);
  // Past the time when jobs are told to give up; they do so without time passing.
  await world.clock.advance(GRACE_MS - 3_000);
  await stopped;
  t.match(world.jobs.get('import', at.dataset), { state: 'queued', attempts: 0, claim: undefined });
  t.same(world.leases.held(), []);
  world.plugin.decide = () => undefined;
  await site.finishedByNext(t, at);
});

t.test('a job whose lease another process took is stopped, and its answer counts for nothing', async (t) => {
  const { world, id } = await started(t);
  const begun = Promise.withResolvers<AbortSignal>();
  world.plugin.decide = (_call, signal) => {
    begun.resolve(signal);
    return hanging(signal);
  };
  const at = await world.accept();
  const signal = await begun.promise;
  const token = world.jobs.get('import', at.dataset)?.claim?.token ?? 0;
  world.leases.release({ name: at.dataset, token }, id);
  t.match(world.leases.take(at.dataset, 99), { token: token + 1 });
  await world.clock.advance(10_000);
  t.match(signal.reason, { kind: 'aborted', message: `lease of ${at.dataset} lost: taken over` });
  t.same(world.dataset(at).import, { status: 'in-progress', messages: [] });
});

t.test('a plugin that is down for a while holds nothing up for good', async (t) => {
  const { site, world, tree } = await started(t);
  world.plugin.decide = () => {
    throw transient('connection refused', { unreachable: true });
  };
  const delayed = Promise.withResolvers<void>();
  const put = world.jobs.put.bind(world.jobs);
  world.jobs.put = (row) => {
    put(row);
    if (row.state === 'delayed') delayed.resolve();
  };
  const at = await world.accept();
  await delayed.promise;
  t.same(world.dataset(at).import, { status: 'queued', messages: ['attempt 1 of 12: connection refused'] });
  world.plugin.decide = () => undefined;
  const installed = site.installed(at);
  await world.clock.advance(2_000);
  await installed;
  await site.stop(tree);
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
});

/** Never answers; ends with the signal. */
function hanging(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

t.test('a cache that was lost is made anew by the run of the reconciler at start', async (t) => {
  const site = new Site(t);
  const { world } = site;
  const before = await site.start(t);
  const at = await world.accept();
  await site.installed(at);
  await site.stop(before.tree);
  const known = await world.record(at);
  world.dropCache();
  t.same(world.catalog.datasets.size, 0);
  const ended = Promise.withResolvers<void>();
  const remove = world.jobs.remove.bind(world.jobs);
  world.jobs.remove = (row) => {
    remove(row);
    if (row.lane === 'reconciliation') ended.resolve();
  };
  const { tree, daemons } = await site.start(t, { withDaemons: true });
  await ended.promise;
  await site.stop(tree);
  t.same(await world.record(at), known);
  t.match(daemons.reconciler.lastReport, { kind: 'full', listed: 1, reconciled: 1, deleted: 0 });
  t.same(world.leases.held(), []);
});

t.test('of two processes one routes, reconciles and prunes; the other says so to who orders a run of it', async (t) => {
  const site = new Site(t);
  const { world } = site;
  const first = await site.start(t, { withDaemons: true });
  await world.clock.settle();
  const second = await site.start(t, { withDaemons: true });
  await world.clock.advance(70_000);
  t.same(world.leases.held(), ['daemon:eventRouter', 'daemon:pruner', 'daemon:reconciler']);
  t.match(first.daemons.reconciler.lastReport, { kind: 'slim' });
  t.equal(second.daemons.reconciler.lastReport, undefined);
  t.equal(await second.daemons.reconciler.order('full', { allowDeletes: false }, never), 'elsewhere');
  t.equal(await first.daemons.reconciler.order('full', { allowDeletes: false }, never), 'started');
  site.crash(first.id, first.tree);
  await world.clock.advance(5_000);
  t.match(second.daemons.reconciler.lastReport, { kind: 'full' });
  t.equal(await second.daemons.reconciler.order('slim', { allowDeletes: false }, never), 'started');
  await site.stop(second.tree);
});
