// When the daemons run, and what becomes of orders.

import t, { type Test } from 'tap';
import { type DaemonSettings, Daemons } from '../../../actors/daemons/daemons.ts';
import { DaemonLeaders } from '../../../actors/daemons/leadership.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { DatasetAddress } from '../../../engine/model/object-key.ts';
import type { JobRequest } from '../../../engine/ports/jobs.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { Supervisor } from '../../../engine/runtime/supervisor.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakeSlimPasses } from '../../fakes/fake-slim-passes.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { SeededRandom } from '../../simulation/random.ts';
import { TYPES } from '../../support/lane-settings.ts';
import { addressOf, indexedOf, indexOf } from '../../support/merged-datasets.ts';
import { ReconciledSite } from '../../support/reconciled-site.ts';

const never = new AbortController().signal;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RECONCILER = {
  enabled: true,
  fullRunIntervalMs: HOUR_MS,
  slimRunIntervalMs: 25 * MINUTE_MS,
  performDeletes: true,
};

/** Daemons of one process, over a cache that knows `known` datasets that the store does not have. */
async function setup(t: Test, reconciler: Partial<DaemonSettings['reconciler']> = {}, known = 0) {
  const clock = new VirtualClock(0);
  const store = new FakeObjectStore();
  const table = new LeaseTable(clock);
  const log = silentLogger();
  const warnings: unknown[] = [];
  log.warn = (...told: unknown[]) => void warnings.push(told.at(-1));
  const jobs: JobRequest[] = [];
  /** `kind minute`. */
  const runs: string[] = [];
  const absent = indexOf(Array.from({ length: known }, (_, i) => indexedOf(addressOf(1, `d${10 + i}`))));
  const daemons: Daemons = new Daemons({
    store,
    index: {
      page: absent.page,
      forgotten: async () => [],
      retired: async () => [],
      beginPruning: async () => new Map(),
    },
    slimPasses: new FakeSlimPasses(),
    targetIndexes: [],
    targets: new Map(),
    jobs: { enqueue: async (requests) => void jobs.push(...requests) },
    events: { nextEventId: async () => 1 },
    types: TYPES,
    random: () => 0.5,
    ...{ clock, log, metrics: new Metrics() },
    settings: {
      pruner: { retentionWindowMs: 24 * HOUR_MS, pruneIntervalMs: HOUR_MS },
      reconciler: { ...RECONCILER, ...reconciler },
    },
  });
  store.onCall = (method) => {
    const minute = clock.now() / MINUTE_MS;
    const kind = daemons.reconciler.current?.kind;
    if (method === 'probe') runs.push(`${kind ?? 'prune'} ${minute}`);
  };
  const children = daemons.specs(new DaemonLeaders(new FakeLeases(table, 1), clock, log));
  const tree = new Supervisor({ name: 'daemons', children, clock, log, metrics: new Metrics() });
  t.teardown(() => tree.kill());
  const by = (daemon: 'reconciler' | 'pruner') =>
    runs.filter((run) => run.startsWith('prune') === (daemon === 'pruner'));
  return { clock, store, table, jobs, runs, by, warnings, daemons, tree };
}

t.test('a full run at start and every full interval, a slim one in between; the pruner not at start', async (t) => {
  const { clock, by, tree } = await setup(t);
  await tree.start(never);
  await clock.advance(130 * MINUTE_MS);
  t.strictSame(by('reconciler'), ['full 0', 'slim 25', 'full 50', 'slim 75', 'full 100', 'slim 125']);
  t.strictSame(by('pruner'), ['prune 60', 'prune 120']);
});

t.test('intervals may change: the next runs are counted from the last ones', async (t) => {
  const { clock, by, daemons, tree } = await setup(t);
  await tree.start(never);
  await clock.advance(40 * MINUTE_MS);
  daemons.changeIntervals({
    pruner: { pruneIntervalMs: 45 * MINUTE_MS },
    reconciler: { fullRunIntervalMs: 2 * HOUR_MS, slimRunIntervalMs: 30 * MINUTE_MS },
  });
  await clock.advance(50 * MINUTE_MS);
  daemons.changeIntervals({
    pruner: { pruneIntervalMs: 10 * MINUTE_MS },
    reconciler: { fullRunIntervalMs: HOUR_MS, slimRunIntervalMs: 40 * MINUTE_MS },
  });
  await clock.advance(40 * MINUTE_MS);
  t.strictSame(by('reconciler'), ['full 0', 'slim 25', 'slim 55', 'slim 85', 'full 125']);
  t.strictSame(by('pruner'), ['prune 45', 'prune 90', 'prune 100', 'prune 110', 'prune 120', 'prune 130']);
});

t.test('a full run stands for a slim one', async (t) => {
  const { clock, runs, tree } = await setup(t, { fullRunIntervalMs: 10 * MINUTE_MS });
  await tree.start(never);
  await clock.advance(31 * MINUTE_MS);
  t.strictSame(runs, ['full 0', 'full 10', 'full 20', 'full 30']);
});

