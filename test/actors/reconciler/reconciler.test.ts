import t, { type Test } from 'tap';
import { PAGE } from '../../../actors/reconciler/merge-in-store-order.ts';
import { Reconciler } from '../../../actors/reconciler/reconciler.ts';
import { reconcilerMetrics } from '../../../actors/reconciler/reconciler-tally.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { DatasetIndex } from '../../../engine/ports/catalog.ts';
import { aborted, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakeSlimPasses } from '../../fakes/fake-slim-passes.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { TYPES } from '../../support/lane-settings.ts';
import { addressOf, indexedOf, infoOf } from '../../support/merged-datasets.ts';
import { ReconciledSite } from '../../support/reconciled-site.ts';

const never = new AbortController().signal;
const STALE = { modified: new Date(0), etag: 'old' };

/** A full run finds this, and what is said of it. */
async function finds(t: Test, site: ReconciledSite, more: object, order?: Parameters<ReconciledSite['run']>[0]) {
  const { startedAt: _from, endedAt: _to, ...found } = await site.run(order);
  t.strictSame(found, {
    ...{ kind: 'full', listed: 0, malformed: 0, reconciled: 0, deleted: 0, spared: 0, leftOut: [] },
    ...{ wouldDelete: { cache: 0, PlasmoSite: 0, ToxoSite: 0 }, braked: undefined, failure: undefined },
    ...more,
  });
}

t.test('in step: nothing is asked for, whatever the length and case of owners and ids', async (t) => {
  const site = new ReconciledSite();
  for (const owner of [2, 10, 100, 20]) for (const id of ['abc', 'Abc', 'ABC', 'abc_1']) await site.add(owner, id);
  await finds(t, site, { listed: 16 });
  t.strictSame(site.asked, []);
});

t.test('a record only in the databases is deleted, one only in the store is reconciled', async (t) => {
  const site = new ReconciledSite();
  for (const id of ['a', 'c']) await site.add(1, id);
  for (const id of ['b', 'x']) await site.addAbsent(1, id);
  await site.addAbsent(1, 'y', [PLASMO]);
  await site.put(addressOf(1, 'z'));
  const found = { listed: 3, reconciled: 1, deleted: 3, wouldDelete: { cache: 2, PlasmoSite: 3, ToxoSite: 0 } };
  await finds(t, site, found);
  const common = { source: 'full-reconciler' };
  t.strictSame(site.jobs, [
    { lane: 'reconciliation', ...addressOf(1, 'z'), eventId: 1, ...common },
    { lane: 'hardDelete', ...addressOf(1, 'b'), eventId: 2, ...common },
    { lane: 'hardDelete', ...addressOf(1, 'x'), eventId: 3, ...common },
    { lane: 'hardDelete', ...addressOf(1, 'y'), eventId: 4, ...common },
  ]);
});

t.test('each dataset that is out of step is one job, and no other', async (t) => {
  const site = new ReconciledSite();
  for (const id of ['a', 'b']) await site.add(1, id, []);
  await site.add(1, 'c');
  const at = addressOf(1, 'd');
  await site.put(at);
  await site.know(at, 'cache', { sync: { meta: STALE } });
  await site.know(at, PLASMO);
  await site.add(2, 'e', ['cache']);
  await site.run();
  t.strictSame(site.asked, ['reconciliation 2/e', 'reconciliation 1/a', 'reconciliation 1/b', 'reconciliation 1/d']);
});

t.test('a slim run sees to the cache alone and deletes nothing', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a', ['cache']);
  await site.addAbsent(1, 'gone');
  await site.put(addressOf(1, 'new'));
  site.replacePage(PLASMO, () => () => Promise.reject(new Error('a slim run asks no target')));
  await finds(
    t,
    site,
    {
      ...{ kind: 'slim', listed: 2, reconciled: 1, wouldDelete: {} },
    },
    { kind: 'slim' },
  );
  t.match(site.jobs, [{ lane: 'reconciliation', dataset: 'new', source: 'slim-reconciler' }]);
});

