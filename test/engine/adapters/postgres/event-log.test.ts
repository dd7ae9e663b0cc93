import t from 'tap';
import { PostgresEventLog } from '../../../../engine/adapters/events/postgres-log.ts';
import type { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { eventLogConformance } from '../../../conformance/event-log.ts';
import { EventLogTable, FakeEventLog } from '../../../fakes/fake-event-log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const at = await cacheDatabase(t);

eventLogConformance('PostgresEventLog', async (t) => {
  await emptyCache(at);
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  let dropped = 0;
  const options = {
    onDropped: (_channel: string, count: number) => {
      dropped += count;
    },
  };
  const [firstLog, secondLog] = [first, second].map(
    ({ db, instance }) => new PostgresEventLog(db, instance, options, systemClock, silentLogger()),
  );
  if (!firstLog || !secondLog) throw new Error('two logs');
  return {
    first: firstLog,
    second: secondLog,
    killSecond: () => second.instance[Symbol.asyncDispose](),
    hurry: async () => undefined,
    dropped: () => dropped,
  };
});

eventLogConformance('FakeEventLog', async () => {
  const clock = new VirtualClock();
  const table = new EventLogTable(clock);
  return {
    first: new FakeEventLog(table, 1),
    second: new FakeEventLog(table, 2),
    killSecond: async () => table.rows.kill(2),
    hurry: () => clock.advance(1_000),
    dropped: () => [...table.dropped.values()].reduce((a, b) => a + b, 0),
  };
});

t.test('a batch whose deletion was not answered comes again to the same process', async (t) => {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const log = new PostgresEventLog(db, instance, { onDropped: () => undefined }, systemClock, silentLogger());
  await db.query(
    `insert into event_log (channel, key, event_id, owner, dataset_id, source, holder, consumer)
    values ('import', 'k', 7, 1, 'd1', 'api', $1, 1), ('import', 'k', 8, 1, 'd1', 'api', $1, 99)`,
    [instance.id],
  );
  const stop = new AbortController();
  const seen: number[] = [];
  await log.consume(
    [{ channel: 'import', key: 'k' }],
    async (records) => {
      seen.push(...records.map(({ event }) => event.eventID));
      stop.abort();
    },
    stop.signal,
  );
  t.same(seen, [7, 8]);
});

t.test('events that the database did not take are not published', async (t) => {
  const away = {
    query: async () => {
      throw transient('the database is away');
    },
  };
  const { instance } = await engineProcess(t, at);
  const options = { onDropped: () => undefined };
  const log = new PostgresEventLog(away as unknown as Postgres, instance, options, systemClock, silentLogger());
  const event = { eventID: 1, userID: '1' as UserId, datasetID: 'd' as DatasetId, source: 'api' } as const;
  await t.rejects(log.publish([{ channel: 'import', key: 'k', event }], signal), { message: 'the database is away' });
});

t.test('ids are drawn from the database in blocks of 1,000', async (t) => {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const log = new PostgresEventLog(db, instance, { onDropped: () => undefined }, systemClock, silentLogger());
  const first = await log.nextEventId(signal);
  t.equal(first % 1_000, 1);
  const rest = await Promise.all(Array.from({ length: 999 }, () => log.nextEventId(signal)));
  t.same(
    rest,
    Array.from({ length: 999 }, (_, i) => first + 1 + i),
  );
  const [sequence] = await db.query<{ last: number }>('select last_value as last from event_id');
  t.same(sequence, { last: first });
  t.equal(await log.nextEventId(signal), first + 1_000);
});
