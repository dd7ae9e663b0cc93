import t from 'tap';
import { revisionOf, rootOf, targetId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import type { DatasetState } from '../../../engine/model/status.ts';
import { aborted, defect, rejected, transient } from '../../../engine/runtime/failure.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { historyOf, metadataOf, newAddress, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { installedWorld, worldBefore } from '../../support/lane-start.ts';
import { LaneWorld, type Upload } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
type Flag = 'delete-flag' | 'revised-flag';
const INSTALLED = {
  data: ['complete'],
  meta: ['complete'],
  shown: true,
  name: 'Genes of interest',
  sync: { data: 'current', meta: 'current' },
};
const UNINSTALLED = { ...INSTALLED, deleted: 1 };
const HIDDEN = { ...INSTALLED, deleted: 2 };
const OBJECTS = ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json'];

async function installed(world: LaneWorld, upload?: Upload, at?: DatasetAddress): Promise<DatasetAddress> {
  const dataset = await world.accept(upload, at);
  await world.finish();
  return dataset;
}

async function flag(world: LaneWorld, at: DatasetAddress, name: Flag = 'delete-flag'): Promise<void> {
  await world.store.put(objectKey(at, name), new Uint8Array(), {}, never);
}

const stateOf = (world: LaneWorld, at: DatasetAddress): DatasetState => world.dataset(at).state;

function setState(world: LaneWorld, at: DatasetAddress, state: DatasetState): void {
  world.catalog.apply(at.dataset, [{ set: 'state', state }]);
}

t.test('a deleted dataset is taken away from every target; its objects and statuses stay', async (t) => {
  const world = new LaneWorld(t.testdir());
  world.plugin.decide = ({ kind }) =>
    kind === 'installData' ? { kind: 'success', validation: { basic: ['one row is odd'], community: [] } } : undefined;
  const at = await installed(world);
  const before = await world.record(at);
  await flag(world, at);
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.same(await world.record(at), { ...before, state: 'deleted' });
  const uninstalled = { ...UNINSTALLED, data: ['complete', 'one row is odd'] };
  t.same(await world.control(at), { PlasmoSite: uninstalled, ToxoSite: uninstalled });
  t.same([[...world.plugin.installed], world.jobRows(), world.leases.held()], [[], [], []]);
  t.same(world.keys(at), ['delete-flag', ...OBJECTS]);
});

t.test('the cache and the target hide the dataset before the plugin takes it away', async (t) => {
  const { world, at } = await installedWorld(t, { metadata: { installTargets: [PLASMO] } });
  const seen: unknown[] = [];
  world.plugin.decide = async ({ kind, dataset, target }) => {
    seen.push([
      kind,
      target,
      stateOf(world, at),
      (await world.targets.get(PLASMO)?.state(dataset, never))?.deletedStatus,
    ]);
    return undefined;
  };
  await flag(world, at);
  await world.run('softDelete');
  t.same(seen, [['uninstall', PLASMO, 'deleting', 2]]);
});

t.test('where nothing was installed, no plugin is called', async (t) => {
  for (const lane of ['import', 'install'] as const) {
    const world = new LaneWorld(t.testdir());
    const at = await world.before(lane);
    const calls = world.calls.length;
    await flag(world, at);
    t.same(await world.run('softDelete'), { kind: 'done' });
    t.equal(stateOf(world, at), 'deleted');
    const rows = {
      ...UNINSTALLED,
      data: ['queued'],
      meta: ['queued'],
      shown: false,
      sync: { data: 'none', meta: 'none' },
    };
    t.same(await world.control(at), lane === 'import' ? {} : { PlasmoSite: rows, ToxoSite: rows });
    await world.finish();
    t.same([world.calls.length, world.jobRows()], [calls, []]);
  }
});

t.test('a deletion that is taken back while scripts run does not come back, and all is installed again', async (t) => {
  const { world, at } = await installedWorld(t);
  const before = { record: await world.record(at), control: await world.control(at) };
  await flag(world, at);
  world.plugin.decide = async ({ kind }) => {
    if (kind !== 'uninstall' || stateOf(world, at) !== 'deleting') return undefined;
    await world.store.remove([objectKey(at, 'delete-flag')], never);
    setState(world, at, 'live');
    return undefined;
  };
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.equal(stateOf(world, at), 'live');
  await world.finish();
  t.same({ record: await world.record(at), control: await world.control(at) }, before);
});

/** Calls back at the n-th look for the delete flag, after the store has answered. */
function atLook(world: LaneWorld, at: DatasetAddress, look: number, change: () => Promise<void>): void {
  const head = world.store.head.bind(world.store);
  let looks = 0;
  world.store.head = async (key, signal) => {
    const found = await head(key, signal);
    if (key === objectKey(at, 'delete-flag') && ++looks === look) await change();
    return found;
  };
}

t.test('a deletion that is taken back while the lane looks for its flag is not written', async (t) => {
  for (const look of [1, 2]) {
    const { world, at } = await installedWorld(t);
    const before = { record: await world.record(at), control: await world.control(at) };
    await flag(world, at);
    setState(world, at, 'deleting');
    const takenBack = Promise.withResolvers<void>();
    atLook(world, at, look, async () => {
      await world.store.remove([objectKey(at, 'delete-flag')], never);
      setState(world, at, 'live');
      takenBack.resolve();
    });
    t.same(await world.run('softDelete'), { kind: 'done' });
    await takenBack.promise;
    t.equal(stateOf(world, at), 'live', `at look ${look}`);
    await world.finish();
    t.same({ record: await world.record(at), control: await world.control(at) }, before);
  }
});

t.test('a dataset that is about to be removed for good while the lane looks for its flag stays so', async (t) => {
  const { world, at } = await installedWorld(t);
  await flag(world, at);
  atLook(world, at, 1, async () => setState(world, at, 'pruning'));
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.equal(stateOf(world, at), 'pruning');
  t.notOk(world.calls.some((call) => /uninstall/.test(call)));
});

t.test('an install that has begun and said nothing is taken back', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO, ['write']);
  const at = await world.before('install');
  away.reason = aborted('the process ends before it tells the target');
  await world.run('install');
  t.same(await world.attempts(at), ['PlasmoSite data 0 started']);
  await flag(world, at);
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.same(world.calls.filter((call) => /uninstall/.test(call)).sort(), ['uninstall PlasmoSite', 'uninstall ToxoSite']);
  t.same([stateOf(world, at), await world.attempts(at)], ['deleted', []]);
});

