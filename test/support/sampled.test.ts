import t from 'tap';
import { sample } from './sampled.ts';

const rows = Array.from({ length: 100 }, (_, i) => i);
const chosen = (oneIn: number, seed: string) => sample(rows, String, oneIn, seed);

t.test('one row in N, in their order, the same for the same seed', async (t) => {
  t.equal(chosen(6, '7').length, 17);
  t.same(chosen(6, '7'), chosen(6, '7'));
  t.same(
    chosen(6, '7'),
    [...chosen(6, '7')].sort((a, b) => a - b),
  );
  t.notSame(chosen(6, '7'), chosen(6, '8'));
  t.same(chosen(1, '7'), rows);
});

t.test('every row comes up under some seed, and one row always stays', async (t) => {
  const seen = new Set(Array.from({ length: 60 }, (_, seed) => chosen(6, `${seed}`)).flat());
  t.equal(seen.size, rows.length);
  t.equal(sample([1, 2], String, 50, '7').length, 1);
});