t.test('without performDeletes what is absent is only reported', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a');
  await site.addAbsent(1, 'gone');
  await finds(
    t,
    site,
    {
      ...{ listed: 1, wouldDelete: { cache: 1, PlasmoSite: 1, ToxoSite: 0 } },
    },
    { performDeletes: false, allowDeletes: true },
  );
  t.strictSame(site.asked, []);
});

t.test('a target that does not answer is left out and told of, the others go on', async (t) => {
  for (const failures of [Number.POSITIVE_INFINITY, 1]) {
    const site = new ReconciledSite();
    await site.add(1, 'a', ['cache']);
    await site.addAbsent(1, 'gone-there', [PLASMO]);
    await site.addAbsent(1, 'gone-here', [TOXO]);
    let asked = 0;
    site.replacePage(PLASMO, (page) => async (...args) => {
      if (asked++ < failures) throw transient('PlasmoSite is away');
      return page(...args);
    });
    const leftOut = [{ target: PLASMO, reason: 'PlasmoSite is away' }];
    await finds(t, site, { listed: 1, deleted: 1, wouldDelete: { cache: 0, ToxoSite: 1 }, leftOut });
    t.strictSame([site.asked, asked], [['hardDelete 1/gone-here'], 1], 'not even asked in the second pass');
  }
});

t.test('a listing that fails, at once or on the way, fails the run and deletes nothing', async (t) => {
  const site = new ReconciledSite();
  for (const id of ['a', 'b', 'c']) await site.add(1, id);
  await site.addAbsent(1, 'gone');
  const list = site.store.list.bind(site.store);
  for (const after of [0, 2, 11]) {
    site.store.list = async function* (...args) {
      let keys = 0;
      for await (const info of list(...args)) {
        if (keys++ === after) throw transient('the store is away');
        yield info;
      }
    };
    await t.rejects(site.run({ allowDeletes: true }), { kind: 'transient', message: 'the store is away' });
    t.match(site.reconciler.lastReport, { failure: 'the store is away', deleted: 0 });
  }
  site.store.list = list;
  site.store.onCall = (method) => {
    if (method === 'probe') throw transient('the store does not answer');
  };
  await t.rejects(site.run(), { message: 'the store does not answer' });
  t.strictSame(site.asked, []);
});

t.test('a cache that fails fails the run', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a');
  await site.addAbsent(1, 'gone');
  Object.defineProperty(site.cache, 'slice', {
    value: () => {
      throw transient('the cache is away');
    },
  });
  await t.rejects(site.run({ allowDeletes: true }), { kind: 'transient', message: 'the cache is away' });
  t.strictSame(site.asked, []);
});

t.test('a dataset whose metadata cannot be read is malformed: neither reconciled nor deleted', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a');
  for (const [id, content] of [
    ['no-json', 'genes'],
    ['no-type', '{"name":"x"}'],
  ] as const)
    await site.store.put(objectKey(addressOf(1, id), 'vdi-meta.json'), Buffer.from(content), {}, never);
  await site.put(addressOf(1, 'no-meta'), ['import-ready.zip']);
  await finds(t, site, { listed: 4, malformed: 3 });
  t.strictSame(site.asked, []);
});

t.test('a dataset whose metadata went meanwhile is left to the event of that', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a', []);
  const get = site.store.get.bind(site.store);
  site.store.get = async (key, ...rest) => {
    await site.store.remove([key], never);
    return get(key, ...rest);
  };
  await finds(t, site, { listed: 1 });
});

t.test('jobs are handed over some hundred at a time, each with an event id of its own', async (t) => {
  const site = new ReconciledSite();
  for (let i = 0; i < 1_101; i++) await site.put(addressOf(1, `d${i}`), ['vdi-meta.json']);
  t.match(await site.run(), { listed: 1_101, reconciled: 1_101 });
  t.strictSame(site.batches, [500, 500, 101]);
  t.equal(new Set(site.jobs.map(({ eventId }) => eventId)).size, 1_101);
});

t.test('a run that is stopped says so, and what it handed over stays', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a', []);
  const stop = new AbortController();
  stop.abort(aborted('shutdown'));
  const order = { kind: 'full', performDeletes: true, allowDeletes: false } as const;
  await t.rejects(site.reconciler.runOnce(order, stop.signal), { kind: 'aborted', message: 'shutdown' });
  t.match(site.reconciler.lastReport, { failure: 'shutdown' });
});

