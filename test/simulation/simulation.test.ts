// That the simulation can be replayed. Whether it finds what it should is asked by `npm run test:simulation -- --planted`.

import t from 'tap';
import { simulate } from './simulate.ts';

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
