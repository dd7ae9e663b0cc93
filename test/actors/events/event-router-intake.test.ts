import t, { type Test } from 'tap';
import { type LaneChannels, takeEvents } from '../../../actors/events/event-router.ts';
import { LANES } from '../../../engine/model/event.ts';
import type { EventRecord } from '../../../engine/ports/event-log.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { EventLogTable, FakeEventLog } from '../../fakes/fake-event-log.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const OWN_CHANNELS = channelsNamed((lane) => `${lane}-channel`);

function channelsNamed(nameOf: (lane: string) => string): LaneChannels {
  const lanes = LANES.filter((lane) => lane !== 'upload');
  const pairs = lanes.map((lane) => [lane, { channel: nameOf(lane), key: `${lane}-key` }]);
  return Object.fromEntries(pairs) as unknown as LaneChannels;
}

const event = (eventID: number, datasetID = 'd1'): EventRecord['event'] =>
  ({ eventID, userID: '42', datasetID, source: 'full-reconciler' }) as unknown as EventRecord['event'];

async function setup(t: Test, records: readonly EventRecord[], { channels = OWN_CHANNELS, taken = true } = {}) {
  const clock = new VirtualClock();
  const log = new EventLogTable(clock);
  log.rows.add(records);
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const jobs = new FakeJobs(table, 1);
  const stop = new AbortController();
  const { enqueue } = jobs;
  const refused = () => Promise.reject(transient('the cache database is away'));
  if (!taken) jobs.enqueue = refused;
  const taking = takeEvents(new FakeEventLog(log, 1), jobs, ['import', 'install'], channels, stop.signal);
  t.teardown(() => {
    stop.abort();
    return taking;
  });
  await clock.settle();
  const rows = () => table.rows.map(({ lane, dataset, eventId }) => [lane, dataset, eventId]);
  return { clock, log, table, rows, takeAgain: () => void Object.assign(jobs, { enqueue }) };
}

t.test('an event becomes a job row, and several for one dataset become one', async (t) => {
  const { log, table, rows } = await setup(t, [
    { ...OWN_CHANNELS.import, event: event(1) },
    { ...OWN_CHANNELS.import, event: event(2) },
    { ...OWN_CHANNELS.install, event: event(3) },
    { ...OWN_CHANNELS.import, event: event(4, 'd2') },
  ]);
  const expected = [
    ['import', 'd1', 2],
    ['install', 'd1', 3],
    ['import', 'd2', 4],
  ];
  t.same(rows(), expected);
  t.match(table.rows[0], { owner: '42', source: 'full-reconciler', state: 'queued' });
  t.same(log.rows.waiting, []);
});

t.test('messages for lanes that do not run here stay, those with a foreign key are dropped', async (t) => {
  const sharing = { ...OWN_CHANNELS.sharing, event: event(1) };
  const { log, rows } = await setup(t, [sharing, { ...OWN_CHANNELS.import, key: 'somebody-else', event: event(2) }]);
  t.same([rows(), log.rows.waiting, log.dropped.get('import-channel')], [[], [sharing], 1]);
});

t.test('lanes that share a channel are told apart by their keys', async (t) => {
  const shared = channelsNamed(() => 'everything');
  const { rows } = await setup(
    t,
    [
      { ...shared.import, event: event(1) },
      { ...shared.install, event: event(2, 'd2') },
      { ...shared.sharing, event: event(3, 'd3') },
    ],
    { channels: shared },
  );
  const expected = [
    ['import', 'd1', 1],
    ['install', 'd2', 2],
  ];
  t.same(rows(), expected);
});

t.test('a message is acknowledged only after its job row is there', async (t) => {
  const records = [{ ...OWN_CHANNELS.import, event: event(1) }];
  const { clock, log, rows, takeAgain } = await setup(t, records, { taken: false });
  t.same([rows(), log.rows.waiting.length], [[], 1]);
  takeAgain();
  await clock.advance(1_000);
  t.same([rows(), log.rows.waiting.length], [[['import', 'd1', 1]], 0]);
});
