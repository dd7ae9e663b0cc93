import t, { type Test } from 'tap';
import { Pruner } from '../../../actors/daemons/pruner.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import type { DatasetIndex, RetiredDataset } from '../../../engine/ports/catalog.ts';
import type { PrunerReport } from '../../../engine/ports/process-control.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { FakeDatasetIndex } from '../../fakes/fake-dataset-index.ts';
import { EventLogTable, FakeEventLog } from '../../fakes/fake-event-log.ts';
import { FakeJobs } from '../../fakes/fake-jobs.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { addressOf } from '../../support/merged-datasets.ts';

const never = new AbortController().signal;
const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;
const NOTHING = { pruned: 0, trimmed: 0, skipped: {}, failures: 0, failure: undefined };

class Site {
  readonly world: LaneWorld;
  /** Replace a method to make it misbehave. */
  readonly index: Pick<DatasetIndex, 'retired' | 'beginPruning'>;
  readonly pruner: Pruner;

  constructor(t: Test) {
    const world = new LaneWorld(t.testdir());
    const { id } = world.process();
    const { clock, log, metrics } = world.settings;
    this.world = world;
    this.index = new FakeDatasetIndex(world.catalog);
    this.pruner = new Pruner({
      ...{ clock, log, metrics, store: world.store, index: this.index, targets: world.targets },
      jobs: new FakeJobs(world.jobs, id),
      events: new FakeEventLog(new EventLogTable(clock), id),
    });
  }

  /** A dataset that is installed, and then gets the flag. */
  async flagged(flag: 'delete-flag' | 'revised-flag'): Promise<DatasetAddress> {
    const at = await this.world.accept();
    await this.world.finish();
    await this.world.store.put(objectKey(at, flag), Buffer.alloc(0), {}, never);
    await this.world.finish();
    return at;
  }

  /** A deleted dataset whose retention is over. */
  async outdated(): Promise<DatasetAddress> {
    const at = await this.flagged('delete-flag');
    await this.world.clock.advance(RETENTION_MS + 1);
    return at;
  }

  /** Runs, and leaves the jobs in the table. */
  async run(minAgeMs = RETENTION_MS): Promise<Omit<PrunerReport, 'startedAt' | 'endedAt' | 'cutoff'>> {
    const cutoff = new Date(this.world.clock.now() - minAgeMs);
    const { startedAt: _from, endedAt: _to, cutoff: _cutoff, ...found } = await this.pruner.runOnce(cutoff, never);
    return found;
  }

  state(at: DatasetAddress): string | undefined {
    return this.world.catalog.datasets.get(at.dataset)?.state;
  }
}

t.test('a dataset that was deleted long enough ago is removed everywhere', async (t) => {
  const site = new Site(t);
  const { world } = site;
  const at = await site.flagged('delete-flag');
  t.equal(site.state(at), 'deleted');
  await world.clock.advance(RETENTION_MS + 1);
  t.strictSame(await site.run(), { ...NOTHING, pruned: 1 });
  t.equal(site.state(at), 'pruning', 'the point of no return');
  t.match(world.jobs.rows, [{ lane: 'hardDelete', ...at, source: 'pruner' }]);
  await world.finish();
  t.strictSame([site.state(at), world.keys(at), [...world.schema.rows.keys()]], [undefined, [], []]);
  t.strictSame(await site.run(), NOTHING, 'no tombstone is left');
});

t.test('a dataset stays for as long as its retention lasts, and not a moment longer', async (t) => {
  const site = new Site(t);
  const at = await site.flagged('delete-flag');
  await site.world.clock.advance(RETENTION_MS);
  t.strictSame(await site.run(), { ...NOTHING, skipped: { 'too-young': 1 } });
  t.equal(site.state(at), 'deleted');
  await site.world.clock.advance(1);
  t.strictSame(await site.run(), { ...NOTHING, pruned: 1 });
});

t.test('live datasets are none of its business', async (t) => {
  const site = new Site(t);
  await site.world.accept();
  await site.world.finish();
  await site.world.clock.advance(10 * RETENTION_MS);
  t.strictSame(await site.run(), NOTHING);
});

