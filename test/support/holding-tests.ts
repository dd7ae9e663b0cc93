// Whether the tests that a page or a table names are there.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILLED_IN, testNames } from './test-names.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** A test that fails when what it holds is broken. */
export interface HoldingTest {
  /** From the root of the project: a test file, or a conformance suite that test files run. */
  readonly file: string;
  /** As the file has it. Where the name is a template, `…` stands for each value that is filled in. */
  readonly test: string;
}

/** Words of a name that are its own, so that it can be told from others. */
const LEAST_OWN = 10;

/** The text of a file of tests; undefined when it is none, or not there. */
export const testSource = (file: string): string | undefined =>
  /^test\/.*\.ts$/.test(file) && existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : undefined;

/** What is wrong with the tests that one row names. */
export function holdingFaults(
  heldBy: readonly HoldingTest[],
  read: (file: string) => string | undefined = testSource,
): readonly string[] {
  const faults: string[] = [];
  for (const { file, test } of heldBy) {
    const source = read(file);
    if (source === undefined) faults.push(`there is no file ${file}`);
    else if (!testNames(source).includes(test)) faults.push(`${file} has no test '${test}'`);
    if (test.replaceAll(FILLED_IN, '').replaceAll(/[^\p{L}]/gu, '').length < LEAST_OWN)
      faults.push(`'${test}' has hardly a word of its own`);
  }
  const named = heldBy.map(({ file, test }) => `${file} ${test}`);
  if (new Set(named).size < named.length) faults.push('it names a test twice');
  return faults;
}
