import t from 'tap';
import { ReleasePace } from '../../../../engine/adapters/jobs/release-pace.ts';

t.test('a few looks are made at once, and more of them one every 100 ms', async (t) => {
  const pace = new ReleasePace();
  const waits = Array.from({ length: 10 }, () => pace.take(1_000));
  t.strictSame(
    waits,
    Array.from({ length: 10 }, () => 0),
  );
  t.equal(pace.take(1_000), 100);
  t.equal(pace.take(1_100), 100);
  t.equal(pace.take(1_250), 50);
});

t.test('what was not used in a second is used at once again, and no more than that', async (t) => {
  const pace = new ReleasePace();
  for (let look = 0; look < 11; look++) pace.take(0);
  const waits = Array.from({ length: 11 }, () => pace.take(60_000));
  t.strictSame(waits, [...Array.from({ length: 10 }, () => 0), 100]);
});

t.test('no look is put off for longer than it says, when the one before was made', async (t) => {
  const pace = new ReleasePace();
  let now = 0;
  for (let look = 0; look < 200; look++) {
    const waitMs = pace.take(now);
    t.ok(waitMs <= ReleasePace.longestMs, `${waitMs} ms`);
    now += waitMs + (look % 7);
  }
});