t.test('where it is switched off there are slim runs alone, and one warning', async (t) => {
  const { clock, runs, warnings, tree } = await setup(t, { enabled: false });
  await tree.start(never);
  await clock.advance(51 * MINUTE_MS);
  t.strictSame(runs, ['slim 0', 'slim 25', 'slim 50']);
  t.match(warnings, [/^full runs of the reconciler are disabled/]);
});

t.test('a full run that failed is due again at the next tick', async (t) => {
  const { clock, store, runs, tree } = await setup(t);
  const note = store.onCall;
  store.onCall = (...call) => {
    note(...call);
    if (clock.now() === 0) throw transient('the store is away');
  };
  await tree.start(never);
  await clock.advance(51 * MINUTE_MS);
  t.strictSame(runs, ['full 0', 'full 25', 'slim 50']);
});

t.test('an ordered full run resets both intervals', async (t) => {
  const { clock, runs, daemons, tree } = await setup(t);
  await tree.start(never);
  await clock.advance(20 * MINUTE_MS);
  t.equal(await daemons.reconciler.order('full', { allowDeletes: false }, never), 'started');
  await clock.advance(31 * MINUTE_MS);
  t.strictSame(runs, ['full 0', 'full 20', 'slim 45']);
});

t.test('an order may release the brake', async (t) => {
  const { clock, jobs, daemons, tree } = await setup(t, {}, 50);
  await tree.start(never);
  await clock.settle();
  t.match(daemons.reconciler.lastReport, { braked: 'the listing of the object store is empty', deleted: 0 });
  t.equal(await daemons.reconciler.order('full', { allowDeletes: true }, never), 'started');
  await clock.settle();
  t.match(daemons.reconciler.lastReport, { braked: undefined, deleted: 50 });
  t.equal(jobs.length, 50);
});

t.test('no order deletes where deletes are forbidden, or where another installation shares the targets', async (t) => {
  for (const settings of [{ performDeletes: false }, { enabled: false }]) {
    const { clock, jobs, daemons, tree } = await setup(t, settings, 50);
    await tree.start(never);
    await clock.settle();
    t.equal(await daemons.reconciler.order('full', { allowDeletes: true }, never), 'started');
    await clock.settle();
    t.match(daemons.reconciler.lastReport, { kind: 'full', wouldDelete: { cache: 50 }, deleted: 0 });
    t.strictSame(jobs, []);
  }
});

t.test('an order during a run is told so', async (t) => {
  const { clock, store, daemons, tree } = await setup(t);
  const goOn = Promise.withResolvers<void>();
  const probe = store.probe.bind(store);
  store.probe = async (signal) => {
    await goOn.promise;
    return probe(signal);
  };
  await tree.start(never);
  await clock.settle();
  t.equal(await daemons.reconciler.order('full', { allowDeletes: false }, never), 'running');
  t.equal(await daemons.pruner.order({}, never), 'started', 'another daemon is free');
  t.equal(await daemons.pruner.order({}, never), 'running');
  t.match(daemons.pruner.current, { pruned: 0 });
  goOn.resolve();
  await clock.settle();
  t.equal(await daemons.reconciler.order('full', { allowDeletes: false }, never), 'started');
});

t.test('an order to the pruner may name another age', async (t) => {
  const { clock, daemons, tree } = await setup(t);
  await tree.start(never);
  await clock.advance(MINUTE_MS);
  t.equal(await daemons.pruner.order({ minAgeMs: MINUTE_MS }, never), 'started');
  await clock.settle();
  t.strictSame(daemons.pruner.lastReport?.cutoff, new Date(0));
  t.equal(await daemons.pruner.order({}, never), 'started');
  await clock.settle();
  t.strictSame(daemons.pruner.lastReport?.cutoff, new Date(MINUTE_MS - 24 * HOUR_MS));
});

t.test('an order to a process that does not lead is told so, and one that can leads', async (t) => {
  const { clock, table, daemons, tree } = await setup(t);
  const other = table.take('daemon:pruner', 2);
  await tree.start(never);
  await clock.settle();
  t.equal(await daemons.pruner.order({}, never), 'elsewhere');
  t.equal(daemons.pruner.lastReport, undefined);
  if (other) table.release(other, 2);
  t.equal(await daemons.pruner.order({}, never), 'started');
  t.strictSame(table.held(), ['daemon:pruner', 'daemon:reconciler']);
});

t.test('an order before the start, or at the end, cannot be taken', async (t) => {
  const { clock, daemons, tree } = await setup(t);
  await t.rejects(daemons.pruner.order({}, never), { kind: 'transient', message: /'pruner' is not running yet/ });
  await tree.start(never);
  await tree.stop(clock.now() + 1_000);
  await t.rejects(daemons.pruner.order({}, never), { kind: 'aborted', message: /'pruner' is ending/ });
});

