import t from 'tap';
import { PostgresLeases } from '../../../engine/adapters/leases-postgres.ts';
import { leasesConformance } from '../../conformance/leases.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../support/engine-process.ts';

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
