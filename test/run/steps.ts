// One step of a landing or of a full run: a check, which counts as one, or a suite, which closes with its own
// `N passed, N failed`.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { MOST_FLAKY } from './second-chance.ts';
import { root } from './suites.ts';

export interface Step {
  readonly name: string;
  /** Run by `sh`, one after the other; `node` is the one that runs this. */
  readonly run: string;
  /** It prints no count. */
  readonly check?: true;
}

export interface StepResult {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly flaky: readonly string[];
  readonly seconds: number;
}

/** Prints what the step prints. Never rejects: a step that cannot be run has failed. */
export async function runStep({ name, run, check }: Step): Promise<StepResult> {
  console.log(`== ${name}: ${run}`);
  const begun = performance.now();
  const child = spawn('sh', ['-c', run], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  // A signal that ended it leaves no code.
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  let count: RegExpMatchArray | null = null;
  const flaky: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line);
    count = line.match(/^(\d+) passed, (\d+) failed$/) ?? count;
    const file = /^flaky: (\S+)$/.exec(line)?.[1];
    if (file !== undefined) flaky.push(file);
  }
  const code = await ended;
  const seconds = (performance.now() - begun) / 1000;
  if (check) {
    if (code !== 0) console.log(`FAIL ${name} exited with ${code}`);
    return { name, passed: Number(code === 0), failed: Number(code !== 0), flaky, seconds };
  }
  const [passed, failed] = [Number(count?.[1] ?? 0), Number(count?.[2] ?? 0)];
  const silent = failed === 0 && (code !== 0 || count === null);
  if (silent)
    console.log(`FAIL ${name} ${count === null ? 'printed no count' : 'failed no test'} and exited with ${code}`);
  return { name, passed, failed: failed + Number(silent), flaky, seconds };
}

export interface Total {
  readonly passed: number;
  readonly failed: number;
  readonly flaky: readonly string[];
}

/** Prints a line for each step. More flaky files than a suite may have fail the whole, too. */
export function summary(results: readonly StepResult[]): Total {
  for (const { name, passed, failed, seconds } of results)
    console.log(`${seconds.toFixed(0).padStart(5)} s  ${name}: ${passed} passed, ${failed} failed`);
  const flaky = results.flatMap((result) => result.flaky);
  for (const file of flaky) console.log(`flaky: ${file}`);
  const tooMany = flaky.length > MOST_FLAKY;
  if (tooMany) console.log(`FAIL ${flaky.length} files passed only when run again; at most ${MOST_FLAKY} may`);
  const total = (of: 'passed' | 'failed' | 'seconds'): number => results.reduce((sum, result) => sum + result[of], 0);
  console.log(`${total('seconds').toFixed(0).padStart(5)} s  in all`);
  return { passed: total('passed'), failed: total('failed') + Number(tooMany), flaky };
}
