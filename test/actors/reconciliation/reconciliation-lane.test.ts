// Reconciliation among the other lanes: it comes to an end, and disturbs nothing that is under way.

import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { storedDataset } from '../../../actors/dataset/stored-dataset.ts';
import { decide, type Verdict } from '../../../actors/reconciler/reconciler-decision.ts';
import { revisionOf, type TargetId, type UserId } from '../../../engine/model/ids.ts';
import { serialiseShare, serializeMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, fileKey, objectKey, shareKey } from '../../../engine/model/object-key.ts';
import type { CatalogChange } from '../../../engine/ports/catalog.ts';
import type { ControlState } from '../../../engine/ports/install-target.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { FakeDatasetIndex } from '../../fakes/fake-dataset-index.ts';
import { historyOf, metadataOf, newAddress, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { TYPES } from '../../support/lane-settings.ts';
import { acceptedWorld, claimed, installedWorld, worldBefore } from '../../support/lane-start.ts';
import { LaneWorld, type Upload } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const EMPTY = new Uint8Array();
/** Where the targets' calls mixing adds nothing. */
const ONE_TARGET = { metadata: { installTargets: [PLASMO] } };
const READER = '4711' as UserId;

type State = (world: LaneWorld) => Promise<DatasetAddress>;

const put = (world: LaneWorld, key: string, content: string | Uint8Array = EMPTY) =>
  world.store.put(key, Buffer.from(content as string), {}, never);

/** Where the lanes leave a dataset. */
const states: Readonly<Record<string, State>> = {
  'installed with shares, properties and documents': async (world) => {
    const at = await world.accept({ properties: { 'p.tsv': 'x' } });
    await put(world, fileKey(at, 'documents', 'read.me'), 'hello');
    await put(world, shareKey(at, READER, 'share-offer.json'), serialiseShare('grant'));
    await put(world, shareKey(at, READER, 'share-receipt.json'), serialiseShare('accept'));
    await world.finish();
    return at;
  },
  'data that the plugin refuses': (world) => answered(world, 'installData', 'invalid'),
  'data that cannot be installed': (world) => answered(world, 'installData', 'script-error'),
  'a missing dependency': (world) => answered(world, 'installData', 'missing-dependency'),
  'metadata that the plugin refuses': (world) => answered(world, 'installMeta', 'invalid'),
  'metadata that cannot be installed': (world) => answered(world, 'installMeta', 'script-error'),
  'an invalid import': (world) => answered(world, 'import', 'invalid'),
  'a failed import': (world) => answered(world, 'import', 'script-error'),
  'an import that was given up': (world) => answered(world, 'import', 'server-error'),
  'installs that were given up': (world) => answered(world, 'installData', 'server-error'),
  'a type without plugin': (world) => finished(world, { metadata: { type: { name: 'biom', version: '2.0' } } }),
  'a rejected upload': (world) => finished(world, { files: { 'genes.csv': 'a,b\n' } }),
  'a failed upload': async (world) => {
    const at = await world.accept();
    await world.store.remove([fileKey(at, 'raw', 'genes.txt')], never);
    await world.finish();
    return at;
  },
  'a deleted dataset': async (world) => {
    const at = await finished(world);
    await put(world, objectKey(at, 'delete-flag'));
    await world.finish();
    return at;
  },
  'a dataset that was deleted before its import': async (world) => {
    const at = await world.before('import');
    await put(world, objectKey(at, 'delete-flag'));
    await world.finish();
    return at;
  },
  'a deletion that was taken back': async (world) => {
    const at = await states['a deleted dataset']?.(world);
    if (!at) throw new Error('no dataset');
    await world.store.remove([objectKey(at, 'delete-flag')], never);
    await world.finish();
    return at;
  },
  'a superseded dataset': async (world) => (await twoRevisions(world)).older,
  'the successor of a superseded dataset': async (world) => (await twoRevisions(world)).newer,
  'a superseded dataset that was deleted with its successor': async (world) => {
    const { older, newer } = await twoRevisions(world);
    await put(world, objectKey(newer, 'delete-flag'));
    await world.finish();
    return older;
  },
  'a superseded dataset whose successor is live again': async (world) => {
    const { older, newer } = await twoRevisions(world);
    await put(world, objectKey(newer, 'delete-flag'));
    await world.finish();
    await world.store.remove([objectKey(newer, 'delete-flag')], never);
    await world.finish();
    return older;
  },
  'an upload that is being received': async (world) => {
    const at = newAddress();
    await world.uploads.begin(at, 100, { bytes: 1e9 }, never);
    await put(world, fileKey(at, 'raw', 'genes.txt'), 'PF3D7');
    await put(world, objectKey(at, 'vdi-meta.json'), serializeMetadata(metadataOf(at.owner)));
    await world.finish();
    return at;
  },
  'no dataset at all': async () => newAddress(),
  'metadata that cannot be read': async (world) => {
    const at = await finished(world);
    await put(world, objectKey(at, 'vdi-meta.json'), '{');
    await world.finish();
    return at;
  },
  'metadata that are gone': async (world) => {
    const at = newAddress();
    await put(world, objectKey(at, 'import-ready.zip'), 'PK');
    await world.finish();
    return at;
  },
};

/** What goes wrong with it, unnoticed by any lane. */
const damages: Readonly<Record<string, (world: LaneWorld, at: DatasetAddress) => Promise<unknown>>> = {
  nothing: async () => undefined,
  'the cache is lost': async (world) => world.dropCache(),
  'the cache is another state': async (world, at) => apply(world, at, { set: 'state', state: 'live' }),
  'the cache takes it for deleted': async (world, at) => apply(world, at, { set: 'state', state: 'deleted' }),
  'the cache takes the upload for running': async (world, at) => apply(world, at, { set: 'upload', status: 'running' }),
  'the cache takes the import for queued': async (world, at) =>
    apply(world, at, { set: 'import', status: 'queued', messages: [] }),
  'the cache takes the import for complete': async (world, at) =>
    apply(world, at, { set: 'import', status: 'complete', messages: [] }),
  'the cache forgets why the import failed': async (world, at) =>
    apply(world, at, { set: 'import', status: 'failed', messages: [] }),
  'the cache is out of sync': async (world, at) =>
    apply(
      world,
      at,
      ...(['meta', 'data', 'shares'] as const).map(
        (part) => ({ set: 'sync', part, version: { modified: new Date(0), etag: 'x' } }) as const,
      ),
    ),
  'the mirror is wrong': async (world, at) =>
    apply(world, at, { set: 'install', target: PLASMO, kind: 'data', status: 'failed-installation', messages: ['?'] }),
  'a target has lost it': async (world, at) => world.targets.get(PLASMO)?.purge(at.dataset, tokenOf(world, at), never),
  'a target takes it for deleted': async (world, at) => {
    if (world.schema.rows.has(at.dataset))
      await world.targets.get(TOXO)?.setDeleted(at.dataset, 2, tokenOf(world, at), never);
  },
  'install-ready.zip is lost': (world, at) => world.store.remove([objectKey(at, 'install-ready.zip')], never),
  'import-ready.zip is lost': (world, at) => world.store.remove([objectKey(at, 'import-ready.zip')], never),
  'the manifest is lost': (world, at) => world.store.remove([objectKey(at, 'vdi-manifest.json')], never),
  'raw files are left': (world, at) => put(world, fileKey(at, 'raw', 'left.txt'), 'x'),
  'the flags are lost': (world, at) =>
    world.store.remove([objectKey(at, 'delete-flag'), objectKey(at, 'revised-flag')], never),
};

for (const [state, make] of Object.entries(states))
  t.test(`${state}: reconciled again nothing changes`, async (t) => {
    const scratch = t.testdir();
    for (const [damage, inflict] of Object.entries(damages)) {
      const world = new LaneWorld(scratch);
      const at = await make(world);
      const others = [...world.catalog.datasets.values()].map(({ owner, dataset }) => ({ owner, dataset }));
      if (damage === 'nothing') await changesNothing(t, world, at, 'what the lanes left');
      await inflict(world, at);
      world.event('reconciliation', at);
      for (const other of others) world.event('reconciliation', other);
      await world.finish();
      await changesNothing(t, world, at, damage);
      // Where a job was given up, the reconciler goes on asking until an administrator has it tried again.
      const given = world.jobRows().some((row) => row.endsWith('dead'));
      if (world.catalog.datasets.has(at.dataset) && !given)
        t.strictSame(await verdictsOf(world, at), [{ kind: 'in-sync' }, { kind: 'in-sync' }], `${damage}: reconciler`);
    }
  });

t.test('an upload that waits to be packed is packed first', async (t) => {
  const { world, at } = await acceptedWorld(t);
  world.event('reconciliation', at);
  t.equal(await world.process().claim('reconciliation'), undefined);
  await world.finish();
  t.equal(world.calls.filter((call) => call === 'import').length, 1);
  await changesNothing(t, world, at, 'afterwards');
});

t.test('an import under way, or delayed, is waited for', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const { process: busy, job } = await claimed(world, 'import');
  world.event('reconciliation', at);
  t.equal(await world.process().claim('reconciliation'), undefined);
  await busy.complete(job, { kind: 'retry', delayMs: 60_000, message: 'attempt 1 of 12: x', countsAttempt: true });
  t.equal(await world.process().claim('reconciliation'), undefined);
  await world.finish();
  t.equal(world.dataset(at).import.status, 'complete');
});

