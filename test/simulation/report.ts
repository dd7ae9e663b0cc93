// What the simulation prints.

import type { Bug } from './bugs.ts';
import { FAULTS, type FaultCounts, noFaults } from './faults.ts';
import type { SimulationResult } from './simulate.ts';

const HOUR_MS = 3_600_000;
const TAIL = 30;

export class Tally {
  readonly #counts: FaultCounts = noFaults();
  readonly #begunMs: number;
  readonly #now: () => number;
  readonly #ends: Record<string, number> = {};
  #steps = 0;
  #virtualMs = 0;
  passed = 0;
  failed = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#begunMs = now();
  }

  add({ counts, steps, ends, virtualMs, violations }: SimulationResult): void {
    for (const [state, datasets] of Object.entries(ends)) this.#ends[state] = (this.#ends[state] ?? 0) + datasets;
    for (const fault of FAULTS) this.#counts[fault] += counts[fault];
    this.#steps += steps;
    this.#virtualMs += virtualMs;
    if (violations.length === 0) this.passed++;
    else this.failed++;
  }

  print(): void {
    const seconds = (this.#now() - this.#begunMs) / 1000;
    const seeds = this.passed + this.failed;
    const rate = `${(seeds / seconds).toFixed(1)} seeds/s`;
    const hours = `${(this.#virtualMs / HOUR_MS).toFixed(1)} h of virtual time`;
    console.log(`${seeds} seeds in ${seconds.toFixed(1)} s (${rate}), ${this.#steps} steps, ${hours}`);
    const ends = Object.entries(this.#ends).sort(([one], [other]) => (one < other ? -1 : 1));
    console.log(`datasets that ended ${ends.map(([state, datasets]) => `${state}: ${datasets}`).join(', ')}`);
    console.log('faults injected:');
    const width = Math.max(...FAULTS.map((fault) => fault.length));
    for (const fault of FAULTS) console.log(`  ${fault.padEnd(width)} ${String(this.#counts[fault]).padStart(9)}`);
  }
}

export function printFailure({ seed, violations, tail }: SimulationResult, bug: Bug | undefined): void {
  console.log(`FAIL seed ${seed}`);
  for (const violation of violations) console.log(`  ${violation}`);
  console.log(`  the last ${TAIL} lines of its trace:`);
  for (const line of tail.slice(-TAIL)) console.log(`    ${line}`);
  const planted = bug ? ` --bug ${bug}` : '';
  console.log(`  replay: npm run test:simulation -- --seeds 1 --from ${seed} --trace${planted}`);
}
