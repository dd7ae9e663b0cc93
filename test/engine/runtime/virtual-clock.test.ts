import t from 'tap';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

t.test('fires what is due in the order of time, then of setting', async (t) => {
  const clock = new VirtualClock(0);
  const fired: string[] = [];
  for (const [ms, name] of [
    [20, 'c'],
    [10, 'a'],
    [20, 'd'],
    [10, 'b'],
    [31, 'late'],
  ] as const) {
    clock.after(ms, () => fired.push(`${name}@${clock.now()}`));
  }
  await clock.advance(30);
  t.strictSame(fired, ['a@10', 'b@10', 'c@20', 'd@20']);
  t.equal(clock.now(), 30);
  t.equal(clock.untilNext, 1);
});

t.test('what a timer sets off settles before the next one fires', async (t) => {
  const clock = new VirtualClock(0);
  const seen: string[] = [];
  const tick = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(10);
      seen.push(`slept until ${clock.now()}`);
    }
  };
  clock.after(15, () => seen.push('between'));
  const ticking = tick();
  await clock.advance(30);
  await ticking;
  t.strictSame(seen, ['slept until 10', 'between', 'slept until 20', 'slept until 30']);
});

t.test('a cancelled timer and an aborted sleep leave nothing behind', async (t) => {
  const clock = new VirtualClock();
  const cancel = clock.after(5, () => t.fail('fired'));
  cancel();
  cancel();
  const stop = new AbortController();
  const sleeping = clock.sleep(5, stop.signal);
  stop.abort(new Error('enough'));
  await t.rejects(sleeping, { message: 'enough' });
  await t.rejects(clock.sleep(5, stop.signal), { message: 'enough' });
  await clock.advance(10);
  t.equal(clock.pending, 0);
});

t.test('steps from timer to timer', async (t) => {
  const clock = new VirtualClock(0);
  clock.after(7, () => {});
  t.equal(await clock.advanceToNext(), true);
  t.equal(clock.now(), 7);
  t.equal(await clock.advanceToNext(), false);
  t.equal(clock.untilNext, undefined);
});
