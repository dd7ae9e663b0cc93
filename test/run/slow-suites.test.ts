import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { chooseSlow, SLOW_SECONDS, SLOW_SUITES, type SlowSuite } from './slow-suites.ts';
import { filesOf, root, SUITES, type Suite } from './suites.ts';

/** Suites of test/run/suites.ts that a landing always runs. */
const ALWAYS = ['unit', 'integration', 'matrix', 'contract', 'e2e-short'];
/** Suites that a slow suite runs whole, by its name there. */
const WHOLE = ['memory', 'binary', 'observability', 'documents', 'browser'];

t.test('every test file is run by a landing or by a slow suite', async (t) => {
  const run = new Set([...ALWAYS, ...WHOLE].flatMap((name) => filesOf(SUITES[name] as Suite)));
  for (const { run: command } of SLOW_SUITES)
    for (const word of command.split(' ')) if (word.endsWith('.test.ts')) run.add(word);
  t.same(
    globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] }).filter((file) => !run.has(file)),
    [],
  );
});

t.test('slow suites name test files and paths that exist', async (t) => {
  for (const { name, run, touchedBy } of SLOW_SUITES) {
    for (const word of run.split(' ')) if (word.endsWith('.ts')) t.ok(existsSync(join(root, word)), word);
    for (const start of touchedBy) t.not(globSync(`${start}*`, { cwd: root }).length, 0, `${name}: ${start}`);
  }
});

const suites = [
  { name: 'a', run: 'node test/a.test.ts', seconds: 100, touchedBy: ['engine/a'] },
  { name: 'b', run: 'true', seconds: 150, touchedBy: ['engine/'] },
  { name: 'c', run: 'true', seconds: 140, touchedBy: ['engine/'] },
  { name: 'd', run: 'true', seconds: 900, touchedBy: ['http/'] },
  { name: 'e', run: 'node test/e.test.ts', seconds: 10, touchedBy: ['engine/e', 'bin/'], fullOnly: true },
] as const satisfies readonly SlowSuite[];
const names = (changed: readonly string[], turn: number, seconds = SLOW_SECONDS) => {
  const { chosen, left } = chooseSlow(suites, changed, turn, seconds);
  return [chosen.map(({ name }) => name).join(''), left.map(({ name }) => name).join('')];
};

t.test('a change runs the suites it touches, by its code or by their own tests', async (t) => {
  t.same(names(['http/kernel/server/server.ts'], 0), ['d', '']);
  t.same(names(['engine/b.ts'], 0, 290), ['bc', '']);
  t.same(names(['test/a.test.ts'], 3), ['a', '']);
});

t.test('a change that touches none runs one, each in its turn', async (t) => {
  t.same(
    [0, 1, 2, 3, 4].map((turn) => names(['README.md'], turn)[0]),
    ['a', 'b', 'c', 'd', 'a'],
  );
});

t.test('suites beyond the time are left out and named; the turn says which begin', async (t) => {
  t.same(names(['engine/a.ts'], 0, 249), ['ac', 'b']);
  t.same(names(['engine/a.ts'], 0, 250), ['ab', 'c']);
  t.same(names(['engine/a.ts'], 2, 250), ['ca', 'b']);
});

t.test('what is for full runs alone is in no landing; what touches it is told', async (t) => {
  t.same(names(['bin/longshore.ts'], 1), ['b', 'e']);
  t.same(names(['test/e.test.ts', 'test/a.test.ts'], 4), ['a', 'e']);
});

t.test('one suite always runs, however long it takes', async (t) => {
  t.same(names(['http/kernel/server/server.ts'], 0, 10), ['d', '']);
});