t.test('an install that waits for its target is given up with the dataset', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await world.before('install');
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  await world.run('install');
  away.reason = undefined;
  await flag(world, at);
  await world.finish();
  t.same([stateOf(world, at), await world.attempts(at), world.jobRows()], ['deleted', [], []]);
  t.same([...world.plugin.installed], []);
  t.notOk(world.calls.includes('uninstall PlasmoSite'));
});

t.test('what one target was told to install is not taken away from another', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await world.before('install');
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  world.plugin.decide = ({ kind }) => {
    if (kind === 'installData') throw transient('busy');
    return undefined;
  };
  await world.run('install');
  t.same((await world.attempts(at)).sort(), ['PlasmoSite data 0', 'ToxoSite data 1 started']);
  away.reason = undefined;
  await flag(world, at);
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.same(
    world.calls.filter((call) => /uninstall/.test(call)),
    ['uninstall ToxoSite'],
  );
});

t.test('a deletion is done only when no try of an install is left', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('install');
  world.plugin.decide = ({ kind, target }) => {
    if (kind === 'installData' && target === PLASMO) throw transient('busy');
    return undefined;
  };
  await world.run('install');
  const { write } = world.catalog;
  world.catalog.write = async (dataset, lease, changes, signal) => {
    if (changes.some((change) => change.set === 'attemptOver')) throw transient('away');
    await write.call(world.catalog, dataset, lease, changes, signal);
  };
  await flag(world, at);
  t.match(await world.run('softDelete'), { kind: 'retry', message: /away/ });
  t.equal(stateOf(world, at), 'deleting');
  world.catalog.write = write;
  await world.finish();
  t.same([stateOf(world, at), await world.attempts(at)], ['deleted', []]);
});

