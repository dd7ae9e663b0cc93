// A lane over a source in memory, whose jobs run until the test ends them.

import type { Test } from 'tap';
import { Lane } from '../../../engine/jobs/lane.ts';
import type { Completion, LaneOptions, LaneSource } from '../../../engine/jobs/lane-options.ts';
import { messageOf } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

export interface Job {
  readonly id: number;
}
export interface Outcome {
  readonly kind: 'done' | 'failed' | 'abandoned' | 'retry' | 'dead';
  readonly text?: string;
  readonly countsAttempt?: boolean;
  readonly failure?: 'defect';
}
interface Call {
  readonly done: readonly string[];
  readonly limit: number;
}

/**
 * A source in memory that notes every call; `hold` keeps them waiting, `failure` makes them fail. What is given back
 * may be claimed again, as in the job table.
 */
export class FakeSource implements LaneSource<Job, Outcome> {
  readonly queue: Job[] = [];
  readonly written: string[] = [];
  readonly calls: Call[] = [];
  failure: Error | undefined;
  hold: Promise<void> | undefined;
  busy = 0;
  mostBusy = 0;
  wake: () => void = () => {};
  skips = (): boolean => false;
  waitsForWorker = (): boolean => false;
  watched = false;

  add(...ids: number[]): void {
    this.queue.push(...ids.map((id) => ({ id })));
    this.wake();
  }

  watch(wake: () => void): () => void {
    this.watched = true;
    this.wake = wake;
    return () => {
      this.watched = false;
    };
  }

  async completeAndFetch(
    done: readonly Completion<Job, Outcome>[],
    limit: number,
    signal: AbortSignal,
  ): Promise<Job[]> {
    this.mostBusy = Math.max(this.mostBusy, ++this.busy);
    const texts = done.map(({ job, outcome }) => [job.id, outcome.kind, outcome.text].filter(Boolean).join(' '));
    this.calls.push({ done: texts, limit });
    try {
      await this.hold;
      signal.throwIfAborted();
      if (this.failure) throw this.failure;
      this.written.push(...texts);
      this.queue.push(...done.filter(({ outcome }) => outcome.kind === 'abandoned').map(({ job }) => job));
      const claimed = this.queue.splice(0, limit);
      if (limit > 0 && claimed.length >= limit) this.wake();
      return claimed;
    } finally {
      this.busy--;
    }
  }
}

export async function laneWorld(t: Test, options: Partial<LaneOptions<Job, Outcome>> = {}) {
  const clock = new VirtualClock(0);
  const source = new FakeSource();
  const metrics = new Metrics();
  /** The last run of each job, in the order of their first. */
  const runs = new Map<number, PromiseWithResolvers<Outcome> & { readonly signal: AbortSignal }>();
  const begun: number[] = [];
  const running = new Set<number>();
  const lane = new Lane<Job, Outcome>({
    name: 'import',
    clock,
    log: silentLogger(),
    metrics,
    queueSize: 4,
    workerCount: 2,
    pollMs: 5000,
    source,
    run: (job, signal) => {
      const run = { ...Promise.withResolvers<Outcome>(), signal };
      runs.set(job.id, run);
      begun.push(job.id);
      running.add(job.id);
      return run.promise.finally(() => running.delete(job.id));
    },
    settle: (error) => ({ kind: 'failed', text: messageOf(error) }),
    abandon: () => ({ kind: 'abandoned' }),
    idOf: (job) => job.id,
    ...options,
  });
  t.teardown(() => lane.kill());
  await lane.start(new AbortController().signal);
  await clock.settle();
  const finish = async (...ids: number[]): Promise<void> => {
    for (const id of ids) runs.get(id)?.resolve({ kind: 'done' });
    await clock.settle();
  };
  const add = async (...ids: number[]): Promise<void> => {
    source.add(...ids);
    await clock.settle();
  };
  const heed = (id: number): void => {
    const run = runs.get(id);
    run?.signal.addEventListener('abort', () => run.reject(run.signal.reason), { once: true });
  };
  return { clock, source, metrics, lane, runs, begun, running, finish, add, heed };
}
