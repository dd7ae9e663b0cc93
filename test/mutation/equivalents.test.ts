import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type Equivalent, Equivalents, entryOf } from './equivalents.ts';
import { mutantsOf } from './mutants.ts';
import { score, survivors, table } from './score.ts';

const SOURCE = 'if (a < 1) b = c;\n';

t.test('an equivalent is known by its line, wherever that has moved', async (t) => {
  const [boundary] = mutantsOf('engine/a.ts', SOURCE);
  if (!boundary) throw new Error('no mutant');
  const entry: Equivalent = { ...entryOf(boundary), reason: 'a is whole' };
  const { kind, ...other } = entry;
  const equivalents = new Equivalents([entry, { ...other, kind: 'gone' }]);
  const moved = mutantsOf('engine/a.ts', `// more\n\n${SOURCE}`);
  t.strictSame(moved.map((mutant) => equivalents.reasonOf(mutant)).slice(0, 2), ['a is whole', undefined]);
  t.strictSame(equivalents.stale(moved), [{ ...other, kind: 'gone' }]);
  t.strictSame(equivalents.stale([]).length, 2);
  t.equal(equivalents.reasonOf({ ...boundary, file: 'engine/b.ts' }), undefined);
  t.equal(kind, 'boundary');
});

t.test('every listed equivalent has a reason and is listed once', async (t) => {
  const entries: readonly Equivalent[] = JSON.parse(readFileSync(join(import.meta.dirname, 'equivalent.json'), 'utf8'));
  t.strictSame(
    entries.filter(({ reason }) => reason.length < 10),
    [],
  );
  const keys = entries.map(({ reason: _, ...key }) => JSON.stringify(key));
  t.equal(new Set(keys).size, keys.length);
});

t.test('the score counts what was noticed among what could be', async (t) => {
  const [a, b, c, d] = mutantsOf('engine/a.ts', SOURCE);
  if (!a || !b || !c || !d) throw new Error('four mutants');
  const other = { ...d, file: 'http/d.ts' };
  const judged = [
    { mutant: a, verdict: { kind: 'killed', by: 'x', failure: '', ms: 1 } },
    { mutant: b, verdict: { kind: 'timeout', by: 'x', failure: '', ms: 1 } },
    { mutant: c, verdict: { kind: 'equivalent', reason: 'so' } },
    { mutant: d, verdict: { kind: 'survived', asked: ['x', 'y'], left: 3, ms: 1 } },
    { mutant: other, verdict: { kind: 'not covered' } },
  ] as const;
  t.equal(score(judged), 50);
  t.equal(score([]), 100);
  t.strictSame(
    table(judged).map((line) => line.split(/ +/).join(' ')),
    [
      'area mutants killed timeout survived not covered equivalent score',
      'http-kernel 1 0 0 0 1 0 0.0%',
      'kernel 4 1 1 1 0 1 66.7%',
      'all 5 1 1 1 1 1 50.0%',
    ],
  );
  t.strictSame(survivors(judged), [
    'engine/a.ts:1 branch: "b = c;" -> "{}" (2 test files of 5)',
    'http/d.ts:1 branch: "b = c;" -> "{}" (not covered)',
  ]);
});