t.test('a run that fails is an order that was taken, and its report says why', async (t) => {
  const { clock, store, daemons, tree } = await setup(t);
  await tree.start(never);
  await clock.settle();
  store.onCall = () => {
    throw transient('the store is away');
  };
  t.equal(await daemons.pruner.order({}, never), 'started');
  await clock.settle();
  t.match(daemons.pruner.lastReport, { failure: 'the store is away' });
  store.onCall = () => {};
  t.equal(await daemons.pruner.order({}, never), 'started');
});

/** Slim runs alone, by two processes, over 60 datasets that are in sync; a run compares at least one. */
async function setupSlim(t: Test, random: () => number) {
  const site = new ReconciledSite();
  const all = Array.from({ length: 60 }, (_, n) => addressOf((n % 7) + 1, `d${100 + n}`));
  const add = async (at: DatasetAddress) => {
    await site.put(at, ['vdi-meta.json']);
    await site.know(at, 'cache');
  };
  for (const at of all) await add(at);
  const table = new LeaseTable(site.clock);
  const reconciler = { enabled: false, fullRunIntervalMs: 6 * HOUR_MS, slimRunIntervalMs: 5 * MINUTE_MS, least: 1 };
  const processOf = (id: number) => {
    const log = silentLogger();
    const { clock } = site;
    const daemons = new Daemons({
      ...site.ports,
      ...{ log, random, metrics: new Metrics(), targets: new Map() },
      index: { ...site.ports.index, retired: async () => [], beginPruning: async () => new Map() },
      settings: {
        pruner: { retentionWindowMs: 24 * HOUR_MS, pruneIntervalMs: 1_000 * HOUR_MS },
        reconciler: { ...RECONCILER, ...reconciler },
      },
    });
    const children = daemons.specs(new DaemonLeaders(new FakeLeases(table, id), clock, log));
    const tree = new Supervisor({ name: 'daemons', children, clock, log, metrics: new Metrics() });
    t.teardown(() => tree.kill());
    return { daemons, tree };
  };
  return { site, all, add, table, processOf };
}

t.test('a lost announcement is found within one fullRunInterval, whenever it was lost and wherever', async (t) => {
  const seeded = new SeededRandom(7, 'slim runs');
  const { site, all, add, processOf } = await setupSlim(t, () => seeded.next());
  const lost = new Map<DatasetId, number>();
  const foundAfterMs: number[] = [];
  site.ports.jobs.enqueue = async (requests) => {
    for (const { owner, dataset } of requests) {
      foundAfterMs.push(site.clock.now() - (lost.get(dataset) ?? Number.NEGATIVE_INFINITY));
      lost.delete(dataset);
      await site.know({ owner, dataset }, 'cache');
    }
  };
  const { tree } = processOf(1);
  await tree.start(never);
  for (let n = 0; n < 150; n++) {
    await site.clock.advance(11 * MINUTE_MS);
    // Within one pass the store grows to several times of what the pass expects.
    for (let more = 0; n >= 60 && n < 75 && more < 10; more++) {
      const at = addressOf(1 + (more % 7), `e${1_000 + 10 * n + more}`);
      await add(at);
      all.push(at);
    }
    const at = seeded.pick(all);
    if (lost.has(at.dataset)) continue;
    lost.set(at.dataset, site.clock.now());
    await site.put(at, ['vdi-meta.json']);
  }
  await site.clock.advance(6 * HOUR_MS);
  t.strictSame([...lost], []);
  t.ok(foundAfterMs.length > 100);
  const mostMs = Math.max(...foundAfterMs);
  t.ok(mostMs <= 6 * HOUR_MS, `at most ${mostMs / MINUTE_MS} minutes`);
  t.ok(mostMs > HOUR_MS, 'no run compares everything');
});

t.test('another leader continues the pass, and so does a restarted process', async (t) => {
  const { site, table, processOf } = await setupSlim(t, () => 0.5);
  const first = processOf(1);
  await first.tree.start(never);
  await site.clock.advance(62 * MINUTE_MS);
  const before = site.slimPasses.pass;
  t.match(before, { after: { owner: /./ }, begunAt: new Date(site.clock.now() - 62 * MINUTE_MS), expected: 60 });
  first.tree.kill();
  table.kill(1);
  const second = processOf(2);
  await second.tree.start(never);
  await site.clock.advance(MINUTE_MS);
  t.match(second.daemons.reconciler.lastReport, { kind: 'slim', failure: undefined });
  const now = site.slimPasses.pass;
  t.match(now, { begunAt: before?.begunAt, expected: 60 });
  t.ok(Number(now?.compared) > Number(before?.compared) && Number(now?.compared) < 60);
  t.notSame(now?.after, before?.after);
});

t.test('a slim run that is ordered compares everything', async (t) => {
  const { site, processOf } = await setupSlim(t, () => 0.5);
  const { daemons, tree } = processOf(1);
  await tree.start(never);
  await site.clock.advance(12 * MINUTE_MS);
  t.ok(Number(daemons.reconciler.lastReport?.listed) < 10);
  t.equal(await daemons.reconciler.order('slim', { allowDeletes: false }, never), 'started');
  await site.clock.settle();
  t.match(daemons.reconciler.lastReport, { kind: 'slim', listed: 60 });
});
