import { getEventListeners } from 'node:events';
import t from 'tap';
import { deadline } from '../../engine/time.ts';
import { unlessAborted } from '../../engine/wait.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { aliveAfter, Forgetful } from '../support/live-objects.ts';

const late = (): Error => new Error('too late');

t.test('a deadline aborts its signal with its reason, or with the parent and the reason of that', async (t) => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  using alone = deadline(clock, 10, undefined, late);
  using below = deadline(clock, 10, parent.signal, late);
  using longer = deadline(clock, 20, parent.signal, late);
  await clock.advance(9);
  t.strictSame([alone.signal.aborted, below.signal.aborted], [false, false]);
  await clock.advance(1);
  t.match([alone.signal.reason, below.signal.reason], [{ message: 'too late' }, { message: 'too late' }]);
  parent.abort('shutdown');
  t.equal(longer.signal.reason, 'shutdown');
});

t.test('a deadline leaves neither a timer nor a listener behind', async (t) => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  {
    using limit = deadline(clock, 10, parent.signal, late);
    t.strictSame([clock.pending, getEventListeners(parent.signal, 'abort').length], [1, 1]);
    await unlessAborted(Promise.resolve(), limit.signal);
  }
  t.strictSame([clock.pending, getEventListeners(parent.signal, 'abort').length], [0, 0]);
});

t.test('what was left listening to a deadline that is over is not kept by its parent', async (t) => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  const waitOften = (): void => {
    for (let i = 0; i < 100; i++) {
      using outer = deadline(clock, 10, parent.signal, late);
      using limit = deadline(clock, 5, outer.signal, late);
      Forgetful.listenTo(limit.signal);
    }
  };
  t.equal(await aliveAfter(waitOften, Forgetful), 0);
  t.equal(parent.signal.aborted, false, 'the parent lives on');
});
