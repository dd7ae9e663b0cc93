// The result of the last full run, kept in the repository: a landing relies on it for what the landing leaves out.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  readonly suites: Readonly<
    Record<string, { readonly passed: number; readonly failed: number; readonly seconds: number }>
  >;
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
