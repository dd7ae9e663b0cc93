// Where handler jobs wait and run: a bounded number of places, some of which run. A place is taken before the upload is
// read, so that nobody sends 500 MB only to be refused. An owner may have as many places as are free: alone half of them, and
// however many come, there is one left for somebody else. Of the jobs that wait, the first of the owner whose turn it is runs.
//
//   reserve --place free--> reserved (its upload comes in) --run--> waiting --worker free--> running --> place free
//           --none left---> undefined                      --dispose----------------------------------> place free
//   quiet   no more places are given      stop   reserved and running ones may finish until shortly before the deadline
//   hurried, kill   running work has its signal aborted, waiting work is begun with one that is aborted already

import { Mailbox } from '../../engine/jobs/mailbox.ts';
import type { HandlerPlace, HandlerPlaces } from '../../engine/ports/handler-jobs.ts';
import { Actor, type ActorOptions } from '../../engine/runtime/actor.ts';
import { Turns } from '../../engine/runtime/fair-share.ts';
import type { Gauge, Metrics } from '../../engine/runtime/metrics.ts';

interface HandlerLaneOptions extends ActorOptions {
  /** Jobs that may wait, those whose upload comes in included. */
  readonly queueSize: number;
  /** Jobs that may run. */
  readonly workerCount: number;
  readonly metrics: Metrics;
}

type Work<Result> = (signal: AbortSignal) => Promise<Result>;

interface Waiting {
  readonly owner: string;
  readonly work: Work<void>;
}

export class HandlerLane extends Actor implements HandlerPlaces {
  readonly #options: HandlerLaneOptions;
  readonly #waiting: Mailbox<Waiting>;
  readonly #turns = new Turns();
  /** Places by owner. */
  readonly #held = new Map<string, number>();
  readonly #runningBy = new Map<string, number>();
  readonly #places: Gauge<'state'>;
  #taken = 0;
  #running = 0;

  constructor(options: HandlerLaneOptions) {
    super(options);
    this.#options = options;
    this.#waiting = new Mailbox(this.capacity);
    this.#places = handlerPlaces(options.metrics);
    this.draining.addEventListener('abort', () => this.#closeWhenEmpty(), { once: true });
  }

  get capacity(): number {
    return this.#options.queueSize + this.#options.workerCount;
  }

  get taken(): number {
    return this.#taken;
  }

  get running(): number {
    return this.#running;
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** Undefined while there is none, or the owner has its share. */
  reserve(owner: string): HandlerPlace | undefined {
    const [held, free] = [this.heldBy(owner), this.capacity - this.#taken];
    if (this.draining.aborted || held >= free) return undefined;
    this.#taken++;
    count(this.#held, owner, 1);
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      this.#taken--;
      count(this.#held, owner, -1);
      this.#closeWhenEmpty();
    };
    let given = false;
    return {
      run: (work) => {
        given = true;
        return this.#submit(owner, work).finally(leave);
      },
      [Symbol.dispose]: () => {
        if (!given) leave();
      },
    };
  }

  protected override async open(): Promise<void> {}

  protected override async work(): Promise<void> {
    using cleanup = new DisposableStack();
    cleanup.defer(this.#options.metrics.onScrape(() => this.#show()));
    let cut: readonly Promise<void>[] = [];
    const cutWaiting = (): void => {
      this.#waiting.close();
      // Their callers still have to hear of the end.
      cut = this.#waiting.drain().map(({ work }) => work(this.hurried));
    };
    this.hurried.addEventListener('abort', cutWaiting, { once: true });
    await Promise.all(Array.from({ length: this.#options.workerCount }, () => this.#runWaiting()));
    await Promise.all(cut);
  }

  async #runWaiting(): Promise<void> {
    while (!this.hurried.aborted) {
      const next = await this.#waiting.take(this.hurried, this.#rankOf).catch(() => undefined);
      if (!next) return;
      this.#running++;
      count(this.#runningBy, next.owner, 1);
      this.#turns.began(next.owner);
      await next.work(this.hurried);
      count(this.#runningBy, next.owner, -1);
      this.#running--;
    }
  }

  readonly #rankOf = ({ owner }: Waiting): number => this.#turns.rankOf(owner, this.#runningBy.get(owner) ?? 0);

  #submit<Result>(owner: string, work: Work<Result>): Promise<Result> {
    const outcome = Promise.withResolvers<Result>();
    const job = async (signal: AbortSignal): Promise<void> => {
      try {
        outcome.resolve(await work(signal));
      } catch (error) {
        outcome.reject(error);
      }
    };
    // There is room for every place; only a lane that has ended refuses.
    if (!this.#waiting.offer({ owner, work: job })) void job(this.hurried);
    return outcome.promise;
  }

  #closeWhenEmpty(): void {
    if (this.draining.aborted && this.#taken === 0) this.#waiting.close();
  }

  #show(): void {
    this.#places.set({ state: 'free' }, this.capacity - this.#taken);
    this.#places.set({ state: 'waiting' }, this.#taken - this.#running);
    this.#places.set({ state: 'running' }, this.#running);
  }
}

function count(by: Map<string, number>, owner: string, change: 1 | -1): void {
  const now = (by.get(owner) ?? 0) + change;
  if (now === 0) by.delete(owner);
  else by.set(owner, now);
}

const handlerPlaces = (metrics: Metrics): Gauge<'state'> =>
  metrics.gauge('handler_places', 'Places for handler jobs; waiting ones may still be uploading.', ['state']);
