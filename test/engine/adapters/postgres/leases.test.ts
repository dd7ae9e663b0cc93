import t from 'tap';
import { PostgresLeases } from '../../../../engine/adapters/postgres/leases-postgres.ts';
import { leasesConformance } from '../../../conformance/leases.ts';
import { FakeLeases, LeaseTable } from '../../../fakes/fake-leases.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

leasesConformance('PostgresLeases', async (t) => {
  await emptyCache(at);
  const [first, second] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  return {
    first: new PostgresLeases(first.db, first.instance),
    second: new PostgresLeases(second.db, second.instance),
    killSecond: () => second.instance[Symbol.asyncDispose](),
    async advance(ms) {
      await first.db.query("update lease set expires_at = expires_at - $1 * interval '1 millisecond'", [ms]);
    },
  };
});

leasesConformance('FakeLeases', async () => {
  const clock = new VirtualClock();
  const table = new LeaseTable(clock);
  return {
    first: new FakeLeases(table, 1),
    second: new FakeLeases(table, 2),
    killSecond: async () => table.kill(2),
    advance: (ms) => clock.advance(ms),
  };
});

t.test('tokens that the cache gives after it was lost are beyond those that it gave before', async (t) => {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const leases = new PostgresLeases(db, instance);
  const signal = new AbortController().signal;
  const last = await leases.acquire('a', signal);
  await db.query('truncate lease');
  const next = await leases.acquire('a', signal);
  t.ok(last && next && next.token > last.token, `${next?.token} after ${last?.token}`);
});
