import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { TargetId, UserId } from '../../../engine/model/ids.ts';
import { serializeMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey, SHARE_OBJECTS, shareKey } from '../../../engine/model/object-key.ts';
import type { StoredShare } from '../../../engine/ports/catalog.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { createLogger } from '../../../engine/runtime/log.ts';
import { metadataOf, newAddress, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { FaultGate } from '../../support/fault-gate.ts';
import { claimed, installedWorld } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const [ANN, BOB, CAY] = ['71', '72', '73'] as [UserId, UserId, UserId];
const GRANTED = { offer: 'grant', receipt: 'accept' } as const;
const SHOWN = {
  data: ['complete'],
  meta: ['complete'],
  shown: true,
  name: 'Genes of interest',
  sync: { data: 'current', meta: 'current' },
};
const SYNCED = { ...SHOWN, sync: { ...SHOWN.sync, shares: 'current' } };
/** Both targets, when that is who sees the dataset besides its owner. */
const seenBy = (...users: UserId[]): object => {
  const view = users.length === 0 ? SYNCED : { ...SYNCED, visibleTo: users };
  return { PlasmoSite: view, ToxoSite: view };
};

/** What the site's readers of both databases know of the shares. */
async function sharing(world: LaneWorld, at: DatasetAddress): Promise<readonly unknown[]> {
  const { shares, sync } = (await world.record(at)) as { shares?: unknown; sync: { shares?: unknown } };
  return [shares, sync.shares, await world.control(at)];
}

t.test('a share that is offered and accepted shows the dataset to its recipient on every target', async (t) => {
  const { world, at } = await installedWorld(t);
  const before = await world.record(at);
  await world.share(at, { recipient: ANN, ...GRANTED });
  t.same(await world.run('sharing'), { kind: 'done' });
  t.same(await world.control(at), seenBy(ANN));
  t.same(await world.record(at), {
    ...before,
    shares: { [ANN]: 'grant accept' },
    sync: { meta: 'current', data: 'current', shares: 'current' },
  });
  t.same(world.jobRows(), []);
  t.equal(world.calls.length, 5, 'no plugin is asked');
});

t.test('both words are needed, and each can be taken back', async (t) => {
  const { world, at } = await installedWorld(t);
  const steps: readonly (readonly [Omit<StoredShare, 'recipient'>, string, UserId[]])[] = [
    [{ offer: 'grant' }, 'grant -', []],
    [{ receipt: 'accept' }, 'grant accept', [ANN]],
    [{ receipt: 'reject' }, 'grant reject', []],
    [{ receipt: 'accept' }, 'grant accept', [ANN]],
    [{ offer: 'revoke' }, 'revoke accept', []],
    [{ offer: 'grant' }, 'grant accept', [ANN]],
  ];
  for (const [words, known, visible] of steps) {
    await world.share(at, { recipient: ANN, ...words });
    await world.finish();
    t.same(await sharing(world, at), [{ [ANN]: known }, 'current', seenBy(...visible)], known);
  }
});

t.test('a receipt without an offer shows nobody anything', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, receipt: 'accept' });
  await world.finish();
  t.same(await sharing(world, at), [{ [ANN]: '- accept' }, 'current', seenBy()]);
});

t.test('a document that is removed is no longer said', async (t) => {
  const { world, at } = await installedWorld(t);
  const before = [await world.record(at), await world.control(at)];
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.share(at, { recipient: BOB, ...GRANTED });
  await world.finish();
  t.same(await world.control(at), seenBy(ANN, BOB));
  await world.store.remove([shareKey(at, ANN, 'share-receipt.json')], never);
  await world.finish();
  t.same(await sharing(world, at), [{ [ANN]: 'grant -', [BOB]: 'grant accept' }, 'current', seenBy(BOB)]);
  const all = [ANN, BOB].flatMap((user) => SHARE_OBJECTS.map((object) => shareKey(at, user, object)));
  await world.store.remove(all, never);
  await world.finish();
  t.same([await world.record(at), await world.control(at)], before);
});

t.test('what is in sync is neither read nor written', async (t) => {
  const { world, at } = await installedWorld(t);
  const other = await world.accept();
  await world.finish();
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  for (const dataset of [at, other]) {
    const gate = new FaultGate();
    world.event('sharing', dataset);
    t.same(await world.run('sharing', world.process(gate)), { kind: 'done' });
    t.same(gate.calls, ['catalog.findWithAttempts', 'store.list', 'PlasmoSite.state', 'ToxoSite.state']);
  }
});