t.test('what is under way when its dataset is deleted ends without harm', async (t) => {
  for (const lane of ['upload', 'import', 'install'] as const) {
    const world = new LaneWorld(t.testdir());
    const at = await world.before(lane);
    await flag(world, at);
    await world.finish();
    t.equal(stateOf(world, at), 'deleted', lane);
    const calls = world.calls.filter((call) => !/uninstall/.test(call));
    t.same(calls, lane === 'install' ? ['import'] : [], lane);
    t.same([world.jobRows(), world.leases.held(), [...world.plugin.installed]], [[], [], []], lane);
    t.equal(await world.uploads.usage(at.owner, never), 0, lane);
    // Packed all the same, so that an undelete finds a whole dataset; nothing of the upload is left.
    t.ok(world.keys(at).includes('import-ready.zip'), lane);
    t.notOk(
      world.keys(at).some((key) => key.startsWith('raw/')),
      lane,
    );
    t.equal(await world.uploads.source(at.dataset, never), undefined, lane);
  }
});

t.test('a flag that arrives while a job of the dataset runs waits for its end', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const process = world.process();
  const job = await process.claim('import');
  if (!job) throw new Error('no import');
  await flag(world, at);
  world.deliver();
  t.equal(await process.claim('softDelete'), undefined);
  await process.complete(job, await process.perform(job));
  await world.finish();
  t.equal(stateOf(world, at), 'deleted');
  t.same([world.calls, world.jobRows()], [['import'], []], 'nothing was installed after it');
});

t.test('a superseded dataset is taken away and stays superseded', async (t) => {
  const { world, at } = await installedWorld(t);
  await flag(world, at, 'revised-flag');
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.equal(stateOf(world, at), 'superseded');
  t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: UNINSTALLED });
  t.same(world.keys(at), [...OBJECTS.slice(0, 2), 'revised-flag', ...OBJECTS.slice(2)]);
});

t.test('of both flags the deletion counts, and older revisions are the newest one’s to flag', async (t) => {
  const world = new LaneWorld(t.testdir());
  const { older, at } = await twoRevisions(world);
  await flag(world, at, 'revised-flag');
  await world.run('softDelete');
  t.equal(stateOf(world, at), 'superseded');
  await flag(world, at, 'delete-flag');
  await world.finish();
  t.equal(stateOf(world, at), 'deleted');
  t.notOk(world.keys(older).includes('delete-flag'));
});

t.test('deleting twice is deleting once', async (t) => {
  const { world, at } = await installedWorld(t);
  await flag(world, at);
  await world.finish();
  const [calls, record] = [world.calls.length, await world.record(at)];
  await flag(world, at);
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.same([world.calls.length, await world.record(at), world.jobRows()], [calls, record, []]);
});

t.test('a flag that is gone when its turn comes says nothing', async (t) => {
  const { world, at } = await installedWorld(t);
  await flag(world, at);
  await world.store.remove([objectKey(at, 'delete-flag')], never);
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.equal(stateOf(world, at), 'live');
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
});

t.test('a dataset that is being pruned is left to that', async (t) => {
  const { world, at } = await installedWorld(t);
  setState(world, at, 'pruning');
  const calls = world.calls.length;
  await flag(world, at);
  await world.run('softDelete');
  t.same([stateOf(world, at), world.calls.length], ['pruning', calls]);
});

t.test(
  'without its flag a deleted dataset that is superseded too stays deleted: that is not decided here',
  async (t) => {
    const { world, at } = await installedWorld(t);
    setState(world, at, 'deleting');
    await flag(world, at, 'revised-flag');
    await world.run('softDelete');
    t.equal(stateOf(world, at), 'deleting');
    t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: UNINSTALLED });
  },
);

t.test('the newest revision takes all others with it', async (t) => {
  const world = new LaneWorld(t.testdir());
  const { older, at } = await twoRevisions(world);
  t.same([stateOf(world, older), stateOf(world, at)], ['superseded', 'live']);
  await flag(world, at);
  await world.finish();
  t.same([stateOf(world, older), stateOf(world, at)], ['deleted', 'deleted']);
  t.ok(world.keys(older).includes('delete-flag'));
  t.same([...world.plugin.installed], []);
  t.equal(await world.uploads.usage(at.owner, never), 0);
});

