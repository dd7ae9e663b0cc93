import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { CallsInProgress } from '../../../actors/plugin-host/calls-in-progress.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;

async function setup() {
  const clock = new VirtualClock();
  const calls = new CallsInProgress();
  const child = calls.spec({ clock, log: silentLogger() }).create();
  await child.start(never);
  let isStopped = false;
  const stop = (deadline: number): Promise<void> =>
    child.stop(deadline).then(() => {
      isStopped = true;
    });
  return { clock, calls, stop, stopped: () => isStopped };
}

t.test('a stop waits for the calls that have not ended, however they end', async (t) => {
  const { clock, calls, stop, stopped } = await setup();
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  t.equal(await Promise.race([calls.add(first.promise), Promise.resolve('not yet')]), 'not yet');
  const failing = t.rejects(calls.add(second.promise), { message: 'ended' });
  t.equal(calls.size, 2);
  const stopping = stop(clock.now() + 10_000);
  first.resolve('done');
  await nextTurn();
  t.notOk(stopped());
  second.reject(new Error('ended'));
  await Promise.all([failing, stopping]);
  t.equal(calls.size, 0);
});

t.test('a stop waits no longer than its deadline', async (t) => {
  const { clock, calls, stop, stopped } = await setup();
  void calls.add(new Promise(() => {}));
  const stopping = stop(clock.now() + 10_000);
  await clock.advance(9_999);
  t.notOk(stopped());
  await clock.advance(1);
  await stopping;
  t.equal(calls.size, 1);
});
