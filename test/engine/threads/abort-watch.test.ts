import t from 'tap';
import { AbortWatch, LOOK_MS } from '../../../engine/threads/abort-watch.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

t.test('what is added is looked at once, and begins to listen at the look after it', async (t) => {
  const clock = new VirtualClock();
  const watch = new AbortWatch(clock);
  let told: string[] = [];
  const add = (name: string): void =>
    watch.add({
      over: false,
      look: () => void told.push(`look ${name}`),
      listen: () => void told.push(`listen ${name}`),
    });
  const toldNext = async (): Promise<readonly string[]> => {
    await clock.advance(LOOK_MS);
    const now = told;
    told = [];
    return now;
  };
  add('a');
  add('b');
  t.same(told, []);
  t.same(await toldNext(), ['look a', 'look b']);
  add('c');
  t.same(await toldNext(), ['listen a', 'listen b', 'look c']);
  t.same(await toldNext(), ['listen c']);
  t.same(await toldNext(), []);
  add('d');
  t.same(await toldNext(), ['look d']);
  t.same(await toldNext(), ['listen d']);
});

t.test('one that is added by what is told hears of an abort as soon as others', async (t) => {
  const clock = new VirtualClock();
  const watch = new AbortWatch(clock);
  const told: string[] = [];
  const add = (name: string, next?: () => void): void =>
    watch.add({
      over: false,
      look: () => void told.push(`look ${name}`),
      listen() {
        told.push(`listen ${name}`);
        next?.();
      },
    });
  add('a', () => add('b'));
  for (let n = 0; n < 4; n++) await clock.advance(LOOK_MS);
  t.same(told, ['look a', 'listen a', 'look b', 'listen b']);
});

t.test('of thousands that are over before a look few are kept, and those that last are looked at once', async (t) => {
  const clock = new VirtualClock();
  const watch = new AbortWatch(clock);
  const told: string[] = [];
  const over = { over: false };
  let asked = 0;
  for (let n = 0; n < 10_000; n++) {
    const lasts = n % 1_000 === 0;
    watch.add({
      get over() {
        asked++;
        return !lasts || over.over;
      },
      look: () => void told.push(`look ${n}`),
      listen: () => void told.push(`listen ${n}`),
    });
  }
  t.ok(asked < 20_000, 'each is asked about once');
  await clock.advance(LOOK_MS);
  const lasting = Array.from({ length: 10 }, (_, n) => n * 1_000);
  t.same(
    told.splice(0),
    lasting.map((n) => `look ${n}`),
  );
  over.over = true;
  await clock.advance(LOOK_MS);
  t.same(
    told.splice(0),
    lasting.map((n) => `listen ${n}`),
    'which does nothing to one that is over',
  );
  t.equal(clock.pending, 0);
});

t.test('a look is due once, however often all before were over', async (t) => {
  const clock = new VirtualClock();
  const watch = new AbortWatch(clock);
  let looks = 0;
  const gone = { over: true, look: () => {}, listen: () => {} };
  for (let n = 0; n < 5_000; n++) watch.add(gone);
  watch.add({ over: false, look: () => void looks++, listen: () => {} });
  await clock.advance(LOOK_MS);
  t.equal(looks, 1);
  await clock.advance(2 * LOOK_MS);
  t.equal(looks, 1);
});
