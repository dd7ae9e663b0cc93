// What is wrong with a run of the contract's tests: rows that nothing proves, tests that are no row, answers not seen.

import type { RunResult } from '../support/run.ts';
import type { Seen } from './recorder.ts';

/** A row counts when every test of its name ran and passed, and there is one. */
export function rowFaults(rows: Readonly<Record<string, string>>, tests: RunResult['tests']): readonly string[] {
  const named = (wanted: boolean): ReadonlySet<string> =>
    new Set(tests.filter(({ ok }) => ok === wanted).map(({ name }) => name));
  const [passed, failed] = [named(true), named(false)];
  return [
    ...Object.keys(rows)
      .filter((id) => !passed.has(id) || failed.has(id))
      .map((id) => `no test of '${id}' ran and passed`),
    ...tests.filter(({ name }) => !Object.hasOwn(rows, name)).map(({ name, file }) => `'${name}' of ${file} is no row`),
  ];
}

/** @param exceptions `operationId code` of successes that no test can bring about, and why */
export function answerFaults(
  kept: readonly Seen[],
  exceptions: Readonly<Record<string, string>> = {},
): readonly string[] {
  const documented = new Set(kept.flatMap((file) => file.documented));
  const seen = new Set(kept.flatMap((file) => file.seen));
  if (documented.size === 0) return ['no test kept what it saw'];
  return [
    ...[...documented].filter((one) => !seen.has(one) && !(one in exceptions)).map((one) => `no test saw '${one}'`),
    ...Object.keys(exceptions)
      .filter((one) => seen.has(one) || !documented.has(one))
      .map((one) => `'${one}' is no exception`),
  ];
}
