// Every promise of the product has a test, the test is there, and the page shows both. That the test fails when the promise
// is broken is for whoever writes the row to see.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import t from 'tap';
import { KINDS, PROMISES, type PromiseRow, rowsOf } from './promises.ts';
import { isOf, SUITES } from './run/suites.ts';
import { holdingFaults, testSource } from './support/holding-tests.ts';
import { linesOfPage, tableLines } from './support/promises-page.ts';
import { testNames } from './support/test-names.ts';

const root = join(import.meta.dirname, '..');
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

const rows = KINDS.flatMap(rowsOf);
const MOST_WORDS = 25;

/** What is wrong with one row by itself. */
function faultsOf({ id, promise, heldBy }: PromiseRow, read: (file: string) => string | undefined): readonly string[] {
  const faults: string[] = [];
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id)) faults.push('its id is not in kebab-case');
  if (!/^\S.*[^.]\.$/.test(promise) || /[.!?] [A-Z]/.test(promise)) faults.push('its promise is not one sentence');
  if (promise.split(' ').length > MOST_WORDS) faults.push(`its promise has more than ${MOST_WORDS} words`);
  if (heldBy.length === 0) faults.push('no test holds it');
  faults.push(...holdingFaults(heldBy, read));
  return faults.map((fault) => `${id}: ${fault}`);
}

t.test('every promise is one short sentence, and every test that holds it is there', async (t) => {
  t.strictSame(
    rows.flatMap((row) => faultsOf(row, testSource)),
    [],
  );
  t.ok(rows.length > 100);
});

t.test('no two promises have the same id', async (t) => {
  const ids = rows.map(({ id }) => id);
  t.strictSame(
    ids.filter((id, at) => ids.indexOf(id) !== at),
    [],
  );
  const groups = KINDS.flatMap((kind) => Object.entries(PROMISES[kind]));
  t.strictSame(
    groups.filter(([, { length }]) => length === 0).map(([group]) => group),
    [],
    'groups without a promise',
  );
});

t.test('every file that holds a promise belongs to a suite, or is run by one that does', async (t) => {
  const files = globSync('test/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] });
  const importers = new Map<string, string[]>();
  for (const file of files)
    for (const [, path = ''] of textOf(file).matchAll(/from '(\.[^']+)'/g)) {
      const imported = posix.join(dirname(file), path);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  const isRun = (file: string, seen: ReadonlySet<string> = new Set()): boolean =>
    (file.endsWith('.test.ts') && Object.values(SUITES).some((suite) => isOf(suite, file))) ||
    (importers.get(file) ?? []).some((one) => !seen.has(one) && isRun(one, new Set([...seen, file])));
  t.strictSame(
    rows.flatMap(({ id, heldBy }) => heldBy.filter(({ file }) => !isRun(file)).map(({ file }) => `${id}: ${file}`)),
    [],
  );
  t.notOk(isRun('test/promises/none.ts'));
});

t.test('test/README.md shows every promise and its tests, and no other', async (t) => {
  const page = linesOfPage(textOf('test/README.md'));
  const made = tableLines();
  t.strictSame(
    made.filter((line) => !page.includes(line)),
    [],
    'add these lines',
  );
  t.strictSame(
    page.filter((line) => !made.includes(line)),
    [],
    'remove these lines',
  );
  t.strictSame(page, made, 'in this order');
});

t.test('the tables name only files that are there', async (t) => {
  const paths = tableLines().flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path));
  t.strictSame(
    [...new Set(paths)].filter((path) => globSync(join('test', path), { cwd: root }).length === 0),
    [],
  );
});

t.test('each fault of a row is told', async (t) => {
  const file = 'test/some.test.ts';
  const read = (path: string): string | undefined =>
    path === file ? "t.test('holds what was said', async () => {});" : undefined;
  const sound: PromiseRow = { id: 'said', promise: 'It is.', heldBy: [{ file, test: 'holds what was said' }] };
  const faults = (change: Partial<PromiseRow>): readonly string[] => faultsOf({ ...sound, ...change }, read);
  t.strictSame(faults({}), []);
  t.strictSame(faults({ id: 'Said' }), ['Said: its id is not in kebab-case']);
  t.strictSame(faults({ promise: 'It is. It was.' }), ['said: its promise is not one sentence']);
  t.strictSame(faults({ promise: `${'so '.repeat(25)}it is.` }), ['said: its promise has more than 25 words']);
  t.strictSame(faults({ heldBy: [] }), ['said: no test holds it']);
  t.strictSame(faults({ heldBy: [{ file: 'test/none.test.ts', test: 'holds what was said' }] }), [
    'said: there is no file test/none.test.ts',
  ]);
  t.strictSame(faults({ heldBy: [{ file, test: 'holds something else' }] }), [
    `said: ${file} has no test 'holds something else'`,
  ]);
  t.strictSame(faults({ heldBy: [...sound.heldBy, ...sound.heldBy] }), ['said: it names a test twice']);
  t.match(faults({ heldBy: [{ file, test: 'a … of …' }] }), [/has no test/, /hardly a word/]);
});

t.test('names of tests are found, and those of tests that never run are not', async (t) => {
  const source = `
    // t.test('in a comment', async () => {});
    /** t.test('in another one', async () => {}); */
    t.test('plain', async (t) => {
      await t.test("it's nested", async () => {});
    });
    test('bare', () => {});
    fact(
      'of a suite, over lines',
      async () => {},
    );
    for (const { name, at } of all)
      t.test(\`\${name}: cut at '\${at({ n: \`\${1}\` })}', whole\`, { timeout: 5 }, async () => {});
    t.test(name, async () => {});
    t.test('skipped when it cannot run', { skip: !able && 'not here' }, async () => {});
    t.test('always skipped', { skip: true }, async () => {});
    t.test('skipped with a reason', { skip: 'later' }, async () => {});
    t.test('to be done', { todo: true }, async () => {});
    t.test('without a body');
    t.skip('skipped by name', async () => {});
    if (/x/.test('of a pattern')) pattern.test('of another');
  `;
  t.strictSame(testNames(source), [
    'plain',
    "it's nested",
    'bare',
    'of a suite, over lines',
    "…: cut at '…', whole",
    'skipped when it cannot run',
  ]);
});