t.test('an import that was given up is told no better', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await answered(world, 'import', 'server-error');
  const before = await world.record(at);
  t.match(before, { import: { status: 'failed', messages: [/no/] } });
  world.event('reconciliation', at);
  await world.finish();
  t.strictSame([await world.record(at), world.jobRows()], [before, ['import dead']]);
});

t.test('an install that waits keeps its message and its attempts', async (t) => {
  const { world, at } = await worldBefore(t, 'install', ONE_TARGET);
  world.plugin.decide = () => ({ kind: 'server-error', message: 'disk full' });
  t.match(await world.run('install'), { kind: 'retry' });
  const view = async () => [await world.record(at), await world.control(at), await world.attempts(at), world.jobRows()];
  const before = await view();
  t.match(before, [
    { installs: { 'PlasmoSite data': ['queued', /attempt 1 of 3/] } },
    {},
    ['PlasmoSite data 1 started'],
  ]);
  world.event('reconciliation', at);
  t.strictSame(await world.run('reconciliation'), { kind: 'done' });
  t.strictSame(await view(), before);
  t.equal(await world.process().claim('install'), undefined, 'it is not due earlier');
});

t.test('a target that is away is waited for; the others are put right at once', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await finished(world);
  const before = [await world.record(at), await world.control(at)];
  for (const target of [PLASMO, TOXO])
    await world.targets.get(target)?.setDeleted(at.dataset, 1, tokenOf(world, at), never);
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  world.event('reconciliation', at);
  const outcome = await world.run('reconciliation');
  t.match(outcome, { kind: 'retry', message: /PlasmoSite refused/, countsAttempt: false });
  t.match(await world.control(at), { PlasmoSite: { deleted: 1 }, ToxoSite: { data: ['queued'], meta: ['queued'] } });
  away.reason = undefined;
  await world.finish();
  t.strictSame([await world.record(at), await world.control(at)], before);
});