t.test('a dataset that may still be on a target is skipped', async (t) => {
  const site = new Site(t);
  const { world } = site;
  const at = await site.flagged('delete-flag');
  await world.clock.advance(RETENTION_MS + 1);
  const toxo = world.targets.get(TOXO);
  if (!toxo) throw new Error('no target');
  await toxo.setDeleted(at.dataset, 2, 99, never);
  t.strictSame(await site.run(), { ...NOTHING, skipped: { 'not-uninstalled': 1 } });
  world.targets.delete(TOXO);
  t.strictSame(await site.run(), { ...NOTHING, skipped: { 'target-disabled': 1 } });
  t.equal(site.state(at), 'deleted');
});

t.test('a target that is away is asked once in a run, and datasets without it go on', async (t) => {
  const site = new Site(t);
  const { world } = site;
  const both = [await site.flagged('delete-flag'), await site.flagged('delete-flag')];
  const at = await world.accept({ metadata: { installTargets: [PLASMO] } });
  await world.finish();
  await world.store.put(objectKey(at, 'delete-flag'), Buffer.alloc(0), {}, never);
  await world.finish();
  await world.clock.advance(RETENTION_MS + 1);
  const toxo = world.targets.get(TOXO);
  let asked = 0;
  if (toxo)
    toxo.state = async () => {
      asked++;
      throw transient('ToxoSite is away');
    };
  t.strictSame(await site.run(), { ...NOTHING, pruned: 1, skipped: { 'target-away': 2 } });
  t.strictSame([asked, site.state(at), ...both.map((one) => site.state(one))], [1, 'pruning', 'deleted', 'deleted']);
});

t.test('a dataset without its flag is about to be undeleted, and skipped', async (t) => {
  const site = new Site(t);
  const at = await site.outdated();
  await site.world.store.remove([objectKey(at, 'delete-flag')], never);
  t.strictSame(await site.run(), { ...NOTHING, skipped: { 'no-flag': 1 } });
});

t.test('an undelete that comes first wins', async (t) => {
  const site = new Site(t);
  const at = await site.outdated();
  const begin = site.index.beginPruning.bind(site.index);
  site.index.beginPruning = async (...args) => {
    site.world.catalog.apply(at.dataset, [{ set: 'state', state: 'live' }]);
    return begin(...args);
  };
  t.strictSame(await site.run(), { ...NOTHING, skipped: { undeleted: 1 } });
  t.strictSame(site.world.jobRows(), []);
});

t.test('a dataset that is being changed is left for the next run', async (t) => {
  const site = new Site(t);
  const at = await site.outdated();
  const begin = site.index.beginPruning;
  site.index.beginPruning = async (datasets) => new Map(datasets.map((dataset) => [dataset, 'locked']));
  t.strictSame(await site.run(), { ...NOTHING, skipped: { locked: 1 } });
  t.strictSame(site.world.jobRows(), []);
  t.equal(site.state(at), 'deleted');
  site.index.beginPruning = begin;
  t.strictSame(await site.run(), { ...NOTHING, pruned: 1 });
});

t.test('a removal whose job was lost is asked for again', async (t) => {
  const site = new Site(t);
  const at = await site.outdated();
  await site.run();
  for (const row of site.world.jobs.rows) site.world.jobs.remove(row);
  t.strictSame(await site.run(), { ...NOTHING, pruned: 1 });
  await site.world.finish();
  t.strictSame(site.world.keys(at), []);
});

t.test('a revision that was superseded long enough ago is trimmed, once', async (t) => {
  const site = new Site(t);
  const at = await site.flagged('revised-flag');
  t.equal(site.state(at), 'superseded');
  await site.world.clock.advance(RETENTION_MS);
  t.strictSame(await site.run(), { ...NOTHING, skipped: { 'too-young': 1 } });
  await site.world.clock.advance(1);
  t.strictSame(await site.run(), { ...NOTHING, trimmed: 1 });
  await site.world.finish();
  t.equal(site.state(at), 'superseded');
  t.strictSame(site.world.keys(at), ['import-ready.zip', 'revised-flag', 'vdi-manifest.json', 'vdi-meta.json']);
  t.strictSame(await site.run(), { ...NOTHING, skipped: { 'trimmed-before': 1 } });
});

