import t from 'tap';
import { AbortWatch } from '../../engine/abort-watch.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';

t.test('what is added begins to listen a moment later, all of that moment at once and each once', async (t) => {
  const clock = new VirtualClock();
  const watch = new AbortWatch(clock);
  const told: string[] = [];
  const add = (name: string): void => watch.add({ listen: () => void told.push(name) });
  add('a');
  add('b');
  t.same(told, []);
  await clock.advance(1);
  t.same(told, ['a', 'b']);
  add('c');
  await clock.advance(1);
  t.same(told, ['a', 'b', 'c']);
  await clock.advance(10);
  t.same(told, ['a', 'b', 'c']);
});