t.test('a target that fails while it is reopened does not keep the others waiting', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO, ['setDeleted']);
  const at = await finished(world);
  for (const target of [PLASMO, TOXO])
    await world.targets.get(target)?.setDeleted(at.dataset, 1, tokenOf(world, at), never);
  away.reason = transient('PlasmoSite broke');
  world.event('reconciliation', at);
  t.match(await world.run('reconciliation'), { kind: 'retry', message: /PlasmoSite broke/, countsAttempt: true });
  t.match(await world.control(at), { PlasmoSite: { deleted: 1 }, ToxoSite: { data: ['queued'] } });
  t.same(world.jobRows(), ['install queued', 'reconciliation delayed']);
});

t.test('of several targets that fail, one that is away decides when the job comes again', async (t) => {
  const world = new LaneWorld(t.testdir());
  const broken = targetAway(world, PLASMO);
  const away = targetAway(world, TOXO);
  const at = await finished(world);
  broken.reason = defect('PlasmoSite has other tables');
  away.reason = transient('ToxoSite refused', { unreachable: true });
  world.event('reconciliation', at);
  t.match(await world.run('reconciliation'), { kind: 'retry', message: /ToxoSite refused/, countsAttempt: false });
  away.reason = undefined;
  await world.finish();
  t.same(world.jobRows(), ['reconciliation dead']);
});

t.test('a lease that is lost ends the reconciliation there and then', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO, ['state']);
  const at = await finished(world);
  world.dropCache();
  away.reason = aborted('lease lost');
  world.event('reconciliation', at);
  t.strictSame(await world.run('reconciliation'), { kind: 'requeue', crashed: false });
  t.strictSame([...world.catalog.datasets], []);
});

t.test('jobs are asked for in the name of whoever asked for the reconciliation', async (t) => {
  const { world, at } = await installedWorld(t);
  world.dropCache();
  await world.targets.get(PLASMO)?.purge(at.dataset, tokenOf(world, at), never);
  world.jobs.enqueue({ lane: 'reconciliation', ...at, eventId: 99, source: 'slim-reconciler' });
  await world.run('reconciliation');
  const asked = world.jobs.rows.map(({ lane, eventId, source }) => [lane, eventId, source]);
  t.strictSame(asked, [
    ['updateMeta', 99, 'slim-reconciler'],
    ['install', 99, 'slim-reconciler'],
  ]);
});

t.test('a missing dependency is tried again by a full run, once a day', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await answered(world, 'installData', 'missing-dependency');
  const DAY = 86_400_000;
  const installs = () => world.calls.filter((call) => call === 'installData PlasmoSite').length;
  const fullRun = async () => {
    world.jobs.enqueue({ lane: 'reconciliation', ...at, eventId: 99, source: 'full-reconciler' });
    await world.finish();
    return installs();
  };
  t.equal(await fullRun(), 1);
  await world.clock.advance(DAY);
  t.equal(await fullRun(), 2);
  t.equal(await fullRun(), 2);
  world.plugin.decide = () => undefined;
  await world.clock.advance(DAY);
  world.event('reconciliation', at);
  await world.finish();
  t.equal(installs(), 2, 'only a full run does');
  t.equal(await fullRun(), 3);
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], meta: ['complete'], shown: true } });
});

