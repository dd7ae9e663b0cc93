import fc from 'fast-check';
import t from 'tap';
import { Mailbox } from '../../../engine/jobs/mailbox.ts';

const never = new AbortController().signal;

t.test('refuses when full and takes again when one has left', async (t) => {
  const box = new Mailbox<number>(2);
  t.strictSame([box.offer(1), box.offer(2), box.offer(3)], [true, true, false]);
  t.equal(await box.take(never), 1);
  t.strictSame([box.offer(4), box.offer(5)], [true, false]);
  t.strictSame([box.poll(), box.poll(), box.poll()], [2, 4, undefined]);
});

t.test('waiting takers are served in turn', async (t) => {
  const box = new Mailbox<string>(1);
  const first = box.take(never);
  const second = box.take(never);
  t.strictSame([box.offer('a'), box.offer('b'), box.offer('c')], [true, true, true]);
  t.strictSame([await first, await second, box.size], ['a', 'b', 1]);
});

t.test('a taker that gave up loses nothing', async (t) => {
  const box = new Mailbox<string>(1);
  const stop = new AbortController();
  const waiting = box.take(stop.signal);
  stop.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
  await t.rejects(box.take(stop.signal), { message: 'gone' });
  box.offer('kept');
  t.equal(await box.take(never), 'kept');
});

t.test('closing refuses what comes, hands out what is there and ends the takers', async (t) => {
  const box = new Mailbox<string>(2);
  box.offer('last');
  box.close();
  t.equal(box.offer('late'), false);
  t.strictSame([await box.take(never), await box.take(never)], ['last', undefined]);
  const empty = new Mailbox<string>(1);
  const waiting = empty.take(never);
  empty.close();
  t.equal(await waiting, undefined);
});

t.test('draining empties it in order', async (t) => {
  const box = new Mailbox<number>(3);
  for (const n of [1, 2, 3]) box.offer(n);
  box.poll();
  box.offer(4);
  t.strictSame(box.drain(), [2, 3, 4]);
  t.equal(box.size, 0);
});

t.test('a capacity must be a whole number of at least 1', async (t) => {
  for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => new Mailbox(bad), { message: /whole number/ });
  }
});

t.test('a smaller one gives back the newest, a larger one keeps all', async (t) => {
  const box = new Mailbox<number>(4);
  for (const n of [0, 1, 2, 3]) box.offer(n);
  box.poll();
  box.offer(4);
  t.strictSame(box.resize(2), [3, 4]);
  t.strictSame([box.capacity, box.size, [...box], box.offer(5)], [2, 2, [1, 2], false]);
  t.strictSame(box.resize(3), []);
  t.strictSame([box.offer(6), box.offer(7), box.drain()], [true, false, [1, 2, 6]]);
  t.throws(() => box.resize(0), { message: /whole number/ });
});

t.test('behaves like an array with a bound', async (t) => {
  const step = fc.oneof(fc.record({ offer: fc.integer() }), fc.constant('poll' as const));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
      const box = new Mailbox<number>(capacity);
      const model: number[] = [];
      for (const step of steps) {
        if (step === 'poll') {
          if (box.poll() !== model.shift()) return false;
        } else {
          const room = model.length < capacity;
          if (box.offer(step.offer) !== room) return false;
          if (room) model.push(step.offer);
        }
        if (box.size !== model.length) return false;
      }
      return true;
    }),
  );
  t.pass('for any sequence');
});

t.test('gives out the oldest of the lowest rank, and keeps the order of the others', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 12 }), fc.nat(11), (ranks, turns) => {
      const box = new Mailbox<{ readonly rank: number; readonly n: number }>(12);
      // So that the ring begins anywhere.
      for (let i = 0; i < turns; i++) box.offer({ rank: 0, n: -1 });
      for (let i = 0; i < turns; i++) box.poll();
      const items = ranks.map((rank, n) => ({ rank, n }));
      for (const item of items) box.offer(item);
      while (items.length > 0) {
        const lowest = Math.min(...items.map(({ rank }) => rank));
        const [expected] = items.splice(
          items.findIndex(({ rank }) => rank === lowest),
          1,
        );
        t.same(
          box.pollLowest(({ rank }) => rank),
          expected,
        );
        t.strictSame([...box], items);
      }
      t.equal(
        box.pollLowest(() => 0),
        undefined,
      );
    }),
  );
  t.end();
});
