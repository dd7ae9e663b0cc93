import t from 'tap';
import { transient } from '../../../../engine/runtime/failure.ts';
import { DATABASE_AWAY, Readiness } from '../../../../http/kernel/pipeline/readiness.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

type State = 'responds' | 'refuses' | 'hangs';

function setup() {
  const clock = new VirtualClock();
  const state: { db: State; started: boolean; probes: number } = { db: 'responds', started: true, probes: 0 };
  const probe = async (): Promise<void> => {
    state.probes++;
    if (state.db === 'refuses') throw transient('database x at 10.1.2.3:5432: connect ECONNREFUSED');
    if (state.db === 'hangs') await new Promise(() => undefined);
  };
  const readiness = new Readiness({ started: () => state.started, databases: [{ probe }], clock });
  return { clock, state, readiness };
}

for (const away of ['refuses', 'hangs'] as const)
  t.test(`an outage shows within two seconds, and so does its end: the database ${away}`, async (t) => {
    const { clock, state, readiness } = setup();
    t.equal(await readiness.lack(), undefined);
    for (const [db, expected] of [
      [away, DATABASE_AWAY],
      ['responds', undefined],
    ] as const) {
      state.db = db;
      const changed = clock.now();
      await clock.advance(300);
      const reading = readiness.lack();
      if (db === 'hangs') await clock.advance(1_400);
      t.equal(await reading, expected, db);
      t.ok(clock.now() - changed < 2_000);
    }
  });

t.test('all who ask share a reading, and none is taken before the start or during a stop', async (t) => {
  const { clock, state, readiness } = setup();
  t.strictSame(await Promise.all([readiness.lack(), readiness.lack()]), [undefined, undefined]);
  t.equal(await readiness.lack(), undefined);
  t.equal(state.probes, 1);
  state.started = false;
  await clock.advance(1_000);
  t.equal(await readiness.lack(), 'the service is starting or stopping');
  t.equal(state.probes, 1);
});