async function changesNothing(t: Test, world: LaneWorld, at: DatasetAddress, message: string): Promise<void> {
  const before = await viewOf(world, at);
  world.event('reconciliation', at);
  const outcome = await world.run('reconciliation');
  const [found, wanted] = [
    [outcome, await viewOf(world, at)],
    [{ kind: 'done' }, before],
  ];
  // Comparing with a report of the difference takes longer than the run.
  t.ok(isDeepStrictEqual(found, wanted), message) || t.strictSame(found, wanted, message);
}

/** What a slim and a full run of the reconciler think of it. */
async function verdictsOf(world: LaneWorld, at: DatasetAddress): Promise<readonly Verdict[]> {
  const stored = await storedDataset(world.store, at, never);
  const known = await new FakeDatasetIndex(world.catalog).page(undefined, 100, never);
  const indexed = known.find(({ dataset }) => dataset === at.dataset);
  const installed = new Map<TargetId, ControlState | undefined>();
  for (const [id, target] of world.targets) {
    const state = await target.state(at.dataset, never);
    installed.set(id, state.present ? state : undefined);
  }
  const context = { now: world.clock.now(), types: TYPES };
  return [false, true].map((full) => decide({ ...at, stored, indexed, installed }, { ...context, full }));
}

/** Everything that a reconciliation could change. */
async function viewOf(world: LaneWorld, at: DatasetAddress) {
  world.deliver();
  return {
    catalog: structuredClone([...world.catalog.datasets]),
    control: structuredClone([...world.schema.rows]),
    source: await world.uploads.source(at.dataset, never),
    changes: world.store.changes.length,
    keys: world.keys(at),
    calls: world.calls,
    // A dead job waits for an administrator; it only notes that it was asked for again.
    jobs: world.jobs.rows.map(({ lane, dataset, state, eventId }) => [
      lane,
      dataset,
      state,
      state === 'dead' || eventId,
    ]),
  };
}

function apply(world: LaneWorld, at: DatasetAddress, ...changes: CatalogChange[]): void {
  world.catalog.apply(at.dataset, changes);
}

const tokenOf = (world: LaneWorld, at: DatasetAddress): number => world.schema.rows.get(at.dataset)?.token ?? 0;

async function answered(
  world: LaneWorld,
  call: 'import' | 'installData' | 'installMeta',
  kind: 'invalid' | 'script-error' | 'server-error' | 'missing-dependency',
): Promise<DatasetAddress> {
  const validation = { basic: ['no gene', 'no name'], community: [] };
  world.plugin.decide = (asked) => {
    if (asked.kind !== call || asked.target === TOXO) return undefined;
    if (kind === 'invalid') return { kind, validation };
    return kind === 'missing-dependency' ? { kind, messages: ['build 68'] } : { kind, message: 'no\ngood' };
  };
  return finished(world);
}

async function finished(world: LaneWorld, upload?: Upload): Promise<DatasetAddress> {
  const at = await world.accept(upload);
  await world.finish();
  return at;
}

async function twoRevisions(world: LaneWorld): Promise<{ older: DatasetAddress; newer: DatasetAddress }> {
  const older = await finished(world);
  const newer = { owner: older.owner, dataset: revisionOf(older.dataset, 1) };
  await world.accept({ metadata: { revisionHistory: historyOf(older.dataset, newer.dataset) } }, newer);
  await world.finish();
  return { older, newer };
}

t.test('what a lane finds of an upload that is then given up is not registered', async (t) => {
  for (const lane of ['import', 'updateMeta', 'install', 'sharing', 'softDelete', 'reconciliation'] as const) {
    const world = new LaneWorld(t.testdir());
    const at = newAddress();
    await world.uploads.begin(at, 100, { bytes: 1e9 }, never);
    const flags = lane === 'softDelete' ? (['delete-flag'] as const) : [];
    const keys = (['vdi-meta.json', 'import-ready.zip', ...flags] as const).map((object) => objectKey(at, object));
    for (const key of keys)
      await put(world, key, key.endsWith('.json') ? serializeMetadata(metadataOf(at.owner)) : 'PK');
    // The lane has read the objects, and its statement reaches the database late.
    const { register } = world.catalog;
    world.catalog.register = async (...all) => {
      await world.store.remove(keys, never);
      await world.uploads.abandon(at.dataset, never);
      await register(...all);
    };
    world.event(lane, at);
    const { process, job } = await claimed(world, lane);
    t.same(await process.perform(job), { kind: 'done' }, lane);
    t.equal(world.catalog.datasets.get(at.dataset), undefined, lane);
  }
});
