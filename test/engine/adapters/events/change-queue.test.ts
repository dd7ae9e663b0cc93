import t from 'tap';
import { PostgresChangeQueue } from '../../../../engine/adapters/events/postgres-queue.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { changeJournalConformance, noteAndRelease } from '../../../conformance/change-queue.ts';
import { ChangeTable, FakeChangeQueue } from '../../../fakes/fake-change-queue.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const at = await cacheDatabase(t);

changeJournalConformance('PostgresChangeQueue', async (t) => {
  await emptyCache(at);
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  const queue = new PostgresChangeQueue(first.db, first.instance, systemClock, silentLogger());
  return {
    first: queue,
    second: new PostgresChangeQueue(second.db, second.instance, systemClock, silentLogger()),
    announce: (changes) => noteAndRelease(queue, changes),
    killSecond: () => second.instance[Symbol.asyncDispose](),
    hurry: async () => undefined,
  };
});

changeJournalConformance('FakeChangeQueue', async () => {
  const clock = new VirtualClock();
  const table = new ChangeTable(clock);
  const queue = new FakeChangeQueue(table, 1);
  return {
    first: queue,
    second: new FakeChangeQueue(table, 2),
    announce: (changes) => noteAndRelease(queue, changes),
    killSecond: async () => table.ready.kill(2),
    hurry: () => clock.advance(1_000),
  };
});

t.test('a change that was dropped while its process was cut off is delivered once it is made', async (t) => {
  await emptyCache(at);
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  const cutOff = new PostgresChangeQueue(second.db, second.instance, systemClock, silentLogger());
  const other = new PostgresChangeQueue(first.db, first.instance, systemClock, silentLogger());
  const ids = await cutOff.note([{ change: { kind: 'created', key: 'late' }, etag: 'e' }], signal);
  // Its session lock is gone, its pool is not: as when the one connection breaks.
  await second.instance[Symbol.asyncDispose]();
  const orphans = await other.orphans(signal);
  await other.drop(
    orphans.map((entry) => entry.id),
    signal,
  );
  await cutOff.release(ids, signal);
  const stop = new AbortController();
  const seen: unknown[] = [];
  await other.consume(async (changes) => {
    seen.push(...changes);
    stop.abort();
  }, stop.signal);
  t.same(seen, [{ kind: 'created', key: 'late' }]);
});