t.test('all pages are looked at, some hundred datasets at a time', async (t) => {
  const site = new Site(t);
  const COUNT = 1_050;
  const asked: (string | undefined)[] = [];
  const limits = new Set<number>();
  const rows = Array.from({ length: COUNT }, (_, i): RetiredDataset => {
    const at = addressOf(1, `d${String(i).padStart(4, '0')}`);
    return { ...at, state: 'pruning', installTargets: [] };
  });
  site.index.retired = async (state, after, limit) => {
    limits.add(limit);
    if (state !== 'pruning') return [];
    asked.push(after);
    const from = after ? rows.findIndex(({ dataset }) => dataset === after) + 1 : 0;
    return rows.slice(from, from + limit);
  };
  t.strictSame(await site.run(), { ...NOTHING, pruned: COUNT });
  t.strictSame(asked, [undefined, 'd0199', 'd0399', 'd0599', 'd0799', 'd0999']);
  t.strictSame([[...limits], site.world.jobs.rows.length], [[200], COUNT]);
});

t.test('a dataset that cannot be told about holds up no other', async (t) => {
  const site = new Site(t);
  const [bad, good] = [await site.flagged('delete-flag'), await site.flagged('delete-flag')];
  await site.world.clock.advance(RETENTION_MS + 1);
  site.world.store.onCall = (method, key) => {
    if (method === 'head' && key === objectKey(bad, 'delete-flag')) throw defect('no such key');
  };
  t.strictSame(await site.run(), { ...NOTHING, pruned: 1, failures: 1 });
  t.strictSame([site.state(bad), site.state(good)], ['deleted', 'pruning']);
  t.match(await site.world.metrics.text(), 'longshore_pruner_datasets_total{result="failed"} 1');
});

t.test('a store that is away fails the run, and is not taken for one without flags', async (t) => {
  const site = new Site(t);
  const at = await site.outdated();
  for (const away of ['probe', 'head']) {
    site.world.store.onCall = (method) => {
      if (method === away) throw transient('the store is away');
    };
    await t.rejects(site.run(), { kind: 'transient', message: 'the store is away' });
    t.match(site.pruner.lastReport, { failure: 'the store is away', skipped: {} });
  }
  t.equal(site.state(at), 'deleted');
});

t.test('a run that is stopped ends at once', async (t) => {
  const site = new Site(t);
  await site.flagged('delete-flag');
  const stop = new AbortController();
  stop.abort(aborted('shutdown'));
  await t.rejects(site.pruner.runOnce(new Date(), stop.signal), { kind: 'aborted', message: 'shutdown' });
  t.strictSame(site.world.jobRows(), []);
});

t.test('the last report tells when and for which age it was, and all is counted', async (t) => {
  const site = new Site(t);
  await site.flagged('delete-flag');
  await site.flagged('revised-flag');
  await site.world.clock.advance(RETENTION_MS + 1);
  t.strictSame([site.pruner.current, site.pruner.lastReport], [undefined, undefined]);
  await site.run();
  const now = site.world.clock.now();
  t.strictSame(site.pruner.lastReport, {
    ...{ ...NOTHING, startedAt: new Date(now), endedAt: new Date(now), cutoff: new Date(now - RETENTION_MS) },
    ...{ pruned: 1, trimmed: 1 },
  });
  const lines = (await site.world.metrics.text()).match(/^longshore_pruner_.*$/gm);
  t.strictSame(lines, [
    'longshore_pruner_datasets_total{result="pruned"} 1',
    'longshore_pruner_datasets_total{result="trimmed"} 1',
    'longshore_pruner_datasets_total{result="skipped"} 0',
    'longshore_pruner_datasets_total{result="failed"} 0',
  ]);
});
