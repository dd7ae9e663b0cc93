import t from 'tap';
import { secondChance } from './second-chance.ts';
import type { FileResult } from './tap-run.ts';

const result = (file: string, passed: number, failed: number): FileResult => ({
  ...{ file, passed, failed, seconds: 1, tests: [] },
  failures: Array.from({ length: failed }, (_, i) => `${file} > ${i}`),
});

t.test('a file that failed is run once more, and is flaky when it passes then', async (t) => {
  const runs: string[] = [];
  const { results, flaky } = await secondChance(
    [result('a', 5, 0), result('b', 4, 1), result('c', 1, 2)],
    async (file) => {
      runs.push(file);
      return [file === 'b' ? result('b', 5, 0) : result('c', 2, 1)];
    },
  );
  t.same(runs, ['b', 'c']);
  t.same(results, [result('a', 5, 0), result('b', 5, 0), result('c', 1, 2)]);
  t.same(flaky, [result('b', 4, 1)]);
});

t.test('a second run that tests nothing, or reports something else as well, clears nobody', async (t) => {
  for (const again of [[], [result('b', 0, 0)], [result('b', 5, 0), result('tap', 0, 1)]]) {
    const { results, flaky } = await secondChance([result('b', 4, 1)], async () => again);
    t.same([results, flaky], [[result('b', 4, 1)], []]);
  }
});

t.test('when more than ten files fail, none is run again', async (t) => {
  const first = (count: number) => Array.from({ length: count }, (_, i) => result(`${i}`, 0, 1));
  const again = async (file: string) => [result(file, 1, 0)];
  t.equal((await secondChance(first(11), again)).flaky.length, 0);
  t.equal((await secondChance(first(10), again)).flaky.length, 10);
});