t.test('a run under way tells what it has found so far, and the last one is remembered', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a');
  t.strictSame([site.reconciler.current, site.reconciler.lastReport], [undefined, undefined]);
  const goOn = Promise.withResolvers<void>();
  const listed = Promise.withResolvers<void>();
  const list = site.store.list.bind(site.store);
  site.store.list = async function* (...args) {
    yield* list(...args);
    listed.resolve();
    await goOn.promise;
  };
  const startedAt = new Date(site.clock.now());
  const running = site.run();
  await listed.promise;
  t.match(site.reconciler.current, { kind: 'full', startedAt, listed: 0 });
  await site.clock.advance(1_500);
  goOn.resolve();
  const report = await running;
  t.strictSame([report.startedAt, report.endedAt], [startedAt, new Date(startedAt.getTime() + 1_500)]);
  t.strictSame([site.reconciler.current, site.reconciler.lastReport], [undefined, report]);
});

t.test('what runs saw is counted', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a');
  await site.addAbsent(1, 'gone');
  await site.put(addressOf(1, 'new'));
  await site.put(addressOf(1, 'odd'), ['revised-flag']);
  await site.run();
  const lines = (await site.metrics.text()).match(/^longshore_reconciler_.*$/gm);
  t.strictSame(lines, [
    'longshore_reconciler_datasets_total{result="listed"} 3',
    'longshore_reconciler_datasets_total{result="malformed"} 1',
    'longshore_reconciler_datasets_total{result="reconciled"} 1',
    'longshore_reconciler_datasets_total{result="absent"} 1',
    'longshore_reconciler_datasets_total{result="deleted"} 1',
    'longshore_reconciler_datasets_total{result="spared"} 0',
    'longshore_reconciler_braked 0',
  ]);
});

t.test('a listing of 20,000 datasets is never held whole: jobs are handed over as it comes', async (t) => {
  const COUNT = 20_000;
  const at = (i: number) => addressOf(1, `d${String(i).padStart(6, '0')}`);
  const store = new FakeObjectStore();
  const seen = { listed: 0, handedOver: 0, mostAhead: 0, mostPaged: 0 };
  store.list = async function* () {
    for (; seen.listed < COUNT; seen.listed++) {
      seen.mostAhead = Math.max(seen.mostAhead, seen.listed - seen.handedOver);
      yield infoOf(at(seen.listed), 'vdi-meta.json');
    }
  };
  /** All of them have old shares. */
  const known = indexedOf(at(0), { sync: { ...indexedOf(at(0)).sync, shares: STALE } });
  const page: DatasetIndex['page'] = async (after, limit) => {
    const from = after ? Number(after.dataset.slice(1)) + 1 : 0;
    const length = Math.min(limit, COUNT - from);
    seen.mostPaged = Math.max(seen.mostPaged, length);
    return Array.from({ length }, (_, i) => ({ ...known, ...at(from + i) }));
  };
  const reconciler = new Reconciler({
    ...{ store, index: { page, forgotten: async () => [] }, slimPasses: new FakeSlimPasses() },
    ...{ targetIndexes: [], types: TYPES },
    jobs: {
      enqueue: async (requests) => {
        seen.handedOver += requests.length;
      },
    },
    events: { nextEventId: async () => 1 },
    ...{ clock: new VirtualClock(), log: silentLogger(), metrics: new Metrics() },
  });
  const report = await reconciler.runOnce({ kind: 'full', performDeletes: true, allowDeletes: false }, never);
  t.match(report, { listed: COUNT, reconciled: COUNT, deleted: 0 });
  t.strictSame(seen, { listed: COUNT, handedOver: COUNT, mostAhead: 502, mostPaged: PAGE });
});

t.test('what it counts is there from the start, at 0', async (t) => {
  const metrics = new Metrics();
  reconcilerMetrics(metrics);
  const samples = (await metrics.text()).split('\n').filter((line) => /^(longshore_)?reconciler_/.test(line));
  t.ok(samples.some((line) => /reconciler_braked 0$/.test(line)));
  t.equal(samples.length, 7);
  t.ok(samples.every((line) => line.endsWith(' 0')));
});
