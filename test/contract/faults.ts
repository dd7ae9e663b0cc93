// What is wrong with a run of the contract's tests: rows that nothing proves, tests that are no row, answers not seen.

import type { RunResult } from '../run/suite.ts';
import type { Seen } from './recorder.ts';
import type { Service } from './tables.ts';

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

/**
 * Operations of two services may have one name: what one of them showed proves nothing of the other.
 * @param services must have been seen
 * @param exceptions `service operationId code` of successes that no test can bring about, and why
 */
export function answerFaults(
  kept: readonly Seen[],
  services: readonly Service[],
  exceptions: Readonly<Record<string, string>> = {},
): readonly string[] {
  const all = (pick: (one: Seen) => readonly string[]): ReadonlySet<string> =>
    new Set(kept.flatMap((one) => pick(one).map((answer) => `${one.service} ${answer}`)));
  const [documented, seen] = [all((one) => one.documented), all((one) => one.seen)];
  return [
    ...services
      .filter((service) => !kept.some((one) => one.service === service && one.documented.length > 0))
      .map((service) => `no test kept what it saw of the ${service}`),
    ...[...documented].filter((one) => !seen.has(one) && !(one in exceptions)).map((one) => `no test saw '${one}'`),
    ...Object.keys(exceptions)
      .filter((one) => seen.has(one) || !documented.has(one))
      .map((one) => `'${one}' is no exception`),
  ];
}
