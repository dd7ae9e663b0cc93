import t from 'tap';
import { auditRetention, historyRetention, keyRetention, sweepUploads } from '../../../actors/daemons/sweeps.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { fileKey } from '../../../engine/model/object-key.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { LiveSetting } from '../../../engine/runtime/live-setting.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { auditRow } from '../../conformance/audit-log.ts';
import { FakeAuditLog } from '../../fakes/fake-audit-log.ts';
import { FakeDatasetEvents } from '../../fakes/fake-dataset-events.ts';
import { FakeIdempotencyKeys } from '../../fakes/fake-idempotency-keys.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { newAddress, newUser } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';

const never = new AbortController().signal;

t.test('what a dead process was receiving goes, with its reservation; all else stays', async (t) => {
  const world = new LaneWorld(t.testdir());
  const owner = newUser();
  const [orphan, accepted] = [newAddress(owner), newAddress(owner)];
  await world.accept({}, accepted);
  await world.uploads.begin(orphan, 5_000, { bytes: 1e9 }, never);
  // More than are removed at once.
  for (let i = 0; i < 1_001; i++)
    await world.store.put(fileKey(orphan, 'raw', `f${i}.txt`), Buffer.from('x'), {}, never);
  t.equal(await sweepUploads(world, silentLogger(), never), 0, 'its process lives');
  world.uploads.alive = false;
  const batches: number[] = [];
  const remove = world.store.remove.bind(world.store);
  world.store.remove = (keys, signal) => {
    batches.push(keys.length);
    return remove(keys, signal);
  };
  t.equal(await sweepUploads(world, silentLogger(), never), 1);
  t.same(batches, [500, 500, 1]);
  t.same([world.keys(orphan), world.keys(accepted)], [[], ['raw/genes.txt', 'vdi-meta.json']]);
  t.equal(await world.uploads.usage(owner, never), 14);
  t.equal(await sweepUploads(world, silentLogger(), never), 0);
});

t.test('an upload keeps its row until its objects are gone', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  await world.uploads.begin(at, 5, { bytes: 1e9 }, never);
  await world.store.put(fileKey(at, 'raw', 'a.txt'), Buffer.from('x'), {}, never);
  world.uploads.alive = false;
  world.store.onCall = (method) => {
    if (method === 'remove') throw transient('the store is away');
  };
  await t.rejects(sweepUploads(world, silentLogger(), never), { kind: 'transient', message: /away/ });
  t.equal(await world.uploads.usage(at.owner, never), 5);
  world.store.onCall = () => {};
  t.equal(await sweepUploads(world, silentLogger(), never), 1);
  t.same([world.keys(at), await world.uploads.usage(at.owner, never)], [[], 0]);
});

const DAY = 86_400_000;
const MONDAY = Date.UTC(2026, 10, 23);

t.test('weeks go once their last moment is older than the retention, and the rest stays', async (t) => {
  const clock = new VirtualClock(MONDAY);
  const audit = new FakeAuditLog();
  const signal = new AbortController().signal;
  const ages = [5, 10, 20, 30, 37, 38, 100];
  await audit.append(
    ages.map((days) => auditRow({ at: MONDAY - days * DAY, route: `${days}` })),
    signal,
  );
  const timer = auditRetention({ audit, retentionMs: 30 * DAY, clock, log: silentLogger(), metrics: new Metrics() });
  await timer.start(signal);
  t.teardown(() => timer.kill());
  const left = () => audit.entries.map(({ route }) => Number(route));
  await clock.advance(60_000);
  // 30 days ago is a Saturday: its week is not over.
  t.strictSame(left(), [5, 10, 20, 30]);
  await clock.advance(2 * DAY + 7_200_000);
  t.strictSame(left(), [5, 10, 20]);
});

t.test('history and events go by their age; a new retention holds from the next run on', async (t) => {
  const clock = new VirtualClock(MONDAY);
  const dropped: number[] = [];
  const history = {
    async dropBefore(at: number) {
      dropped.push((clock.now() - at) / DAY);
      return 1;
    },
  };
  const datasetEvents = new FakeDatasetEvents();
  for (const days of [31, 8, 6])
    datasetEvents.tell({
      kind: 'accepted',
      at: MONDAY - days * DAY,
      dataset: `${days}` as DatasetId,
      owner: newUser(),
    });
  const left = async () => (await datasetEvents.page({ of: 'all' }, 0, 9, never)).events.map(({ dataset }) => dataset);
  const retentionMs = new LiveSetting(30 * DAY);
  const parts = { clock, log: silentLogger(), metrics: new Metrics() };
  const timer = historyRetention({ history, datasetEvents, retentionMs, ...parts });
  await timer.start(never);
  t.teardown(() => timer.kill());
  await clock.advance(60_000);
  t.strictSame(dropped, [30]);
  t.strictSame(await left(), ['8', '6']);
  retentionMs.set(7 * DAY);
  await clock.advance(7_200_000);
  t.equal(dropped.at(-1), 7);
  t.strictSame(await left(), ['6']);
});

t.test('expired idempotency keys of every service go', async (t) => {
  const clock = new VirtualClock(MONDAY);
  const services = [new FakeIdempotencyKeys(), new FakeIdempotencyKeys()];
  const claim = (key: string) => ({ caller: 'user:1', operation: 'create', key, holder: 'a request' });
  const bounds = (untilMs: number) => ({ nowMs: MONDAY, untilMs, most: 10 });
  for (const keys of services) {
    await keys.claim(claim('short'), bounds(MONDAY + 20_000), never);
    await keys.claim(claim('long'), bounds(MONDAY + DAY), never);
  }
  const timer = keyRetention({ keys: services, clock, log: silentLogger(), metrics: new Metrics() });
  await timer.start(never);
  t.teardown(() => timer.kill());
  const left = () => services.map(({ keys }) => [...keys.values()].map((one) => one.claim.key));
  await clock.advance(60_000);
  t.strictSame(left(), [['long'], ['long']]);
  await clock.advance(DAY + 7_200_000);
  t.strictSame(left(), [[], []]);
});
