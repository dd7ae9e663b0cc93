import t from 'tap';
import { ClaimedRows } from '../../../../engine/adapters/postgres/claimed-rows.ts';
import type { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import type { PostgresInstance } from '../../../../engine/adapters/postgres/postgres-instance.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

t.test('a consumer without rows looks every 5 s, and at once when it is told of rows', async (t) => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let looks = 0;
  let ring = (): void => undefined;
  const instance = {
    id: 1,
    connected: true,
    listen: (_channel: string, told: () => void) => {
      ring = told;
      return () => undefined;
    },
  } as unknown as PostgresInstance;
  const rows = new ClaimedRows({} as Postgres, instance, clock, silentLogger());
  const claim = async () => {
    // One that does not wait would never let the test go on.
    if (++looks > 10) stop.abort();
    return [];
  };
  const consuming = rows.consume({ table: 'event_log', channel: 'c', claim }, async () => undefined, stop.signal);
  await clock.settle();
  t.equal(looks, 1);
  await clock.advance(4_999);
  t.equal(looks, 1);
  await clock.advance(1);
  t.equal(looks, 2);
  ring();
  await clock.settle();
  t.equal(looks, 3);
  stop.abort();
  await consuming;
  t.equal(looks, 3);
});
