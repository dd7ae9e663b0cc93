// Shows one mutant to its test files, one after the other, until one notices.

import type { CoverageMap } from './coverage-map.ts';
import { type Mutant, mutated } from './mutants.ts';
import type { Candidate } from './selection.ts';
import type { WorkingCopy } from './working-copy.ts';

export type Verdict =
  | { readonly kind: 'killed' | 'timeout'; readonly by: string; readonly failure: string; readonly ms: number }
  /** `left` test files run it, too, but did not get their turn. */
  | { readonly kind: 'survived'; readonly asked: readonly string[]; readonly left: number; readonly ms: number }
  | { readonly kind: 'not covered' };

export interface JudgeOptions {
  readonly map: CoverageMap;
  readonly textOf: (file: string) => string;
  /** Test files get their turn while they took less than this together when nothing was mutated. */
  readonly budgetMs: number;
}

export async function judge(
  mutant: Mutant,
  candidates: readonly Candidate[],
  copy: WorkingCopy,
  { map, textOf, budgetMs }: JudgeOptions,
  signal: AbortSignal,
): Promise<Verdict> {
  if (candidates.length === 0) return { kind: 'not covered' };
  const chosen = withinBudget(candidates, budgetMs, (test) => map.quickestMsOf(test));
  const began = performance.now();
  const ms = (): number => Math.round(performance.now() - began);
  await copy.write(mutant.file, mutated(textOf(mutant.file), mutant));
  try {
    for (const { test, distance } of chosen) {
      let run = await copy.run(test, limitMs(map.msOf(test)), signal);
      // Long stories fail now and then on a busy machine: they have to say it twice.
      if (run.end === 'failed' && distance > 1) run = await copy.run(test, limitMs(map.msOf(test)), signal);
      if (run.end === 'passed') map.took(test, run.ms);
      if (run.end === 'timeout') return { kind: 'timeout', by: test, failure: '', ms: ms() };
      if (run.end === 'failed') return { kind: 'killed', by: test, failure: run.failure.slice(-300), ms: ms() };
    }
    const asked = chosen.map(({ test }) => test);
    return { kind: 'survived', asked, left: candidates.length - asked.length, ms: ms() };
  } finally {
    await copy.write(mutant.file, textOf(mutant.file));
  }
}

/** Long enough for a machine that others use, too. */
const limitMs = (normalMs: number): number => 10_000 + 4 * normalMs;

/** Those that are nearest, whatever they take, and of the others as many as the budget has room for. */
export function withinBudget(
  candidates: readonly Candidate[],
  budgetMs: number,
  msOf: (test: string) => number,
): readonly Candidate[] {
  let spent = 0;
  return candidates.filter(({ test, distance }) => {
    if (distance > 1 && spent + msOf(test) > budgetMs) return false;
    spent += msOf(test);
    return true;
  });
}