t.test('a target that is away is written when it is back, and holds up no other', async (t) => {
  const { world, at } = await installedWorld(t);
  const away = failing(world, PLASMO, 'state', transient('PlasmoSite refused', { unreachable: true }));
  await world.share(at, { recipient: ANN, ...GRANTED });
  t.same(await world.run('sharing'), {
    kind: 'retry',
    delayMs: 1_000,
    message: 'attempt 1 of 12: PlasmoSite refused',
    countsAttempt: false,
  });
  const behind = { ...SYNCED, sync: { ...SYNCED.sync, shares: 'none' }, visibleTo: [ANN] };
  const reached = { ...SYNCED, visibleTo: [ANN] };
  t.same(await sharing(world, at), [{ [ANN]: 'grant accept' }, 'current', { PlasmoSite: behind, ToxoSite: reached }]);
  away.end();
  const gate = new FaultGate();
  await world.clock.advanceToNext();
  t.same(await world.run('sharing', world.process(gate)), { kind: 'done' });
  t.same(await world.control(at), seenBy(ANN));
  const writes = gate.calls.filter((call) => /write/.test(call));
  t.same(writes, ['PlasmoSite.writeVisibility'], 'what was written is not written again');
});

t.test('a target that answers with a failure uses up attempts, and the job is given up with its reason', async (t) => {
  const { world, at } = await installedWorld(t);
  failing(world, PLASMO, 'writeVisibility', transient('deadlock'));
  await world.share(at, { recipient: ANN, ...GRANTED });
  t.match(await world.run('sharing'), { kind: 'retry', countsAttempt: true });
  const before = await world.record(at);
  await world.finish();
  t.match(world.jobs.get('sharing', at.dataset), {
    state: 'dead',
    attempts: 12,
    failure: { kind: 'transient', message: 'deadlock' },
  });
  t.same(await world.record(at), before, 'sharing has no status: the cache says what the store says');
});

t.test('of several failures the one counts that brings the job back', async (t) => {
  const refused = transient('refused', { unreachable: true });
  const pairs = [
    [defect('no such column'), refused, { kind: 'retry', countsAttempt: false }],
    [transient('deadlock'), refused, { kind: 'retry', countsAttempt: false }],
    [defect('no such column'), transient('deadlock'), { kind: 'retry', countsAttempt: true }],
    [refused, aborted('lease lost'), { kind: 'requeue', crashed: false }],
  ] as const;
  for (const [one, other, outcome] of pairs)
    for (const [plasmo, toxo] of [
      [one, other],
      [other, one],
    ] as const) {
      const { world, at } = await installedWorld(t);
      failing(world, PLASMO, 'state', plasmo);
      failing(world, TOXO, 'state', toxo);
      await world.share(at, { recipient: ANN, ...GRANTED });
      t.match(await world.run('sharing'), outcome, `${plasmo.message}, ${toxo.message}`);
    }
});

t.test('first rows that are written after a share was accepted are shared', async (t) => {
  const world = new LaneWorld(t.testdir());
  world.plugin.decide = ({ kind }) => (kind === 'import' ? { kind: 'script-error', message: 'no' } : undefined);
  const at = await world.accept();
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  t.same(await sharing(world, at), [{ [ANN]: 'grant accept' }, 'current', {}], 'there are no rows yet');
  world.plugin.decide = () => undefined;
  world.catalog.datasets.set(at.dataset, { ...world.dataset(at), import: { status: 'complete', messages: [] } });
  world.event('updateMeta', at);
  await world.run('updateMeta');
  t.match(world.jobs.get('sharing', at.dataset), { state: 'queued', source: 'update-meta-lane' });
  t.match(await world.control(at), { PlasmoSite: { sync: { shares: 'none' } }, ToxoSite: { shown: false } });
  await world.run('sharing');
  t.match(await world.control(at), {
    PlasmoSite: { visibleTo: [ANN], sync: { shares: 'current' }, shown: false },
    ToxoSite: { visibleTo: [ANN], sync: { shares: 'current' }, shown: false },
  });
});

t.test('rows that an install writes anew are shared', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  for (const target of world.targets.values()) await target.purge(at.dataset, token, never);
  world.plugin.installed.clear();
  world.event('install', at);
  await world.run('install');
  t.match(world.jobs.get('sharing', at.dataset), { state: 'queued', source: 'install-data-lane' });
  await world.finish();
  t.same(await world.control(at), seenBy(ANN));
});

t.test('metadata and installs ask for no sharing where the targets reflect the shares', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  for (const lane of ['updateMeta', 'install'] as const) {
    world.event(lane, at);
    await world.run(lane);
    t.same(world.jobRows(), []);
  }
});

