// What must never lead to a mass deletion. The full runs here go through the whole chain where that is there: the
// reconciler, the job table, and the lanes that would delete.

import t, { type Test } from 'tap';
import { type DatasetAddress, datasetPrefix, objectKey } from '../../engine/model/object-key.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { newAddress, newUser, TOXO } from '../support/dataset-samples.ts';
import { fullRun } from '../support/full-run.ts';
import { LaneWorld } from '../support/lane-world.ts';
import { addressOf } from '../support/merged-datasets.ts';
import { ReconciledSite } from '../support/reconciled-site.ts';

const never = new AbortController().signal;
type Lister = (listing: AsyncIterable<ObjectInfo>) => AsyncGenerator<ObjectInfo>;

/** Datasets that are installed on two targets, in one world with all lanes. */
async function installed(t: Test, count: number): Promise<{ world: LaneWorld; all: readonly DatasetAddress[] }> {
  const world = new LaneWorld(t.testdir());
  const owner = newUser();
  const all: DatasetAddress[] = [];
  for (let i = 0; i < count; i++) all.push(await world.accept({}, newAddress(owner)));
  await world.finish();
  // Past what may be an upload under way.
  await world.clock.advance(86_400_000);
  return { world, all };
}

/** Lets the listing of the whole bucket, and of single datasets if told so, say something else until disposed of. */
function list(site: { readonly store: LaneWorld['store'] }, change: Lister, everywhere = false): Disposable {
  const real = site.store.list.bind(site.store);
  site.store.list = (prefix, ...rest) =>
    prefix === '' || everywhere ? change(real(prefix, ...rest)) : real(prefix, ...rest);
  return {
    [Symbol.dispose]() {
      site.store.list = real;
    },
  };
}

/** Everything that a deletion would change. */
const state = async (world: LaneWorld, all: readonly DatasetAddress[]) => ({
  keys: world.store.keys(),
  records: await Promise.all(all.map((at) => world.record(at))),
  control: await Promise.all(all.map((at) => world.control(at))),
  installed: [...world.plugin.installed.keys()].sort(),
});

const nothing: Lister = async function* () {};
/** The first `count` datasets only. */
const first = (count: number): Lister =>
  async function* (listing) {
    const seen = new Set<string>();
    for await (const info of listing) {
      seen.add(info.key.split('/', 2).join('/'));
      if (seen.size > count) return;
      yield info;
    }
  };

t.test('an empty bucket listing: a full run deletes nothing and says why', async (t) => {
  const { world, all } = await installed(t, 5);
  const before = await state(world, all);
  const empty = list(world, nothing, true);
  const report = await fullRun(world);
  empty[Symbol.dispose]();
  t.match(report, {
    ...{ listed: 0, deleted: 0, spared: 0, wouldDelete: { cache: 5, PlasmoSite: 5, ToxoSite: 5 } },
    braked: 'the listing of the object store is empty',
  });
  t.same(await state(world, all), before);
  t.match(await world.metrics.text(), 'longshore_reconciler_braked 1');
});

t.test('a truncated listing: a full run deletes nothing and says why', async (t) => {
  const site = new ReconciledSite();
  for (let i = 0; i < 40; i++) await site.add(1, `d${i}`);
  list(site, first(29));
  t.match(await site.run(), {
    ...{ listed: 29, deleted: 0, wouldDelete: { cache: 11, PlasmoSite: 11, ToxoSite: 0 } },
    braked: 'too many datasets are absent from the object store (cache: 11 of 40, PlasmoSite: 11 of 40)',
  });
  t.same(site.asked, []);
});

t.test('a truncated listing of few datasets: each is looked for by itself, and none is deleted', async (t) => {
  const { world, all } = await installed(t, 8);
  const before = await state(world, all);
  list(world, first(3));
  t.match(await fullRun(world), {
    ...{ listed: 3, deleted: 0, spared: 5, wouldDelete: { cache: 5, PlasmoSite: 5, ToxoSite: 5 }, braked: undefined },
  });
  t.same(await state(world, all), before);
});

t.test('a truncated listing that is believed all the same: the lane looks once more, and deletes none', async (t) => {
  const { world, all } = await installed(t, 8);
  const before = await state(world, all);
  for (const [i, at] of all.entries())
    world.jobs.enqueue({ lane: 'hardDelete', ...at, eventId: 1_000 + i, source: 'full-reconciler' });
  await world.finish();
  t.same(await state(world, all), before);
});

t.test('a wrong bucket: a full run deletes nothing and says why', async (t) => {
  const { world, all } = await installed(t, 5);
  const others = [newAddress(), newAddress()];
  const keys = others.map((at) => objectKey(at, 'import-ready.zip')).sort();
  const before = await state(world, all);
  const other = list(
    world,
    async function* () {
      for (const key of keys) yield { key, size: 1, etag: 'e', modified: new Date(0) };
    },
    true,
  );
  const report = await fullRun(world);
  other[Symbol.dispose]();
  t.match(report, {
    ...{ listed: 2, malformed: 2, deleted: 0, wouldDelete: { cache: 5, PlasmoSite: 5, ToxoSite: 5 } },
    braked: 'none of the 2 datasets of the object store is known to any database',
  });
  t.same(await state(world, all), before);
});

