// That the simulation can be replayed. Whether it finds what it should is asked by `npm run test:simulation -- --planted`.

import t from 'tap';
import { aliveAfter } from '../support/live-objects.ts';
import { SimProcess } from './sim-process.ts';
import { simulate } from './simulate.ts';
import { World } from './world.ts';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

const ended: Awaited<ReturnType<typeof simulate>>[] = [];

t.test('twenty seeds end as they must', async (t) => {
  for (const seed of SEEDS) {
    const end = await simulate({ seed });
    t.strictSame(end.violations, [], `seed ${seed}`);
    ended.push(end);
  }
});

t.test('a seed gives the same history every time, and others give other histories', async (t) => {
  for (const seed of [1, 2, 3]) t.strictSame(await simulate({ seed }), ended[seed - 1]);
  t.equal(new Set(ended.map(({ digest }) => digest)).size, SEEDS.length);
});

t.test('of a simulation nothing is kept, not even of processes that ended in the middle of everything', async (t) => {
  const simulateAll = async (): Promise<void> => {
    for (const seed of SEEDS.slice(0, 6)) await simulate({ seed });
  };
  t.equal(await aliveAfter(simulateAll, World), 0);
  t.equal(await aliveAfter(() => undefined, SimProcess), 0);
});