t.test('a malformed document counts as not said, is told of once, and spoils no other', async (t) => {
  const { world, at } = await installedWorld(t);
  const file = join(t.testdir(), 'log');
  world.settings.log = createLogger({ level: 'warn', to: { file } });
  const bad: readonly (readonly [string, string, string])[] = [
    ['81', 'no json', 'not JSON'],
    ['82', '{"action":"give"}', "'action' must be one of grant, revoke"],
    ['83', `{"action":"grant"}${' '.repeat(65_536)}`, '65554 bytes; the maximum is 65536'],
    ['84', '[['.repeat(32_000), 'not JSON'],
    ['85', 'null', "'action' must be one of grant, revoke"],
    ['86', '', 'not JSON'],
  ];
  for (const [user, text] of bad) {
    await world.share(at, { recipient: user as UserId, receipt: 'accept' });
    await world.store.put(shareKey(at, user as UserId, 'share-offer.json'), Buffer.from(text), {}, never);
  }
  await world.share(at, { recipient: ANN, ...GRANTED });
  // The largest that is read.
  const padded = Buffer.from('{"action":"revoke"}'.padEnd(65_536));
  await world.store.put(shareKey(at, BOB, 'share-offer.json'), padded, {}, never);
  t.same(await world.run('sharing'), { kind: 'done' });
  const said = Object.fromEntries(bad.map(([user]) => [user, '- accept']));
  t.same(await sharing(world, at), [{ ...said, [ANN]: 'grant accept', [BOB]: 'revoke -' }, 'current', seenBy(ANN)]);
  world.event('sharing', at);
  await world.finish();
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  const told = lines.map((line) => JSON.parse(line) as { readonly [field: string]: unknown });
  t.same(
    told
      .map(({ lane, dataset, err, msg }) => ({ lane, dataset, err, msg }))
      .toSorted((a, b) => (String(a.err) < String(b.err) ? -1 : 1)),
    bad.map(([user, , why]) => ({
      lane: 'sharing',
      dataset: at.dataset,
      err: `${shareKey(at, user as UserId, 'share-offer.json')}: ${why}`,
      msg: 'a malformed share document was skipped',
    })),
  );
});

t.test('a document that cannot be read now is not taken for one that says nothing', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  await world.share(at, { recipient: BOB, ...GRANTED });
  const { onCall } = world.store;
  world.store.onCall = (method) => {
    if (method === 'get') throw transient('the store is slow');
  };
  t.match(await world.run('sharing'), { kind: 'retry', message: 'attempt 1 of 12: the store is slow' });
  t.match(await world.record(at), { shares: { [ANN]: 'grant accept' }, sync: { shares: 'stale' } });
  world.store.onCall = onCall;
  await world.finish();
  t.same(await world.control(at), seenBy(ANN, BOB));
});

t.test('nothing is shared of a dataset that is deleted', async (t) => {
  for (const state of ['deleting', 'deleted', 'pruning'] as const) {
    const { world, at } = await installedWorld(t);
    world.catalog.datasets.set(at.dataset, { ...world.dataset(at), state });
    await world.share(at, { recipient: ANN, ...GRANTED });
    const gate = new FaultGate();
    t.same(await world.run('sharing', world.process(gate)), { kind: 'done' });
    t.same([gate.calls, world.dataset(at).shares], [['catalog.findWithAttempts'], []], state);
  }
});

t.test('documents that go with their dataset make no work', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  await world.store.remove(
    world.keys(at).map((key) => `${at.owner}/${at.dataset}/${key}`),
    never,
  );
  world.catalog.datasets.delete(at.dataset);
  t.same(await world.run('sharing'), { kind: 'done' });
  t.equal(world.catalog.datasets.has(at.dataset), false);
});

t.test('a superseded dataset is shared in the cache alone', async (t) => {
  const { world, at } = await installedWorld(t);
  world.catalog.datasets.set(at.dataset, { ...world.dataset(at), state: 'superseded' });
  await world.share(at, { recipient: ANN, ...GRANTED });
  t.same(await world.run('sharing'), { kind: 'done' });
  const untouched = { ...SHOWN, sync: { ...SHOWN.sync, shares: 'none' } };
  t.same(await sharing(world, at), [
    { [ANN]: 'grant accept' },
    'current',
    { PlasmoSite: untouched, ToxoSite: untouched },
  ]);
});

