// What is found when a run died in between and the next one met with other circumstances. The simulation found these.

import t from 'tap';
import { serializeMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { PLASMO } from '../support/dataset-samples.ts';
import { claimed, installedWorld, worldBefore } from '../support/lane-start.ts';
import type { LaneWorld } from '../support/lane-world.ts';
import { targetAway } from '../support/target-away.ts';

const never = new AbortController().signal;
const ONE_TARGET = { metadata: { installTargets: [PLASMO] } };
const AWAY = transient('no route to host', { unreachable: true });

/** The process of an install dies just after the target has been told that the data are there. */
async function installUnheard(world: LaneWorld): Promise<void> {
  const target = world.targets.get(PLASMO);
  if (!target) throw new Error('no target');
  const { process: dead, job } = await claimed(world, 'install');
  const { write } = target;
  target.write = async (dataset, change, token, signal) => {
    await write.call(target, dataset, change, token, signal);
    if (change.messages?.data?.status === 'complete') world.leases.kill(dead.id);
  };
  await dead.perform(job);
}

async function rename(world: LaneWorld, at: DatasetAddress, name: string): Promise<void> {
  const metadata = { ...world.dataset(at).metadata, name };
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(serializeMetadata(metadata)), {}, never);
}

t.test('metadata follow data that only their target knew of, when it was away at their update', async (t) => {
  const { world, at } = await worldBefore(t, 'install', ONE_TARGET);
  await installUnheard(world);
  const away = targetAway(world, PLASMO);
  away.reason = AWAY;
  world.event('updateMeta', at);
  t.same(await world.run('updateMeta'), { kind: 'done' });
  t.match(await world.record(at), { installs: { 'PlasmoSite data': ['running'] } });
  away.reason = undefined;
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], meta: ['complete'], shown: true } });
  t.same(await world.attempts(at), []);
});

t.test(
  'a change of the metadata is not lost on a target that was away and that the cache took for empty',
  async (t) => {
    const { world, at } = await worldBefore(t, 'install', ONE_TARGET);
    const away = targetAway(world, PLASMO);
    await world.finish();
    away.reason = AWAY;
    await rename(world, at, 'Renamed');
    world.event('install', at);
    for (const lane of ['import', 'updateMeta', 'install'] as const) await world.run(lane);
    await world.clock.advance(5_000);
    await world.run('updateMeta');
    t.same(await world.attempts(at), ['PlasmoSite data 0']);
    away.reason = undefined;
    await world.finish();
    t.match(await world.control(at), {
      PlasmoSite: { name: 'Renamed', meta: ['complete'], sync: { meta: 'current' } },
    });
  },
);

t.test('an archive put again by an import without its lease is the one that the cache knows', async (t) => {
  const { world, at } = await installedWorld(t, ONE_TARGET);
  const key = objectKey(at, 'install-ready.zip');
  const opened = await world.store.get(key, undefined, never);
  t.ok(opened);
  if (opened) await world.store.put(key, opened.body, {}, never);
  t.match(await world.record(at), { sync: { data: 'stale' } });
  await world.finish();
  t.match(await world.record(at), { sync: { data: 'current' } });
});

t.test('an import that died between its last failure and its end ends as a dead job all the same', async (t) => {
  const { world, at } = await worldBefore(t, 'import', ONE_TARGET);
  world.plugin.decide = () => ({ kind: 'server-error', message: 'out of memory' });
  const process = world.process();
  for (let attempts = 0; attempts < 2; attempts++) {
    await world.run('import', process);
    await world.clock.advance(600_000);
  }
  const job = await process.claim('import');
  t.match(job, { attempts: 2 });
  if (job) t.match(await process.perform(job), { kind: 'dead' });
  t.match(await world.record(at), { import: { status: 'failed' } });
  world.leases.kill(process.id);
  await world.finish();
  t.same(world.jobRows(), ['import dead']);
  t.match(await world.record(at), { import: { status: 'failed', messages: ['plugin genes: out of memory'] } });
});
