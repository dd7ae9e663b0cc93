// The whole tool over a product of one file.

import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { testDatabase } from '../support/database.ts';
import { CoverageMap } from './coverage-map.ts';
import { Equivalents } from './equivalents.ts';
import { importGraph } from './import-graph.ts';
import { mutantsOf } from './mutants.ts';
import { Run } from './mutation-run.ts';
import { Selection } from './selection.ts';
import { Tree } from './tree.ts';

const SOURCE = `export function grow(most: number): number {
  let size: number = 1;
  while (size < most) size += 2;
  return size;
}
export const unused = (a: number): number => a * 3;
`;
/** Prints TAP by itself: the product has no packages. */
const test = (condition: string): string => `import { grow } from '../../engine/size.ts';
console.log((${condition}) ? 'ok 1' : 'not ok 1 - grows');
`;

async function setup(t: Test, tests: Readonly<Record<string, string>>) {
  const dir = t.testdir({ tree: { engine: { 'size.ts': SOURCE }, test: { engine: tests } }, work: {} });
  const root = join(dir, 'tree');
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
  ])
    execFileSync('git', args, { cwd: root });
  const tree = new Tree(root);
  const { port, password } = await testDatabase(t);
  const said: string[] = [];
  const map = new CoverageMap(join(dir, 'map.json'), (file) => tree.textOf(file));
  const run = await Run.start({
    ...{ tree, map, selection: new Selection(tree.tests(['unit']), importGraph(tree.code)), dir: join(dir, 'work') },
    ...{ equivalents: new Equivalents([]), server: { port, password }, workers: 2, budgetMs: 10_000 },
    progress: (line) => said.push(line),
  });
  t.teardown(() => run[Symbol.asyncDispose]());
  return { root, work: join(dir, 'work'), run, said, mutants: mutantsOf('engine/size.ts', SOURCE) };
}

const never = new AbortController().signal;

t.test('each mutant has its verdict, and the tree stays as it is', async (t) => {
  const { root, run, mutants } = await setup(t, {
    'size.test.ts': test('grow(4) === 5'),
    'other.test.ts': "console.log('ok 1')",
  });
  // The one that never ends is not among these: its time limit is for real tests.
  const judged = await run.judgeAll(
    mutants.filter(({ after }) => after !== '-='),
    never,
  );
  t.strictSame(
    judged.map(({ mutant: { kind, after }, verdict }) => `${kind} ${after} ${verdict.kind}`),
    [
      'integer 2 killed',
      'boundary <= survived',
      'comparison >= killed',
      'integer 3 killed',
      'return undefined killed',
      'arithmetic / not covered',
      'integer 4 not covered',
    ],
  );
  t.match(judged[0]?.verdict, { by: 'test/engine/size.test.ts', failure: 'not ok 1 - grows' });
  t.match(judged[1]?.verdict, { asked: ['test/engine/size.test.ts'], left: 0 });
  t.equal(await readFile(join(root, 'engine/size.ts'), 'utf8'), SOURCE);
});

t.test('a test file that fails without a mutant is reported and not used', async (t) => {
  const { run, said, mutants } = await setup(t, { 'size.test.ts': test('grow(4) === 4') });
  const judged = await run.judgeAll(mutants.slice(0, 1), never);
  t.strictSame(judged[0]?.verdict, { kind: 'not covered' });
  t.match(said, [/^measured 1\/1/, 'not used, it fails without a mutant: test/engine/size.test.ts\nnot ok 1 - grows']);
});

t.test('ends when it is told to, with what it started', async (t) => {
  const stop = new AbortController();
  // The file tells that it has begun by a file of its own, and never ends.
  const { work, run, mutants } = await setup(t, {
    'size.test.ts': `import { writeFileSync } from 'node:fs';
import { grow } from '../../engine/size.ts';
writeFileSync(process.env.TMPDIR + '/' + process.pid, '');
setInterval(() => grow(1), 1000);`,
  });
  const judged = run.judgeAll(mutants, stop.signal);
  const pid = await begun(work);
  stop.abort(new Error('enough'));
  await t.rejects(judged, { message: 'enough' });
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

/** The number of the process that the test file runs in. */
async function begun(work: string): Promise<number> {
  for (;;) {
    const found = (await readdir(work, { recursive: true })).find((path) => /^copy-\d+\/tmp\/\d+$/.test(path));
    if (found) return Number(found.split('/').at(-1));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
