// A process that simulates the seeds it is sent, one message each, and sends back what came of them.

import type { Bug } from './bugs.ts';
import { type SimulationResult, simulate } from './simulate.ts';

export interface SeedOrder {
  readonly seed: number;
  readonly bug?: Bug | undefined;
}

export type SeedReport = SimulationResult;

// Nobody reads the stacks of injected failures, and making them takes longer than anything else.
Error.stackTraceLimit = 0;

// One after the other: a simulation takes over what chance there is in the process.
let last = Promise.resolve();
process.on('message', (order: SeedOrder) => {
  last = last.then(async () => {
    const report: SeedReport = await simulate(order);
    process.send?.(report);
  });
});