t.test('however many malformed datasets: a full run deletes nothing and says why', async (t) => {
  const site = new ReconciledSite();
  for (let i = 0; i < 120; i++) {
    const at = addressOf(1, `d${i}`);
    // Without metadata, with what nobody knows, or with metadata that nobody understands.
    const [path, content] = [
      ['import-ready.zip', ''],
      ['lost+found', ''],
      ['vdi-meta.json', '{"name":'],
    ][i % 3] as [string, string];
    await site.store.put(datasetPrefix(at) + path, Buffer.from(content), {}, never);
    await site.know(at, 'cache', { sync: {} });
  }
  t.match(await site.run(), {
    ...{ listed: 120, malformed: 120, reconciled: 0, deleted: 0, braked: undefined },
    wouldDelete: { cache: 0, PlasmoSite: 0, ToxoSite: 0 },
  });
  t.same(site.asked, []);
});

t.test('datasets that became malformed stay installed', async (t) => {
  const { world, all } = await installed(t, 3);
  const [a, b] = all as [DatasetAddress, DatasetAddress];
  await world.store.put(objectKey(a, 'vdi-meta.json'), Buffer.from('{'), {}, never);
  await world.store.remove([objectKey(b, 'vdi-meta.json')], never);
  // A store that tells of no changes.
  world.store.changes.splice(-2);
  await world.clock.advance(86_400_000);
  const before = await state(world, all);
  t.match(await fullRun(world, { allowDeletes: true }), { malformed: 2, deleted: 0, reconciled: 0 });
  t.same(await state(world, all), before);
});

t.test('up to 10 datasets, or 2 % of a database, are deleted unasked', async (t) => {
  const few = new ReconciledSite();
  for (let i = 0; i < 10; i++) await few.addAbsent(1, `gone${i}`);
  await few.add(1, 'a');
  t.match(await few.run(), { deleted: 10, braked: undefined });
  const many = new ReconciledSite();
  for (let i = 0; i < 539; i++) await many.add(1, `d${i}`, ['cache']);
  for (let i = 0; i < 11; i++) await many.addAbsent(1, `gone${i}`, ['cache']);
  t.match(await many.run(), { deleted: 11, braked: undefined });
  await many.addAbsent(1, 'gone11', ['cache']);
  t.match(await many.run(), {
    deleted: 0,
    braked: 'too many datasets are absent from the object store (cache: 12 of 551)',
  });
});

t.test('one database that is braked keeps all others from deletes', async (t) => {
  const site = new ReconciledSite();
  await site.add(1, 'a');
  await site.addAbsent(1, 'gone', ['cache']);
  for (let i = 0; i < 11; i++) await site.addAbsent(1, `gone${i}`, [TOXO]);
  t.match(await site.run(), {
    ...{ deleted: 0, wouldDelete: { cache: 1, PlasmoSite: 0, ToxoSite: 11 } },
    braked: 'too many datasets are absent from the object store (ToxoSite: 11 of 11)',
  });
  t.same(site.asked, []);
});

t.test('a run that may delete releases the brake, and only what is absent goes', async (t) => {
  const { world, all } = await installed(t, 12);
  const [kept, ...gone] = all as [DatasetAddress, ...DatasetAddress[]];
  const keys = gone.flatMap((at) => world.keys(at).map((path) => datasetPrefix(at) + path));
  await world.store.remove(keys, never);
  world.store.changes.splice(-keys.length);
  t.match(await fullRun(world), { deleted: 0, braked: /cache: 11 of 12/ });
  t.match(await fullRun(world, { allowDeletes: true }), { deleted: 11, spared: 0, braked: undefined });
  t.same([...world.catalog.datasets.keys()], [kept.dataset]);
  t.same([...world.schema.rows.keys()], [kept.dataset]);
  t.same(
    [...world.plugin.installed.keys()].filter((key) => !key.includes(kept.dataset)),
    [],
    'uninstalled',
  );
  t.match(await world.metrics.text(), 'longshore_reconciler_braked 0');
  t.match(await fullRun(world), { listed: 1, wouldDelete: { cache: 0, PlasmoSite: 0, ToxoSite: 0 } });
});

t.test('a store that loses more between the two looks is not believed', async (t) => {
  const site = new ReconciledSite();
  for (let i = 0; i < 5; i++) await site.add(1, `d${i}`);
  await site.addAbsent(1, 'gone');
  let listings = 0;
  const real = site.store.list.bind(site.store);
  site.store.list = (...args) => (listings++ === 0 ? real(...args) : nothing(real(...args)));
  t.match(await site.run(), {
    deleted: 0,
    braked: 'more datasets of cache are missing from the object store than in the first pass',
  });
  t.same(site.asked, []);
  t.match(await site.metrics.text(), 'longshore_reconciler_braked 1');
});

t.test('what is absent because it is being pruned brakes nobody', async (t) => {
  const site = new ReconciledSite();
  for (let i = 0; i < 50; i++) await site.know(addressOf(1, `d${i}`), 'cache', { state: 'pruning' });
  t.match(await site.run(), { deleted: 0, braked: undefined, wouldDelete: { cache: 0, PlasmoSite: 0, ToxoSite: 0 } });
});
