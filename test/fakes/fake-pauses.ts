// Pauses in memory: one table for all processes, one view of it per process.

import type { Pause, PausePlace, Pauses, PauseWait } from '../../engine/ports/pauses.ts';
import type { JobTable } from './fake-jobs.ts';

export class PauseTable {
  readonly jobs: JobTable;
  readonly pauses = new Map<string, Pause>();
  readonly waits = new Map<string, PauseWait>();
  readonly #watchers = new Set<() => void>();

  constructor(jobs: JobTable) {
    this.jobs = jobs;
    jobs.waitsForPause = (lane, dataset) =>
      [...this.waits.values()].some((waiting) => waiting.lane === lane && waiting.dataset === dataset);
  }

  /** In a later turn, as a notification would. */
  changed(): void {
    queueMicrotask(() => {
      for (const watcher of [...this.#watchers]) watcher();
    });
  }

  watch(changed: () => void): () => void {
    const mine = (): void => changed();
    this.#watchers.add(mine);
    queueMicrotask(() => {
      if (this.#watchers.has(mine)) mine();
    });
    return () => this.#watchers.delete(mine);
  }

  inForce(place: PausePlace): Pause | undefined {
    const pause = this.pauses.get(keyOf(place));
    return pause && (pause.until?.getTime() ?? Number.POSITIVE_INFINITY) > this.jobs.clock.now() ? pause : undefined;
  }
}

const keyOf = ({ kind, name }: PausePlace): string => `${kind} ${name}`;

export class FakePauses implements Pauses {
  readonly #table: PauseTable;

  constructor(table: PauseTable) {
    this.#table = table;
  }

  list: Pauses['list'] = async (signal) => {
    signal.throwIfAborted();
    const pauses = [...this.#table.pauses.values()].filter((pause) => this.#table.inForce(pause));
    return pauses.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  };

  set: Pauses['set'] = async (order, signal) => {
    signal.throwIfAborted();
    const since = this.#table.inForce(order)?.since ?? new Date(this.#table.jobs.clock.now());
    const pause = { ...order, since };
    this.#table.pauses.set(keyOf(order), pause);
    this.#table.changed();
    return pause;
  };

  end: Pauses['end'] = async (place, signal) => {
    signal.throwIfAborted();
    const wasInForce = this.#table.inForce(place) !== undefined;
    if (this.#table.pauses.delete(keyOf(place))) this.#table.changed();
    return wasInForce;
  };

  wait: Pauses['wait'] = async (waiting, signal) => {
    signal.throwIfAborted();
    this.#table.waits.set(`${keyOf(waiting)} ${waiting.lane} ${waiting.dataset}`, waiting);
  };

  release: Pauses['release'] = async (signal) => {
    signal.throwIfAborted();
    const { jobs, waits } = this.#table;
    let released = 0;
    for (const [key, waiting] of [...waits]) {
      const job = jobs.get(waiting.lane, waiting.dataset);
      if (this.#table.inForce(waiting) || job?.state === 'running') continue;
      waits.delete(key);
      if (job?.state !== 'delayed' || job.runAt <= jobs.clock.now()) continue;
      jobs.put({ ...job, runAt: jobs.clock.now() });
      jobs.wake(job.lane);
      released++;
    }
    return released;
  };

  watch(changed: () => void): () => void {
    return this.#table.watch(changed);
  }
}
