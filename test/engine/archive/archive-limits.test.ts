import t from 'tap';
import { InflateBudget } from '../../../engine/archive/archive-limits.ts';

const LIMITS = { maxTotalBytes: 1_000, maxFileBytes: 1_000, maxEntries: 10 };

t.test('names of all entries are bounded together', async (t) => {
  const budget = new InflateBudget({ ...LIMITS, maxNameBytes: 100 });
  budget.countEntry(60);
  budget.countEntry(40);
  t.throws(() => budget.countEntry(1), {
    kind: 'rejected',
    message: 'the names of the first 3 entries of the archive have 101 bytes; at most 100 are allowed for all',
  });
});

t.test('time is bounded, in the directory and in the content', async (t) => {
  for (const step of [
    (budget: InflateBudget) => budget.countEntry(1),
    (budget: InflateBudget) => budget.take('a', 0, 0, 1),
  ]) {
    let now = 5_000;
    const budget = new InflateBudget({ ...LIMITS, maxMs: 60_000 }, () => now);
    budget.countEntry(1);
    budget.take('a', 7, 7, 7);
    now += 60_000;
    budget.take('a', 0, 7, 7);
    now += 1;
    t.throws(() => step(budget), {
      kind: 'rejected',
      message: /^to unpack the archive takes longer than the 60 s allowed: after 60 s it was at entry \d and 7 bytes$/,
    });
  }
});

t.test('without such bounds both are free', async (t) => {
  let now = 0;
  const budget = new InflateBudget(LIMITS, () => now);
  now = Number.MAX_SAFE_INTEGER;
  t.doesNotThrow(() => budget.countEntry(1_000_000));
});
