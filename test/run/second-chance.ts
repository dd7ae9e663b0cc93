// A file that failed is run once more, alone. A stall of the machine can turn a sound file red; a fault in the code
// fails twice. What passes only the second time is named as flaky, so that somebody looks for the cause.

import type { FileResult } from './tap-run.ts';

/** More flaky files than this fail a run: then it is no longer chance. */
export const MOST_FLAKY = 3;
/** With more failed files than this the code is wrong, and running them again would only take time. */
const MOST_REPEATED = 10;

export interface SecondChance {
  /** The second result of each file that passed the second time, the first result of all others. */
  readonly results: readonly FileResult[];
  /** First results of the files that passed the second time. */
  readonly flaky: readonly FileResult[];
}

export async function secondChance(
  first: readonly FileResult[],
  runAlone: (file: string) => Promise<readonly FileResult[]>,
): Promise<SecondChance> {
  const suspects = first.filter(({ failed }) => failed > 0);
  if (suspects.length > MOST_REPEATED) return { results: first, flaky: [] };
  const results = new Map(first.map((result) => [result.file, result]));
  const flaky: FileResult[] = [];
  for (const suspect of suspects) {
    const again = await runAlone(suspect.file);
    const [second] = again;
    if (again.length !== 1 || second?.file !== suspect.file || second.failed > 0 || second.passed === 0) continue;
    flaky.push(suspect);
    results.set(suspect.file, second);
  }
  return { results: [...results.values()], flaky };
}
