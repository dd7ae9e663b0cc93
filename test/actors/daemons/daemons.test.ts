// When the daemons run, and what becomes of orders.

import t, { type Test } from 'tap';
import { type DaemonSettings, Daemons } from '../../../actors/daemons/daemons.ts';
import { DaemonLeaders } from '../../../actors/daemons/leadership.ts';
import type { JobRequest } from '../../../engine/ports/jobs.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { Supervisor } from '../../../engine/runtime/supervisor.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { TYPES } from '../../support/lane-settings.ts';
import { addressOf, indexedOf, indexOf } from '../../support/merged-datasets.ts';

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
    index: { page: absent.page, retired: async () => [], beginPruning: async () => false },
    targetIndexes: new Map(),
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
