// That the simulation can be replayed. Whether it finds what it should is asked by `npm run test:simulation -- --planted`.

import t from 'tap';
import { aliveAfter } from '../support/live-objects.ts';
import { SimProcess } from './sim-process.ts';
import { simulate } from './simulate.ts';
import { World } from './world.ts';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

t.test('twenty seeds end as they must', async (t) => {
  for (const seed of SEEDS) t.strictSame((await simulate({ seed })).violations, [], `seed ${seed}`);
});

t.test('a seed gives the same history every time', async (t) => {
  for (const seed of [1, 2, 3]) t.strictSame(await simulate({ seed }), await simulate({ seed }));
});

t.test('other seeds give other histories', async (t) => {
  const seen = new Set<string>();
  for (const seed of [4, 5, 6]) seen.add((await simulate({ seed })).digest);
  t.equal(seen.size, 3);
});

t.test('of a simulation nothing is kept, not even of processes that ended in the middle of everything', async (t) => {
  const simulateAll = async (): Promise<void> => {
    for (const seed of SEEDS) await simulate({ seed });
  };
  t.equal(await aliveAfter(simulateAll, World), 0);
  t.equal(await aliveAfter(() => undefined, SimProcess), 0);
});
