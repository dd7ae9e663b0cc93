// Has many seeds simulated by several processes at once. Results come in the order in which they are ready.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SeedOrder, SeedReport } from './worker.ts';

/** Sent ahead, so that no worker waits for its next seed. */
const AHEAD = 4;

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
  let open = true;
  const work = async (worker: ChildProcess): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const under = new Set<number>();
    const next = (): void => {
      while (open && under.size < AHEAD) {
        const order = queue.next();
        if (order.done) break;
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
    worker.disconnect();
    await once(worker, 'exit');
  };
  const children = Array.from({ length: workers }, () => fork(join(import.meta.dirname, 'worker.ts')));
  try {
    await Promise.all(children.map(work));
  } finally {
    for (const child of children) child.kill();
  }
}