t.test('a target that is disabled, or where the dataset is deleted, is passed over', async (t) => {
  const { world, at } = await installedWorld(t);
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  const toxo = world.targets.get(TOXO);
  await toxo?.setDeleted(at.dataset, 1, token, never);
  world.targets.delete(PLASMO);
  await world.share(at, { recipient: ANN, ...GRANTED });
  t.same(await world.run('sharing'), { kind: 'done' });
  const untouched = { ...SHOWN, sync: { ...SHOWN.sync, shares: 'none' } };
  t.same(await world.control(at), { PlasmoSite: untouched, ToxoSite: { ...untouched, deleted: 1 } });
});

t.test('a revocation works without the plugin of the type', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.finish();
  const known = world.dataset(at);
  const metadata = { ...known.metadata, type: { name: 'retired', version: '1.0' } };
  world.catalog.datasets.set(at.dataset, { ...known, metadata });
  await world.share(at, { recipient: ANN, offer: 'revoke' });
  t.same(await world.run('sharing'), { kind: 'done' });
  t.same(await sharing(world, at), [{ [ANN]: 'revoke accept' }, 'current', seenBy()]);
});

t.test('a dataset that the cache does not know is registered and shared, one without metadata is not', async (t) => {
  const world = new LaneWorld(t.testdir());
  for (const known of [true, false]) {
    const at = newAddress();
    await world.store.put(objectKey(at, 'import-ready.zip'), Buffer.from('zip'), {}, never);
    const metadata = Buffer.from(serializeMetadata(metadataOf(at.owner)));
    if (known) await world.store.put(objectKey(at, 'vdi-meta.json'), metadata, {}, never);
    await world.share(at, { recipient: ANN, ...GRANTED });
    for (const row of world.jobs.rows) world.jobs.remove(row);
    world.deliver();
    for (const row of world.jobs.rows) if (row.lane !== 'sharing') world.jobs.remove(row);
    t.same(await world.run('sharing'), { kind: 'done' });
    t.equal(world.catalog.datasets.has(at.dataset), known);
    if (known) t.same(await sharing(world, at), [{ [ANN]: 'grant accept' }, 'current', {}]);
  }
});

t.test('owners do not share with themselves', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: at.owner, ...GRANTED });
  await world.share(at, { recipient: at.owner, offer: 'revoke' });
  await world.finish();
  t.same(await sharing(world, at), [undefined, 'current', seenBy()]);
  t.same([...(world.schema.rows.get(at.dataset)?.visibleTo ?? [])], [at.owner]);
});

t.test('a dataset is shared with a thousand recipients', async (t) => {
  const { world, at } = await installedWorld(t);
  const users = Array.from({ length: 1_000 }, (_, i) => `${10_000 + i}` as UserId);
  for (const [i, recipient] of users.entries())
    await world.share(at, { recipient, offer: i % 10 === 0 ? 'revoke' : 'grant', receipt: 'accept' });
  const gate = new FaultGate();
  t.same(await world.run('sharing', world.process(gate)), { kind: 'done' });
  t.same(await world.control(at), seenBy(...users.filter((_, i) => i % 10 > 0)));
  t.equal(world.dataset(at).shares.length, 1_000);
  t.equal(gate.calls.filter((call) => call === 'store.get').length, 2_000, 'each document is read once');
});

t.test('words that change while they are read are shared by the next run', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  await world.share(at, { recipient: CAY, ...GRANTED });
  const get = world.store.get.bind(world.store);
  let changed: Promise<void> | undefined;
  world.store.get = async (...args) => {
    changed ??= world.share(at, { recipient: ANN, offer: 'revoke' });
    await changed;
    return get(...args);
  };
  t.same(await world.run('sharing'), { kind: 'done' });
  t.match(await world.record(at), { shares: { [ANN]: 'revoke accept' }, sync: { shares: 'stale' } });
  await world.finish();
  t.same(await sharing(world, at), [{ [ANN]: 'revoke accept', [CAY]: 'grant accept' }, 'current', seenBy(CAY)]);
});

t.test('a run whose lease was taken over writes nothing more and is given back', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.share(at, { recipient: ANN, ...GRANTED });
  world.deliver();
  const { process, job } = await claimed(world, 'sharing');
  world.leases.release(job.lease, process.id);
  t.same(await process.perform(job), { kind: 'requeue', crashed: false });
  t.same(world.dataset(at).shares, []);
  t.match(await world.control(at), { PlasmoSite: { sync: { shares: 'none' } } });
});

/** Has one method of the target fail until `end`. */
function failing(
  world: LaneWorld,
  id: TargetId,
  method: 'state' | 'writeVisibility',
  reason: Error,
): { end: () => void } {
  const away = targetAway(world, id, [method]);
  away.reason = reason;
  return {
    end() {
      away.reason = undefined;
    },
  };
}
