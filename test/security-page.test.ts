// docs/security.md has each requirement of levels 1 and 2 of OWASP ASVS once, and every test that it names is there. That the
// words of a row are true is for whoever writes it to see.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type HoldingTest, holdingFaults } from './support/holding-tests.ts';

const read = (...path: string[]): string => readFileSync(join(import.meta.dirname, ...path), 'utf8');
const standard = JSON.parse(read('fixtures', 'asvs-5.0.0.json')) as {
  readonly edition: string;
  readonly L1: readonly string[];
  readonly L2: readonly string[];
};
const page = read('..', 'docs', 'security.md');

interface Row {
  readonly number: string;
  readonly level: string;
  readonly state: string;
  readonly reason: string;
  readonly heldBy: readonly HoldingTest[];
}

/** Lines of tables that begin with a number. */
function rowsOf(text: string): readonly Row[] {
  return text.split('\n').flatMap((line) => {
    const [, number = '', level = '', state = '', last = ''] =
      /^\| ([\d.]+) \| ([^|]*) \| ([^|]*) \| (.*) \|$/.exec(line) ?? [];
    if (number === '') return [];
    const [reason = '', ...tests] = last.split('<br>');
    const heldBy = tests.map((one) => {
      const [, file = one, test = ''] = /^`([^`]+)` (.+)$/.exec(one) ?? [];
      return { file, test: test.replaceAll(/\\([\\|<>*_`])/g, '$1') };
    });
    return [{ number, level, state, reason, heldBy }];
  });
}

function faultsOf({ number, state, reason, heldBy }: Row): readonly string[] {
  const faults = [...holdingFaults(heldBy)];
  if (!['met', 'not met', 'n/a'].includes(state)) faults.push(`'${state}' is none of met, not met, n/a`);
  if (state === 'met' && heldBy.length === 0) faults.push('it is met, and no test shows it');
  if (state === 'n/a' && heldBy.length > 0) faults.push('it is not applicable, and a test shows it');
  if (!/^[\p{Lu}`[].*[.]$/u.test(reason)) faults.push(`'${reason}' is no sentence`);
  return faults.map((fault) => `${number}: ${fault}`);
}

const rows = rowsOf(page);

t.test('each requirement of levels 1 and 2 is on the page once, under its level, and no other is', async (t) => {
  const inOrder = (one: string, other: string): number => one.localeCompare(other, 'en', { numeric: true });
  const wanted = [...standard.L1.map((number) => `${number} 1`), ...standard.L2.map((number) => `${number} 2`)];
  t.strictSame(
    rows.map(({ number, level }) => `${number} ${level}`),
    wanted.sort(inOrder),
  );
  t.strictSame([standard.L1.length, standard.L2.length], [70, 183], 'as many as the standard has');
  t.match(page, `ASVS ${standard.edition}`);
});

t.test('each row says why, and every test that it names is there', async (t) => {
  t.strictSame(rows.flatMap(faultsOf), []);
});

t.test('the page counts its rows right', async (t) => {
  const count = (state: string): number => rows.filter((row) => row.state === state).length;
  t.match(page, `${count('met')} are met, ${count('not met')} are not met, ${count('n/a')} are not applicable.`);
});

t.test('each fault of a row of the security page is told', async (t) => {
  const file = 'test/security-page.test.ts';
  const test = 'the page counts its rows right';
  const faults = (state: string, last: string): readonly string[] =>
    rowsOf(`| 1.2.3 | 1 | ${state} | ${last} |`).flatMap(faultsOf);
  t.strictSame(faults('met', `So it is.<br>\`${file}\` ${test}`), []);
  t.strictSame(faults('n/a', 'There is none.'), []);
  t.strictSame(faults('met', 'So it is.'), ['1.2.3: it is met, and no test shows it']);
  t.strictSame(faults('n/a', `None.<br>\`${file}\` ${test}`), ['1.2.3: it is not applicable, and a test shows it']);
  t.strictSame(faults('perhaps', 'So it is.'), ["1.2.3: 'perhaps' is none of met, not met, n/a"]);
  t.strictSame(faults('not met', ''), ["1.2.3: '' is no sentence"]);
  t.strictSame(faults('met', `So it is.<br>\`${file}\` the page has another name`), [
    `1.2.3: ${file} has no test 'the page has another name'`,
  ]);
  t.strictSame(faults('met', `So it is.<br>\`test/none.test.ts\` ${test}`), [
    '1.2.3: there is no file test/none.test.ts',
  ]);
});
