import t, { type Test } from 'tap';
import { type LaneChannels, routeChange, routeEvents } from '../../../actors/events/event-router.ts';
import { type EventLaneName, LANES, type ObjectChange } from '../../../engine/model/event.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import type { EventRecord } from '../../../engine/ports/event-log.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { ChangeTable, FakeChangeQueue } from '../../fakes/fake-change-queue.ts';
import { EventLogTable, FakeEventLog } from '../../fakes/fake-event-log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const CHANNELS = Object.fromEntries(
  LANES.filter((lane) => lane !== 'upload').map((lane) => [lane, { channel: `${lane}-channel`, key: `${lane}-key` }]),
) as unknown as LaneChannels;
const created = (rest: string): ObjectChange => ({ kind: 'created', key: `42/d1/${rest}` });
const record = (lane: EventLaneName, eventID: number): EventRecord => ({
  ...CHANNELS[lane],
  event: { eventID, userID: '42', datasetID: 'd1', source: 'object-store' } as EventRecord['event'],
});

async function setup(t: Test, changes: readonly ObjectChange[], instead?: FakeEventLog['publish']) {
  const clock = new VirtualClock();
  const [queue, log] = [new ChangeTable(clock), new EventLogTable(clock)];
  queue.ready.add(changes);
  const ports = { changes: new FakeChangeQueue(queue, 1), events: new FakeEventLog(log, 1) };
  const counts: Record<string, number> = {};
  const count = (result: string, by: number): void => {
    counts[result] = (counts[result] ?? 0) + by;
  };
  const stop = new AbortController();
  const { publish } = ports.events;
  if (instead) ports.events.publish = instead;
  const routing = routeEvents(ports, CHANNELS, count, silentLogger(), stop.signal);
  const end = () => {
    stop.abort();
    return routing;
  };
  t.teardown(end);
  await clock.settle();
  return { clock, queue, log, counts, end, publishAgain: () => void Object.assign(ports.events, { publish }) };
}

t.test('a change becomes one event per lane that it concerns, with one id for all of them', async (t) => {
  const { queue, log, counts } = await setup(t, [
    created('vdi-meta.json'),
    created('install-ready.zip'),
    created('raw/genes.txt'),
    { kind: 'created', key: 'reports/x' },
    created('who-knows'),
    { kind: 'created', key: 'nobody' },
    { kind: 'removed', key: '42/d1/vdi-meta.json' },
  ]);
  t.same(log.rows.waiting, [
    record('updateMeta', 1),
    record('import', 1),
    record('install', 2),
    record('hardDelete', 3),
  ]);
  t.same(queue.ready.waiting, []);
  t.same(counts, { routed: 3, ignored: 2, unknown: 2 });
});

t.test('a change is acknowledged only after its events are durable', async (t) => {
  const { clock, queue, log, publishAgain } = await setup(t, [created('install-ready.zip')], () =>
    Promise.reject(transient('the broker is away')),
  );
  t.same([queue.ready.waiting.length, log.rows.waiting.length], [1, 0]);
  publishAgain();
  await clock.advance(1_000);
  t.same([queue.ready.waiting.length, log.rows.waiting.length], [0, 1]);
});

t.test('a stop during the publishing leaves the change for the next router', async (t) => {
  const hangs: FakeEventLog['publish'] = (_records, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { queue, end } = await setup(t, [created('install-ready.zip')], hangs);
  await end();
  t.equal(queue.ready.waiting.length, 1);
});

t.test('changes that concern no lane are done with while the log is away', async (t) => {
  const { queue, counts } = await setup(t, [created('who-knows'), { kind: 'created', key: 'reports/x' }], () =>
    Promise.reject(transient('the broker is away')),
  );
  t.same(queue.ready.waiting, []);
  t.same(counts, { ignored: 1, unknown: 1 });
});

const at = { owner: '42' as UserId, dataset: 'abcDEF0123456789' as DatasetId };
const below = (rest: string): string => `${at.owner}/${at.dataset}/${rest}`;
const lanes = (...names: string[]): object => ({ kind: 'lanes', at, lanes: names });
const ignored = { kind: 'ignored' };
const unknown = { kind: 'unknown' };

t.test('a created object concerns the lanes that the design names', async (t) => {
  const table: readonly (readonly [string, object])[] = [
    ['vdi-meta.json', lanes('updateMeta', 'import')],
    ['import-ready.zip', lanes('import')],
    ['install-ready.zip', lanes('install')],
    ['shares/7/share-offer.json', lanes('sharing')],
    ['shares/7/share-receipt.json', lanes('sharing')],
    ['delete-flag', lanes('softDelete')],
    ['revised-flag', lanes('softDelete')],
    ['datasetProperties/a.tsv', lanes('updateMeta')],
    ['vdi-manifest.json', ignored],
    ['upload-error.json', ignored],
    ['documents/readme.txt', ignored],
    ['raw/genes.txt', ignored],
    ['shares/7/other.json', unknown],
    ['shares/seven/share-offer.json', unknown],
    ['something-else', unknown],
  ];
  for (const [rest, route] of table) t.same(routeChange({ kind: 'created', key: below(rest) }), route, rest);
});

t.test('a removed object concerns a lane only when its absence means something', async (t) => {
  const table: readonly (readonly [string, object])[] = [
    ['delete-flag', lanes('reconciliation')],
    ['vdi-meta.json', lanes('hardDelete')],
    ['datasetProperties/a.tsv', lanes('updateMeta')],
    ['import-ready.zip', ignored],
    ['revised-flag', ignored],
    ['shares/7/share-offer.json', lanes('sharing')],
    ['shares/7/share-receipt.json', lanes('sharing')],
    ['raw/genes.txt', ignored],
  ];
  for (const [rest, route] of table) t.same(routeChange({ kind: 'removed', key: below(rest) }), route, rest);
});

t.test("other services' objects are ignored, and keys outside any dataset are unknown", async (t) => {
  t.same(routeChange({ kind: 'created', key: 'reports/abc/report.zip' }), ignored);
  t.same(routeChange({ kind: 'created', key: 'handler/abc/result.tgz' }), ignored);
  for (const key of ['', 'x', '42', '42/', 'me/abc/vdi-meta.json', '0/abc/vdi-meta.json'])
    t.same(routeChange({ kind: 'created', key }), unknown, key);
});

t.test('ids of compatible buckets may hold a dot', async (t) => {
  t.same(routeChange({ kind: 'created', key: '42/abc.1/install-ready.zip' }), {
    kind: 'lanes',
    at: { owner: '42', dataset: 'abc.1' },
    lanes: ['install'],
  });
});
