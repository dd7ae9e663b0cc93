// What every implementation of the event log port does.

import t, { type Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ChannelFilter, EventLog, EventRecord } from '../../engine/ports/event-log.ts';
import { Batches } from './batches.ts';

export interface EventLogUnderTest {
  readonly first: EventLog;
  /** The same log, seen by another process. */
  readonly second: EventLog;
  /** The second process ends in the middle of whatever it does. */
  killSecond(): Promise<void>;
  /** Ends the pause before a refused batch comes again, where time does not pass by itself. */
  hurry(): Promise<void>;
  /** Messages dropped so far for their key. */
  dropped(): number;
}

const signal = new AbortController().signal;
const WANTED: readonly ChannelFilter[] = [
  { channel: 'install', key: 'install-key' },
  { channel: 'shared', key: 'share' },
];

const record = (eventID: number, channel = 'install', key = 'install-key'): EventRecord => ({
  channel,
  key,
  event: {
    eventID,
    userID: '9223372036854775999' as UserId,
    datasetID: `dataset${eventID}` as DatasetId,
    source: 'object-store',
  },
});

const ids = (records: readonly EventRecord[]): readonly number[] =>
  records.map(({ event }) => event.eventID).sort((a, b) => a - b);

export function eventLogConformance(name: string, open: (t: Test) => Promise<EventLogUnderTest>): void {
  const fact = (what: string, check: (t: Test, under: EventLogUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  const batches = new Batches((log: EventLog, handle: (records: readonly EventRecord[]) => Promise<void>, until) =>
    log.consume(WANTED, handle, until),
  );
  const take = (log: EventLog, count: number) => batches.take(log, count);

  fact('what was published is handed over as it was', async (t, { first, second }) => {
    const records = [record(1), record(2, 'shared', 'share'), record(3)];
    await first.publish(records, signal);
    const seen = await take(second, 3);
    t.same(
      [...seen].sort((a, b) => a.event.eventID - b.event.eventID),
      records,
    );
  });

  fact('a consumer that waits is given what comes', async (t, { first, second }) => {
    const seen = take(second, 1);
    await first.publish([record(1)], signal);
    t.same(await seen, [record(1)]);
  });

  fact('an acknowledged batch does not come again', async (t, { first, second }) => {
    await first.publish([record(1)], signal);
    await take(first, 1);
    await first.publish([record(2)], signal);
    t.same(ids(await take(second, 1)), [2]);
  });

  fact('other channels are left alone, other keys of ours are dropped and counted', async (t, { first, dropped }) => {
    await first.publish(
      [
        record(1, 'elsewhere', 'install-key'),
        record(2, 'install', 'other'),
        record(3, 'shared', 'install-key'),
        record(4),
        record(5, 'shared', 'share'),
      ],
      signal,
    );
    // Both channels are read as far as their dropped ones: each keeps its own order, there is none between them.
    t.same(ids(await take(first, 2)), [4, 5]);
    t.equal(dropped(), 2);
    const elsewhere = new Batches((log: EventLog, handle: (records: readonly EventRecord[]) => Promise<void>, until) =>
      log.consume([{ channel: 'elsewhere', key: 'install-key' }], handle, until),
    );
    t.same(ids(await elsewhere.take(first, 1)), [1]);
  });

  fact('batches hold 1 to 500 records', async (t, { first }) => {
    await first.publish(
      Array.from({ length: 1_200 }, (_, i) => record(i + 1)),
      signal,
    );
    t.same(
      (await batches.taken([first], 1_200)).map(ids).map(({ length }) => length),
      [500, 500, 200],
    );
  });

  fact('a refused batch comes again', async (t, { first, hurry }) => {
    await first.publish([record(1), record(2)], signal);
    t.same((await batches.refusedOnce(first, hurry)).map(ids), [
      [1, 2],
      [1, 2],
    ]);
  });

  fact('a batch refused at the end is left for the next consumer', async (t, { first, second }) => {
    await first.publish([record(1)], signal);
    const stop = new AbortController();
    await first.consume(
      WANTED,
      async () => {
        stop.abort();
        throw new Error('stopping');
      },
      stop.signal,
    );
    t.same(ids(await take(second, 1)), [1]);
  });

  fact('two processes and two consumers in one share the records', async (t, { first, second }) => {
    const all = Array.from({ length: 3_000 }, (_, i) => record(i + 1));
    await first.publish(all, signal);
    t.same(ids((await batches.taken([first, first, second], all.length)).flat()), ids(all));
  });

  fact('the batch of a process that died comes again elsewhere', async (t, { first, second, killSecond }) => {
    await first.publish([record(1)], signal);
    t.same(ids(await batches.killed(second, killSecond, () => take(first, 1))), [1]);
  });

  fact('an aborted consumer resolves and takes nothing', async (t, { first, second }) => {
    await first.publish([record(1)], signal);
    await first.consume(WANTED, () => Promise.reject(new Error('not asked for')), AbortSignal.abort());
    t.same(ids(await take(second, 1)), [1]);
  });

  fact('a consumer that waits ends when told to', async (t, { first }) => {
    const stop = new AbortController();
    const consuming = first.consume(WANTED, async () => undefined, stop.signal);
    stop.abort();
    await t.resolves(consuming);
  });

  fact('event ids are unique among processes and safe integers', async (t, { first, second }) => {
    const drawn = await Promise.all(
      Array.from({ length: 2_500 }, (_, i) => (i % 3 ? first : second).nextEventId(signal)),
    );
    t.equal(new Set(drawn).size, 2_500);
    t.ok(drawn.every((id) => Number.isSafeInteger(id) && id > 0));
  });
}
