import { join } from 'node:path';
import t from 'tap';
import { CoverageMap } from './coverage-map.ts';
import type { Ranges } from './covered-ranges.ts';
import { importGraph, reachedFrom } from './import-graph.ts';
import { withinBudget } from './judge.ts';
import type { Mutant } from './mutants.ts';
import { Selection } from './selection.ts';

const FILES = new Map(
  Object.entries({
    'engine/a.ts': "import { b } from './b.ts'; import type { C } from './c.ts';",
    'engine/b.ts': 'export const b = 1;',
    'engine/c.ts': "export { type D } from './d.ts'; export type { E } from './e.ts';",
    'engine/d.ts': '',
    'engine/e.ts': '',
    'test/engine/a.test.ts': "import t from 'tap'; import '../../engine/a.ts';",
    'test/engine/b-more.test.ts': "import { suite } from '../conformance/bs.ts';",
    'test/engine/far.test.ts': "const far = await import('../support/site.ts');",
    'test/engine/thread.test.ts':
      "new URL('../support/thread.ts', import.meta.url); join(import.meta.dirname, '..', 'x.ts')",
    'test/conformance/bs.ts': "import { a } from '../../engine/a.ts';",
    'test/support/site.ts': "export * from '../conformance/bs.ts';",
    'test/support/thread.ts': "programThread('engine/c.ts');",
    'test/x.ts': '',
    'engine/program.ts': 'spawn(...programArgv())',
    'test/support/program.ts': 'spawn(...programArgv())',
    'bin/longshore.ts': '',
  }),
);
const TESTS = [...FILES.keys()].filter((file) => file.endsWith('.test.ts'));
const graph = importGraph(FILES);
const selection = new Selection(TESTS, graph);
const mutant = (file: string, runsAt: number): Mutant => ({
  ...{ file, start: runsAt, end: runsAt + 1, line: 1, kind: 'integer', before: '0', after: '1', runsAt, text: '' },
});

const mapIn = (file: string, files: ReadonlyMap<string, string> = FILES) =>
  new CoverageMap(file, (path) => files.get(path));

function keep(
  map: CoverageMap,
  test: string,
  ran: Readonly<Record<string, Ranges>> | undefined,
  ms = 10,
  passed = true,
) {
  const measured = { passed, ms, ran: ran && new Map(Object.entries(ran)) };
  map.keep(test, map.hashOfAll(selection.partsOf(test)), selection.sourcesOf(test), measured);
}

t.test('an import of types loads nothing', async (t) => {
  t.strictSame(
    [...reachedFrom('engine/a.ts', graph)],
    [
      ['engine/a.ts', 0],
      ['engine/b.ts', 1],
    ],
  );
  t.strictSame(graph.get('engine/c.ts'), ['engine/d.ts']);
});

t.test('a file that is named beside import.meta, the entry of a thread, and the program, are loaded', async (t) => {
  const reached = reachedFrom('test/engine/thread.test.ts', graph);
  t.strictSame([graph.get('test/support/program.ts'), graph.get('engine/program.ts')], [['bin/longshore.ts'], []]);
  t.strictSame([...reached.keys()].slice(1), ['test/support/thread.ts', 'test/x.ts', 'engine/c.ts', 'engine/d.ts']);
});

t.test('the files that reach a source are the ones to measure', async (t) => {
  t.strictSame(selection.reaching('engine/d.ts'), ['test/engine/thread.test.ts']);
  t.strictSame(selection.reaching('engine/e.ts'), []);
  t.strictSame(selection.partsOf('test/engine/b-more.test.ts'), [
    'test/engine/b-more.test.ts',
    'test/conformance/bs.ts',
  ]);
});

t.test('the nearest come first, and only those that run the place', async (t) => {
  const map = mapIn(join(t.testdir(), 'map.json'));
  const all: Ranges = [[0, 20]];
  keep(map, 'test/engine/far.test.ts', { 'engine/a.ts': all, 'engine/b.ts': all });
  keep(map, 'test/engine/a.test.ts', { 'engine/a.ts': all, 'engine/b.ts': [[0, 5]] });
  keep(map, 'test/engine/b-more.test.ts', { 'engine/b.ts': all });
  keep(map, 'test/engine/thread.test.ts', { 'engine/b.ts': all });
  const candidates = (file: string, at: number) =>
    selection.candidates(mutant(file, at), map).map(({ test, distance }) => [test.slice(12), distance]);
  t.strictSame(candidates('engine/b.ts', 3), [
    ['b-more.test.ts', 0],
    ['a.test.ts', 2],
    ['far.test.ts', 4],
    ['thread.test.ts', Number.MAX_SAFE_INTEGER],
  ]);
  t.strictSame(candidates('engine/a.ts', 19), [
    ['a.test.ts', 0],
    ['far.test.ts', 3],
  ]);
  t.strictSame(candidates('engine/a.ts', 20), []);
  t.strictSame(candidates('engine/d.ts', 0), []);
});

