// Two targets on one data schema: the plugin writes one dataset's rows once and refuses to write them twice. What the
// plugin's rows look like is kept by the fake (`rows`, `doubled`); files and statuses are each target's own.

import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import type { TargetId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import type { FakeOutcome, FakePluginCall } from '../../fakes/fake-plugin-client.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const BOTH = [PLASMO, TOXO] as const;

const sharedWorld = (t: Test): LaneWorld => new LaneWorld(t.testdir(), { sharesData: true });

/** How it stands: rows, targets with files, and what each target says of the data. */
async function stand(world: LaneWorld, at: DatasetAddress) {
  const states = await Promise.all(BOTH.map((id) => world.state(at, id)));
  return {
    rows: [...world.plugin.rows],
    doubled: world.plugin.doubled,
    files: [...world.plugin.installed.keys()].map((place) => place.split('/')[0]).sort(),
    data: states.map(({ messages, deletedStatus }) => `${messages.data?.status} ${deletedStatus}`),
  };
}

const everywhere = ({ dataset }: DatasetAddress) => ({
  rows: [`shared/${dataset}`],
  doubled: [],
  files: [PLASMO, TOXO],
  data: ['complete 0', 'complete 0'],
});

const nowhere = { rows: [], doubled: [], files: [], data: ['complete 1', 'complete 1'] };

async function remove(world: LaneWorld, at: DatasetAddress): Promise<void> {
  await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
  await world.finish();
}

async function reinstall(world: LaneWorld, at: DatasetAddress, ...targets: readonly TargetId[]): Promise<void> {
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  for (const id of targets)
    await world.targets
      .get(id)
      ?.write(at.dataset, { messages: { data: { status: 'ready-for-reinstall' } } }, token, never);
  world.event('install', at);
  await world.finish();
}

/** The calls since, without those of the import. */
const callsFrom = (world: LaneWorld, first: number): readonly string[] => world.calls.slice(first);

const failing =
  (...targets: readonly TargetId[]) =>
  ({ kind, target }: FakePluginCall): FakeOutcome | undefined =>
    kind === 'installData' && targets.some((id) => id === target)
      ? { kind: 'script-error', message: 'exit code 1' }
      : undefined;

t.test('rows are written for the first target alone; the second gets files, what was said, and metadata', async (t) => {
  const world = sharedWorld(t);
  world.plugin.decide = ({ kind }) =>
    kind === 'installData' ? { kind: 'success', validation: { basic: ['odd'], community: ['very'] } } : undefined;
  const at = await world.accept();
  await world.finish();
  t.strictSame(await stand(world, at), everywhere(at));
  t.match(await world.control(at), {
    PlasmoSite: { data: ['complete', 'odd\nvery'], meta: ['complete'], shown: true },
    ToxoSite: { data: ['complete', 'odd\nvery'], meta: ['complete'], shown: true },
  });
  t.same(callsFrom(world, 1), [
    'installData PlasmoSite',
    'installFiles ToxoSite',
    'installMeta PlasmoSite',
    'installMeta ToxoSite',
  ]);
});

t.test('a deletion takes files from the first target and the rows with the last', async (t) => {
  const world = sharedWorld(t);
  const at = await world.accept();
  await world.finish();
  const first = world.calls.length;
  await remove(world, at);
  t.strictSame(await stand(world, at), nowhere);
  t.same(callsFrom(world, first), ['uninstallFiles PlasmoSite', 'uninstall ToxoSite']);
});

t.test('a deletion that one target holds up leaves it the rows, until it lets go', async (t) => {
  const world = sharedWorld(t);
  const at = await world.accept();
  await world.finish();
  world.plugin.decide = ({ kind }) => {
    if (kind === 'uninstall') throw transient('plugin busy');
    return undefined;
  };
  await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
  await world.run('softDelete');
  t.strictSame(await stand(world, at), {
    ...everywhere(at),
    files: [TOXO],
    data: ['complete 1', 'complete 2'],
  });
  world.plugin.decide = () => undefined;
  await world.finish();
  t.strictSame(await stand(world, at), nowhere);
});

t.test(
  'a target of the group that does not answer holds up an install and a deletion, and loses nothing',
  async (t) => {
    const world = sharedWorld(t);
    const away = targetAway(world, TOXO);
    const at = await world.before('install');
    away.reason = transient('ToxoSite refused', { unreachable: true });
    await world.run('install');
    t.strictSame([...world.plugin.rows], [], 'it may have the rows');
    away.reason = undefined;
    await world.finish();
    t.strictSame(await stand(world, at), everywhere(at));
    away.reason = transient('ToxoSite refused', { unreachable: true });
    await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
    await world.run('softDelete');
    away.reason = undefined;
    t.strictSame(await stand(world, at), { ...everywhere(at), data: ['complete 2', 'complete 0'] });
    await world.finish();
    t.strictSame(await stand(world, at), nowhere);
  },
);

t.test('where the install failed on one target, the other begins with an uninstall there', async (t) => {
  const world = sharedWorld(t);
  world.plugin.decide = failing(PLASMO);
  const at = await world.accept();
  await world.finish();
  t.strictSame(await stand(world, at), {
    ...everywhere(at),
    files: [TOXO],
    data: ['failed-installation 0', 'complete 0'],
  });
  t.same(callsFrom(world, 1), [
    'installData PlasmoSite',
    'uninstall PlasmoSite',
    'installData ToxoSite',
    'installMeta ToxoSite',
  ]);
  world.plugin.decide = () => undefined;
  const first = world.calls.length;
  await reinstall(world, at, PLASMO);
  t.strictSame(await stand(world, at), everywhere(at), 'tried again, it shares what the other has');
  t.same(callsFrom(world, first), ['uninstallFiles PlasmoSite', 'installFiles PlasmoSite', 'installMeta PlasmoSite']);
});

t.test('where it failed on both, each said so for itself, and a deletion leaves nothing', async (t) => {
  const world = sharedWorld(t);
  world.plugin.decide = failing(PLASMO, TOXO);
  const at = await world.accept();
  await world.finish();
  t.same((await stand(world, at)).data, ['failed-installation 0', 'failed-installation 0']);
  t.strictSame(world.plugin.doubled, []);
  world.plugin.decide = () => undefined;
  await remove(world, at);
  t.strictSame(await stand(world, at), { ...nowhere, data: ['failed-installation 1', 'failed-installation 1'] });
  t.strictSame([...world.plugin.left], []);
});

t.test('dependencies are looked at for each target', async (t) => {
  const world = sharedWorld(t);
  world.plugin.decide = ({ kind, target }) =>
    kind === 'installFiles' && target === TOXO ? { kind: 'missing-dependency', messages: ['build 68'] } : undefined;
  const at = await world.accept();
  await world.finish();
  t.strictSame(await stand(world, at), {
    ...everywhere(at),
    files: [PLASMO],
    data: ['complete 0', 'missing-dependency 0'],
  });
  await remove(world, at);
  t.same((await stand(world, at)).rows, []);
});

t.test('a repeated install of one target leaves the rows alone, one of both writes them anew', async (t) => {
  const world = sharedWorld(t);
  const at = await world.accept();
  await world.finish();
  let first = world.calls.length;
  await reinstall(world, at, PLASMO);
  t.strictSame(await stand(world, at), everywhere(at));
  t.same(callsFrom(world, first), ['uninstallFiles PlasmoSite', 'installFiles PlasmoSite', 'installMeta PlasmoSite']);
  first = world.calls.length;
  await reinstall(world, at, PLASMO, TOXO);
  t.strictSame(await stand(world, at), everywhere(at));
  t.same(callsFrom(world, first), [
    'uninstall ToxoSite',
    'uninstall PlasmoSite',
    'installData PlasmoSite',
    'uninstallFiles ToxoSite',
    'installFiles ToxoSite',
    'installMeta PlasmoSite',
    'installMeta ToxoSite',
  ]);
});

t.test('an older version that a neighbour has is due again before its rows go', async (t) => {
  const world = sharedWorld(t);
  const at = await world.accept();
  await world.finish();
  const key = objectKey(at, 'install-ready.zip');
  const archive = await world.store.get(key, undefined, never);
  await world.clock.advance(1_000);
  await world.store.put(key, archive ? await buffer(archive.body) : Buffer.alloc(0), {}, never);
  let seen: string | undefined;
  world.plugin.decide = async ({ kind, target }) => {
    if (kind === 'uninstall' && target === TOXO) seen = (await world.state(at, TOXO)).messages.data?.status;
    return undefined;
  };
  world.event('install', at);
  await world.finish();
  t.equal(seen, 'queued');
  t.strictSame(await stand(world, at), everywhere(at));
  t.match(await world.control(at), { PlasmoSite: { shown: true }, ToxoSite: { shown: true } });
});

t.test('a cache that is lost changes nothing: who has the rows is told by the targets', async (t) => {
  const world = sharedWorld(t);
  const at = await world.accept();
  await world.finish();
  const first = world.calls.length;
  world.dropCache();
  world.event('reconciliation', at);
  await world.finish();
  t.same(callsFrom(world, first), []);
  await remove(world, at);
  t.strictSame(await stand(world, at), nowhere);
});

t.test('a target that joins later gets files, one that leaves the data schema leaves the rows', async (t) => {
  const world = sharedWorld(t);
  const at = await world.accept({ metadata: { installTargets: [PLASMO] } });
  await world.finish();
  const stored = { ...world.dataset(at).metadata, installTargets: [...BOTH] };
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(JSON.stringify(stored)), {}, never);
  await world.finish();
  world.event('reconciliation', at);
  await world.finish();
  t.strictSame(await stand(world, at), everywhere(at));
  // As after a change of PlasmoSite's dataDb: its own schema is another, empty one.
  world.plugin.schemaOf = (target) => (target === PLASMO ? 'elsewhere' : 'shared');
  const plasmo = world.targets.get(PLASMO);
  if (plasmo) Object.defineProperty(plasmo, 'dataSchema', { value: 'elsewhere' });
  await remove(world, at);
  t.strictSame(await stand(world, at), nowhere);
});
