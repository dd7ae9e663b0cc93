// That a process may run for as long as it likes: the real tree, in virtual time, keeps nothing of the rounds of its
// daemons, lanes and leases.

import t from 'tap';
import { aliveAfter } from '../support/live-objects.ts';
import { Clients } from './clients.ts';
import { planOf } from './plan.ts';
import { World } from './world.ts';

/** Reconciler and pruner run every minute or more often under it. */
const SEED = 9;
const MINUTE_MS = 60_000;

t.test('a process keeps nothing of what it has done, however long it runs', async (t) => {
  const world = new World({ seed: SEED });
  const clients = new Clients(world);
  const begun = world.clock.now();
  const process = world.startProcess();
  clients.begin(planOf(SEED).datasets);
  const runUntil = async (minutes: number): Promise<void> => {
    while (world.clock.now() < begun + minutes * MINUTE_MS) await world.scheduler.step();
  };
  const census = async (minutes: number) => ({
    signals: await aliveAfter(() => runUntil(minutes), AbortSignal),
    promises: await aliveAfter(() => undefined, Promise),
  });
  const early = await census(20);
  const steps = world.scheduler.steps;
  t.strictSame([clients.idle, world.leftOver()], [true, []], 'everything was done');
  const late = await census(60);
  t.equal(late.signals, early.signals);
  // Some of the test's own may come and go.
  t.ok(late.promises < early.promises + 20, `${early.promises} promises became ${late.promises}`);
  t.ok(world.scheduler.steps > steps + 5_000, 'much happened meanwhile');
  t.strictSame([process.alive, world.violations], [true, []]);
});