t.test('of two as far away the quicker comes first, however slow it was when measured', async (t) => {
  const map = mapIn(join(t.testdir(), 'map.json'));
  for (const test of ['test/engine/far.test.ts', 'test/engine/thread.test.ts'])
    keep(map, test, { 'engine/e.ts': [[0, 20]] }, 1_000);
  const first = () => selection.candidates(mutant('engine/e.ts', 3), map)[0]?.test;
  t.equal(first(), 'test/engine/far.test.ts');
  map.took('test/engine/thread.test.ts', 20);
  map.took('test/engine/thread.test.ts', 70);
  t.equal(first(), 'test/engine/thread.test.ts');
  t.strictSame([map.quickestMsOf('test/engine/thread.test.ts'), map.msOf('test/engine/thread.test.ts')], [20, 1_000]);
});

t.test('one that fails without a mutant is not used; one that cannot be measured runs all that it loads', async (t) => {
  const map = mapIn(join(t.testdir(), 'map.json'));
  keep(map, 'test/engine/a.test.ts', undefined, 10, false);
  keep(map, 'test/engine/far.test.ts', undefined);
  t.strictSame(
    selection.candidates(mutant('engine/b.ts', 99), map).map(({ test }) => test),
    ['test/engine/far.test.ts'],
  );
});

t.test('what is measured is kept until the test or the source changes', async (t) => {
  const file = join(t.testdir(), 'map.json');
  const kept = mapIn(file);
  for (const test of TESTS.slice(0, 3)) keep(kept, test, { 'engine/b.ts': [[0, 20]] });
  kept.save();
  const known = (changes: Readonly<Record<string, string>>) => {
    const map = mapIn(file, new Map([...FILES, ...Object.entries(changes)]));
    return ['engine/a.ts', 'engine/b.ts'].flatMap((source) =>
      TESTS.slice(0, 3)
        .filter((test) => map.knows(test, map.hashOfAll(selection.partsOf(test)), source))
        .map((test) => `${test.slice(12, -8)} of ${source.slice(7, -3)}`),
    );
  };
  const all = ['a of a', 'b-more of a', 'far of a', 'a of b', 'b-more of b', 'far of b'];
  t.strictSame(known({}), all);
  t.strictSame(known({ 'engine/b.ts': '2' }), all.slice(0, 3), 'a source');
  t.strictSame(known({ 'test/engine/a.test.ts': '2' }), ['b-more of a', 'far of a', 'b-more of b', 'far of b']);
  t.strictSame(known({ 'test/conformance/bs.ts': '2' }), ['a of a', 'a of b'], 'what tests load');
  const again = mapIn(file, new Map([...FILES, ['engine/a.ts', '2']]));
  t.ok(again.ranAt('test/engine/a.test.ts', 'engine/b.ts', 3), 'what else is known stays');
});

t.test('a map that is cut short is begun anew', async (t) => {
  const dir = t.testdir({ 'map.json': '{"format":' });
  t.notOk(mapIn(join(dir, 'map.json')).passes('test/engine/a.test.ts'));
});

t.test('the nearest get their turn, the others while there is time', async (t) => {
  const ms: Readonly<Record<string, number>> = { own: 80, direct: 90, near: 20, slow: 60, far: 10 };
  const candidates = ['own', 'direct', 'near', 'slow', 'far'].map((test, distance) => ({ test, distance }));
  const chosen = (budget: number) => withinBudget(candidates, budget, (test) => ms[test] ?? 0).map(({ test }) => test);
  t.strictSame(chosen(0), ['own', 'direct']);
  t.strictSame(chosen(200), ['own', 'direct', 'near', 'far']);
  t.strictSame(chosen(260), ['own', 'direct', 'near', 'slow', 'far']);
});
