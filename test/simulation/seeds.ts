// Has many seeds simulated by several processes at once. Results come in the order in which they are ready.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SeedOrder, SeedReport } from './worker.ts';

/** Sent ahead, so that no worker waits for its next seed. */
const AHEAD = 4;
/** What one worker simulates before a fresh one takes its place: what a world leaves behind must not add up. */
const SEEDS_PER_WORKER = 500;

/**
 * @param onReport hears of every seed; false = begin no more
 * @throws when a worker dies: a simulation must not end its process
 */
export async function simulateAll(
  orders: Iterable<SeedOrder>,
  onReport: (report: SeedReport) => boolean,
  workers = Math.max(1, availableParallelism()),
): Promise<void> {
  const queue = orders[Symbol.iterator]();
  const children = new Set<ChildProcess>();
  let open = true;

  /** @returns whether more seeds may follow */
  const generation = async (): Promise<boolean> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const worker = fork(join(import.meta.dirname, 'worker.ts'));
    children.add(worker);
    const under = new Set<number>();
    let sent = 0;
    const next = (): void => {
      while (open && under.size < AHEAD && sent < SEEDS_PER_WORKER) {
        const order = queue.next();
        if (order.done) {
          open = false;
          break;
        }
        sent++;
        under.add(order.value.seed);
        worker.send(order.value);
      }
      if (under.size === 0) resolve();
    };
    worker.on('message', (report: SeedReport) => {
      under.delete(report.seed);
      if (!onReport(report)) open = false;
      next();
    });
    worker.once('exit', (code) => reject(new Error(`a worker ended with ${code} while it had seeds ${[...under]}`)));
    next();
    await promise;
    worker.removeAllListeners('exit');
    const ended = once(worker, 'exit');
    worker.disconnect();
    await ended;
    children.delete(worker);
    return open;
  };

  const generations = async (): Promise<void> => {
    while (await generation());
  };
  try {
    await Promise.all(Array.from({ length: workers }, generations));
  } finally {
    for (const child of children) child.kill();
  }
}
