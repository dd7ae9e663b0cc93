import t from 'tap';
import type { Mutant } from './mutants.ts';
import { sample } from './sample.ts';

const mutant = (file: string, start: number): Mutant => ({
  ...{
    file,
    start,
    end: start + 1,
    line: 1,
    kind: 'integer',
    before: '0',
    after: '1',
    runsAt: start,
    text: `${start}`,
  },
});
const many = (file: string, count: number): readonly Mutant[] =>
  Array.from({ length: count }, (_, i) => mutant(file, i));
const all = [...many('big.ts', 500), ...many('small.ts', 3), ...many('tiny.ts', 1)];
const yes = (): boolean => true;
const filesOf = (mutants: readonly Mutant[]): readonly string[] => mutants.map(({ file }) => file).sort();

t.test('the same seed draws the same', async (t) => {
  t.strictSame(sample(all, 20, 7, yes), sample(all, 20, 7, yes));
  t.notSame(sample(all, 20, 7, yes), sample(all, 20, 8, yes));
});

t.test('a small sample is the beginning of a large one', async (t) => {
  t.strictSame(sample(all, 30, 7, yes).slice(0, 9), sample(all, 9, 7, yes));
});

t.test('every file gives one before any gives its second', async (t) => {
  t.strictSame(filesOf(sample(all, 3, 7, yes)), ['big.ts', 'small.ts', 'tiny.ts']);
  t.strictSame(filesOf(sample(all, 5, 7, yes)), ['big.ts', 'big.ts', 'small.ts', 'small.ts', 'tiny.ts']);
});

t.test('nothing is drawn twice, and no more than there is', async (t) => {
  const drawn = sample(all, 1_000, 7, yes);
  t.equal(drawn.length, all.length);
  t.equal(new Set(drawn).size, all.length);
});

t.test('what is not sound is replaced by what comes next', async (t) => {
  const first = sample(all, 9, 7, yes);
  const without = sample(all, 8, 7, (mutant) => mutant !== first[0]);
  t.notOk(without.includes(first[0] as Mutant));
  t.equal(without.length, 8);
});

t.test('what goes leaves the order of what stays', async (t) => {
  const left = all.filter(({ file, start }) => file !== 'tiny.ts' && start % 10 > 0);
  const ofBig = (mutants: readonly Mutant[]) =>
    sample(mutants, 60, 7, yes).filter((mutant) => mutant.file === 'big.ts' && left.includes(mutant));
  const before = ofBig(all);
  t.strictSame(ofBig(left).slice(0, before.length), before);
  t.ok(before.length > 40, 'most of them');
});
