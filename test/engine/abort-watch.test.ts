import t from 'tap';
import { AbortWatch, LOOK_MS } from '../../engine/abort-watch.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';

t.test('what is added is looked at once, and begins to listen at the look after it', async (t) => {
  const clock = new VirtualClock();
  const watch = new AbortWatch(clock);
  let told: string[] = [];
  const add = (name: string): void =>
    watch.add({ look: () => void told.push(`look ${name}`), listen: () => void told.push(`listen ${name}`) });
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
