// The result of the last full run, kept in the repository: a landing relies on it for what the landing leaves out.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MOST_FLAKY } from './second-chance.ts';
import { root } from './suites.ts';

export const FULL_RUN_FILE = 'test/last-full-run.json';
/** In commits. */
const OLDEST = 150;

export interface FullRun {
  readonly commit: string;
  /** ISO 8601, when it ended. */
  readonly date: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly flaky: readonly string[];
  readonly suites: Readonly<Record<string, SuiteResult>>;
}

interface SuiteResult {
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** When it was red at the commit of the run, and run again: of the later one. */
  readonly commit?: string;
}

/** The run without suites that are no more. */
export function ofToday(run: FullRun, steps: readonly { readonly name: string }[]): FullRun {
  const known = ([name]: readonly [string, SuiteResult]): boolean => steps.some((step) => step.name === name);
  return { ...run, suites: Object.fromEntries(Object.entries(run.suites).filter(known)) };
}

/** Those that failed in a run, or that it does not know. */
export function redSteps<S extends { readonly name: string }>({ suites }: FullRun, steps: readonly S[]): readonly S[] {
  return steps.filter(({ name }) => suites[name]?.failed !== 0);
}

/** A run, or what a run of its red steps makes of an earlier one: that one's commit, and so its age, stays. */
export function joined(
  before: FullRun | undefined,
  now: Pick<FullRun, 'commit' | 'date' | 'flaky'> & { readonly results: readonly (SuiteResult & { name: string })[] },
): FullRun {
  const repeated = before ? { commit: now.commit } : {};
  const fresh = now.results.map(({ name, passed, failed, seconds }): [string, SuiteResult] => [
    name,
    { passed, failed, seconds: Math.round(seconds), ...repeated },
  ]);
  const suites = { ...before?.suites, ...Object.fromEntries(fresh) };
  const sum = (of: 'passed' | 'failed' | 'seconds') => Object.values(suites).reduce((all, one) => all + one[of], 0);
  const flaky = [...(before?.flaky ?? []), ...now.flaky];
  const failed = sum('failed') + Number(flaky.length > MOST_FLAKY);
  return {
    commit: before?.commit ?? now.commit,
    ...{ date: now.date, seconds: sum('seconds'), passed: sum('passed'), failed, flaky, suites },
  };
}

/** Why a landing must not rely on it. `commitsSince` throws when it does not know the commit. */
export function fullRunFault(
  commitsSince: (commit: string) => number,
  file = join(root, FULL_RUN_FILE),
): string | undefined {
  if (!existsSync(file)) return 'missing; `npm run test:full` writes it';
  const { commit, failed }: FullRun = JSON.parse(readFileSync(file, 'utf8'));
  if (failed > 0) return `${failed} tests failed at ${commit}; mend them and run \`npm run test:full\` again`;
  let age: number;
  try {
    age = commitsSince(commit);
  } catch (cause) {
    return `commit ${commit} is not in this history: ${String(cause)}`;
  }
  if (age > OLDEST) return `${age} commits old, at most ${OLDEST} are allowed; run \`npm run test:full\``;
  return undefined;
}
