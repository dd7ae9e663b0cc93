import t, { type Test } from 'tap';
import { Actor, type ActorOptions } from '../../../engine/runtime/actor.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

async function setup(t: Test, handle: ActorOptions<string>['handle']) {
  const clock = new VirtualClock(0);
  const actor = new Actor<string>({ name: 'clerk', capacity: 2, clock, log: silentLogger(), handle });
  t.teardown(() => actor.kill());
  await actor.start(new AbortController().signal);
  return { clock, actor };
}

t.test('handles one message after the other, refuses when full', async (t) => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const { clock, actor } = await setup(t, async (message) => {
    seen.push(`begin ${message}`);
    await gate.promise;
    seen.push(`end ${message}`);
  });
  actor.offer('a');
  await clock.settle();
  t.strictSame([actor.offer('b'), actor.offer('c'), actor.offer('d'), actor.size], [true, true, false, 2]);
  gate.resolve();
  await clock.settle();
  t.strictSame(seen, ['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
});

t.test('a message that fails costs only itself', async (t) => {
  const seen: string[] = [];
  const { clock, actor } = await setup(t, async (message) => {
    if (message === 'poison') throw new Error('cannot read it');
    seen.push(message);
  });
  actor.offer('poison');
  actor.offer('fine');
  await clock.settle();
  t.strictSame(seen, ['fine']);
});

t.test('quiet refuses new messages and works off those it has', async (t) => {
  const seen: string[] = [];
  const { clock, actor } = await setup(t, async (message) => {
    await clock.sleep(10);
    seen.push(message);
  });
  actor.offer('a');
  actor.offer('b');
  actor.quiet();
  t.equal(actor.offer('c'), false);
  await clock.advance(20);
  t.strictSame(seen, ['a', 'b']);
});

t.test('shortly before the deadline the message is aborted and the rest dropped', async (t) => {
  const seen: string[] = [];
  const { clock, actor } = await setup(t, async (message, signal) => {
    seen.push(message);
    await clock.sleep(1_000_000, signal);
  });
  actor.offer('long');
  actor.offer('never');
  const stopping = actor.stop(10_000);
  await clock.advance(8000);
  await stopping;
  t.strictSame(seen, ['long']);
  t.equal(actor.size, 0);
});
