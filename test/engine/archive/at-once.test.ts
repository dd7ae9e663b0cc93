import t from 'tap';
import { AtOnce } from '../../../engine/archive/at-once.ts';

t.test('so many run and no more; the next begins when one is done, in any order', async (t) => {
  await using work = new AtOnce(3);
  const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  let [running, most] = [0, 0];
  const done: number[] = [];
  const all = (async () => {
    for (const [n, gate] of gates.entries())
      await work.begin(async () => {
        most = Math.max(most, ++running);
        await gate.promise;
        running--;
        done.push(n);
      });
    await work.finish();
  })();
  const order = [1, 0, 2, 5, 3, 4];
  for (const n of order) {
    gates[n]?.resolve();
    await new Promise(setImmediate);
  }
  await all;
  t.equal(most, 3);
  t.strictSame(done, order);
});

t.test('one at once is one after the other', async (t) => {
  await using work = new AtOnce(1);
  const told: string[] = [];
  for (const name of ['a', 'b'])
    await work.begin(async () => {
      told.push(`${name} begins`);
      await new Promise(setImmediate);
      told.push(`${name} ends`);
    });
  t.strictSame(told, ['a begins', 'a ends', 'b begins', 'b ends']);
});

t.test('the first failure is told to who comes next, and the others are to end', async (t) => {
  await using work = new AtOnce(2);
  const seen: boolean[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  await work.begin(async () => {
    await promise;
    seen.push(work.ended);
  });
  await t.rejects(
    work.begin(async () => {
      throw new Error('disk full');
    }),
    new Error('disk full'),
  );
  resolve();
  await t.rejects(work.finish(), new Error('disk full'));
  t.strictSame(seen, [true]);
});

t.test('who leaves waits for what runs, which is told to end', async (t) => {
  let over = false;
  {
    await using work = new AtOnce(2);
    await work.begin(async () => {
      while (!work.ended) await new Promise(setImmediate);
      over = true;
    });
  }
  t.ok(over);
});