t.test('a dataset that the cache does not know is registered as what it is and taken away', async (t) => {
  for (const [name, state] of [
    ['delete-flag', 'deleted'],
    ['revised-flag', 'superseded'],
  ] as const) {
    const { world, at } = await installedWorld(t);
    const record = await world.record(at);
    world.catalog.datasets.delete(at.dataset);
    await flag(world, at, name);
    t.same(await world.run('softDelete'), { kind: 'done' });
    t.match(await world.record(at), { ...record, state });
    t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: UNINSTALLED });
  }
});

t.test('a dataset without metadata that can be read is left to reconciliation', async (t) => {
  for (const text of [undefined, '{"type":']) {
    const world = new LaneWorld(t.testdir());
    const at = newAddress();
    if (text) await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(text), {}, never);
    await flag(world, at);
    t.same(await world.run('softDelete'), { kind: 'done' });
    t.equal(world.catalog.datasets.size, 0);
  }
});

t.test('a target that does not answer waits alone, and uses up no try', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await installed(world);
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  await flag(world, at);
  t.match(await world.run('softDelete'), { kind: 'retry', countsAttempt: false });
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: UNINSTALLED });
  t.equal(stateOf(world, at), 'deleting');
  const calls = world.calls.length;
  away.reason = undefined;
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: UNINSTALLED });
  t.same(world.calls.slice(calls), ['uninstall PlasmoSite']);
  t.same([stateOf(world, at), world.jobRows()], ['deleted', []]);
});

t.test(
  'a target that cannot be told how far its removal is waits, and its plugin is not called before it was',
  async (t) => {
    for (const [status, seen, calls] of [
      [2, INSTALLED, ['uninstall ToxoSite']],
      [1, HIDDEN, ['uninstall PlasmoSite', 'uninstall ToxoSite']],
    ] as const) {
      const world = new LaneWorld(t.testdir());
      const at = await installed(world);
      const target = world.targets.get(PLASMO);
      if (!target) throw new Error('no target');
      const { setDeleted } = target;
      target.setDeleted = async (dataset, wanted, token, signal) => {
        if (wanted === status) throw transient('PlasmoSite refused', { unreachable: true });
        await setDeleted.call(target, dataset, wanted, token, signal);
      };
      const before = world.calls.length;
      await flag(world, at);
      t.match(await world.run('softDelete'), { kind: 'retry', message: /PlasmoSite refused/, countsAttempt: false });
      t.same(await world.control(at), { PlasmoSite: seen, ToxoSite: UNINSTALLED });
      t.same([world.calls.slice(before).sort(), stateOf(world, at)], [calls, 'deleting']);
      target.setDeleted = setDeleted;
      await world.finish();
      t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: UNINSTALLED });
    }
  },
);

t.test('a plugin that is away leaves the dataset hidden, and uses up no try', async (t) => {
  const { world, at } = await installedWorld(t);
  world.plugin.decide = () => {
    throw transient('genes refused', { unreachable: true });
  };
  await flag(world, at);
  t.match(await world.run('softDelete'), { kind: 'retry', countsAttempt: false });
  t.same(await world.control(at), { PlasmoSite: HIDDEN, ToxoSite: HIDDEN });
  world.plugin.decide = () => undefined;
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: UNINSTALLED });
  t.equal(stateOf(world, at), 'deleted');
});

t.test(
  'a script that fails stops its own target only; its message is kept, and an administrator has it tried again',
  async (t) => {
    const { world, at } = await installedWorld(t);
    const message = 'uninstall from ToxoSite, plugin genes: exit code 3';
    world.plugin.decide = ({ target }) =>
      target === TOXO ? { kind: 'script-error', message: 'exit code 3' } : undefined;
    await flag(world, at);
    t.same(await world.run('softDelete'), { kind: 'dead', failure: 'rejected', message });
    t.same(await world.control(at), { PlasmoSite: UNINSTALLED, ToxoSite: { ...HIDDEN, data: ['complete', message] } });
    t.match(await world.record(at), {
      state: 'deleting',
      installs: { 'PlasmoSite data': ['complete'], 'ToxoSite data': ['complete', message] },
    });
    world.plugin.decide = () => undefined;
    const calls = world.calls.length;
    await new FakeJobAdmin(world.jobs, world.catalog).retry(world.jobs.get('softDelete', at.dataset)?.id ?? 0, never);
    await world.finish();
    t.same(world.calls.slice(calls), ['uninstall ToxoSite']);
    t.same([stateOf(world, at), world.jobRows()], ['deleted', []]);
    t.same(await world.control(at), {
      PlasmoSite: UNINSTALLED,
      ToxoSite: { ...UNINSTALLED, data: ['complete', message] },
    });
  },
);

