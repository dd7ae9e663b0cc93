import t, { type Test } from 'tap';
import { SecondChance } from '../../../actors/daemons/second-chance.ts';
import type { DatasetAddress } from '../../../engine/model/object-key.ts';
import type { InstallReply } from '../../../engine/ports/plugin-client.ts';
import { aborted, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { FakeLeases } from '../../fakes/fake-leases.ts';
import type { FakePluginCall } from '../../fakes/fake-plugin-client.ts';
import { FakeProblems } from '../../fakes/fake-problems.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const NOTE = { by: 'user 42', reason: 'of no use' };
const ALL = { filter: {}, limit: 1_000 };
const broken: InstallReply = { kind: 'script-error', message: 'exit code 1' };
const dataFail = ({ kind }: FakePluginCall): InstallReply | undefined => (kind === 'installData' ? broken : undefined);

function open(t: Test) {
  const world = new LaneWorld(t.testdir());
  const problems = new FakeProblems(world.jobs, world.catalog);
  const process = world.process();
  let events = 1_000;
  const chances = new SecondChance({
    ...{ catalog: world.catalog, targets: world.targets, clock: world.clock, log: silentLogger() },
    jobs: process.jobs,
    jobAdmin: new FakeJobAdmin(world.jobs, world.catalog),
    leases: new FakeLeases(world.leases, process.id),
    events: { nextEventId: async () => ++events },
    problems,
  });
  const failing = async (decide: (call: FakePluginCall) => InstallReply | undefined): Promise<DatasetAddress> => {
    world.plugin.decide = decide;
    const at = await world.accept();
    await world.finish();
    world.plugin.decide = () => undefined;
    return at;
  };
  const ids = async () => (await problems.page({}, { limit: 100 }, never)).problems.map(({ id }) => id).sort();
  return { world, problems, chances, failing, ids };
}

t.test('installs are retried on their targets, one kind and one target at a time if that is asked for', async (t) => {
  const { world, chances, failing, ids } = open(t);
  const { dataset } = await failing(dataFail);
  const [plasmo, toxo] = [PLASMO, TOXO].map((id) => `install:${dataset}:${id}`) as [string, string];
  t.strictSame(await ids(), [plasmo, toxo].sort());
  const one = await chances.retry({ filter: { ids: [plasmo] }, limit: 10 }, never);
  t.strictSame(one, { lanes: [{ lane: 'install', problems: 1, done: 1, skipped: {} }], next: undefined });
  t.strictSame(await ids(), [toxo]);
  await world.finish();
  t.match((await world.targets.get(PLASMO)?.state(dataset, never))?.messages.data, { status: 'complete' });
  t.match((await world.targets.get(TOXO)?.state(dataset, never))?.messages.data, { status: 'failed-installation' });
  t.match(await chances.retry(ALL, never), { lanes: [{ lane: 'install', problems: 1, done: 1 }] });
  await world.finish();
  t.match((await world.targets.get(TOXO)?.state(dataset, never))?.messages.data, { status: 'complete' });
  t.strictSame(await ids(), []);
});

t.test('metadata and data of one dataset are told apart', async (t) => {
  const { world, chances, failing, ids } = open(t);
  const { dataset } = await failing(({ kind, target }) => {
    if (kind === 'installMeta' && target === PLASMO) return broken;
    return kind === 'installData' && target === TOXO ? broken : undefined;
  });
  t.strictSame(await ids(), [`install:${dataset}:${TOXO}`, `updateMeta:${dataset}:${PLASMO}`]);
  const report = await chances.retry({ filter: { lane: 'updateMeta' }, limit: 10 }, never);
  t.strictSame(report.lanes, [{ lane: 'updateMeta', problems: 1, done: 1, skipped: {} }]);
  await world.finish();
  t.strictSame(await ids(), [`install:${dataset}:${TOXO}`]);
});

t.test('what cannot be retried is left alone, with the reason', async (t) => {
  const { world, chances, failing, ids } = open(t);
  const { dataset } = await failing(dataFail);
  const before = await ids();
  const lease = world.leases.take(dataset, 7);
  t.strictSame((await chances.retry(ALL, never)).lanes, [
    { lane: 'install', problems: 2, done: 0, skipped: { busy: 2 } },
  ]);
  if (lease) world.leases.release(lease, 7);
  targetAway(world, TOXO).reason = transient('the site is away');
  t.strictSame((await chances.retry(ALL, never)).lanes, [
    { lane: 'install', problems: 2, done: 1, skipped: { 'target-away': 1 } },
  ]);
  t.strictSame(await ids(), [before.find((id) => id.endsWith(TOXO))]);
});

t.test('a dataset that cannot be dealt with does not stop the others, but an abort does', async (t) => {
  const { world, chances, failing } = open(t);
  const first = await failing(dataFail);
  await failing(dataFail);
  const { find } = world.catalog;
  world.catalog.find = async (dataset, signal) => {
    if (dataset === first.dataset) throw transient('the database is away');
    return find(dataset, signal);
  };
  t.strictSame((await chances.retry(ALL, never)).lanes, [
    { lane: 'install', problems: 4, done: 2, skipped: { error: 2 } },
  ]);
  world.catalog.find = async () => {
    throw aborted('shutting down');
  };
  await t.rejects(chances.retry(ALL, never), { message: 'shutting down' });
});

t.test('what an operator has discarded is not repeated by a full run', async (t) => {
  const { world, chances, failing, ids } = open(t);
  const at = await failing(dataFail);
  t.match(await chances.discard(ALL, NOTE, never), { lanes: [{ lane: 'install', problems: 2, done: 2 }] });
  t.strictSame(await ids(), []);
  const calls = world.calls.length;
  world.jobs.enqueue({ lane: 'reconciliation', ...at, eventId: 99, source: 'full-reconciler' });
  await world.finish();
  t.strictSame(world.calls.slice(calls), []);
  t.strictSame(await ids(), []);
});

t.test('an order takes batches up to its limit, and says where the next one begins', async (t) => {
  const { chances, failing, ids } = open(t);
  for (let i = 0; i < 3; i++)
    await failing(({ kind }) => (kind === 'import' ? broken : undefined) as InstallReply | undefined);
  t.equal((await ids()).length, 3);
  const first = await chances.discard({ filter: {}, limit: 2 }, NOTE, never);
  t.match(first, { lanes: [{ lane: 'import', problems: 2, done: 2 }] });
  t.ok(first.next);
  const second = await chances.discard(
    { filter: {}, limit: 2, ...(first.next ? { after: first.next } : {}) },
    NOTE,
    never,
  );
  t.match(second, { lanes: [{ lane: 'import', problems: 1, done: 1 }], next: undefined });
  t.strictSame(await ids(), []);
});