t.test('a type without plugin is hidden and left to an administrator, by its name', async (t) => {
  const { world, at } = await installedWorld(t, { metadata: { installTargets: [PLASMO] } });
  const metadata = metadataOf(at.owner, { type: { name: 'biom', version: '2.0' } });
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  const document = { ...at, metadata, category: 'Biom', showVisibility: true };
  await world.targets.get(PLASMO)?.write(at.dataset, { document }, token, never);
  await flag(world, at);
  const message = 'uninstall from PlasmoSite: no plugin is configured for data type biom:2.0';
  t.same(await world.run('softDelete'), { kind: 'dead', failure: 'rejected', message });
  t.match(await world.control(at), { PlasmoSite: { deleted: 2, data: ['complete', message] } });
  t.match(await world.record(at), { state: 'deleting', installs: { 'PlasmoSite data': ['complete', message] } });
});

t.test("a plugin server's own error is tried three times", async (t) => {
  const { world, at } = await installedWorld(t);
  world.plugin.decide = ({ target }) =>
    target === PLASMO ? { kind: 'server-error', message: 'disk full' } : undefined;
  const calls = world.calls.length;
  await flag(world, at);
  await world.finish();
  t.same(world.calls.slice(calls).sort(), [...Array(3).fill('uninstall PlasmoSite'), 'uninstall ToxoSite']);
  t.same([stateOf(world, at), world.jobRows()], ['deleting', ['softDelete dead']]);
});

t.test('a failure that is final for one target does not end the attempts of another', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, TOXO);
  const at = await installed(world);
  away.reason = transient('ToxoSite refused', { unreachable: true });
  world.plugin.decide = ({ target }) =>
    target === PLASMO ? { kind: 'script-error', message: 'exit code 3' } : undefined;
  await flag(world, at);
  t.match(await world.run('softDelete'), { kind: 'retry', message: /ToxoSite refused/, countsAttempt: false });
  away.reason = undefined;
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { deleted: 2 }, ToxoSite: { deleted: 1 } });
  t.same(world.jobRows(), ['softDelete dead']);
});

t.test('of what two targets say, that decides which gives the deletion the best chance', async (t) => {
  const unreachable = transient('refused', { unreachable: true });
  const failures = [unreachable, transient('too slow'), defect('odd'), rejected('no')];
  for (const [place, better] of failures.entries())
    for (const worse of failures.slice(place + 1))
      for (const [first, second] of [
        [better, worse],
        [worse, better],
      ] as const) {
        const world = new LaneWorld(t.testdir());
        const [plasmo, toxo] = [targetAway(world, PLASMO), targetAway(world, TOXO)];
        const at = await installed(world);
        [plasmo.reason, toxo.reason] = [first, second];
        await flag(world, at);
        const outcome = await world.run('softDelete');
        const expected =
          better.kind === 'transient'
            ? { kind: 'retry', countsAttempt: better !== unreachable }
            : { kind: 'dead', failure: better.kind };
        t.match(outcome, expected, `${better.message} before ${worse.message}`);
      }
});

t.test('a dataset stays deleting while a target of its metadata is disabled', async (t) => {
  const { world, at } = await installedWorld(t, { metadata: { installTargets: [PLASMO, targetId('GoneSite')] } });
  await flag(world, at);
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.same([stateOf(world, at), world.jobRows()], ['deleting', []]);
  t.same(await world.control(at), { PlasmoSite: UNINSTALLED });
});

/** A dataset and the revision that superseded it. */
async function twoRevisions(
  world: LaneWorld,
): Promise<{ readonly older: DatasetAddress; readonly at: DatasetAddress }> {
  const older = await installed(world);
  const at = { owner: older.owner, dataset: revisionOf(rootOf(older.dataset), 1) };
  await installed(world, { metadata: { revisionHistory: historyOf(older.dataset, at.dataset) } }, at);
  return { older, at };
}
