// Where handler jobs wait and run: a bounded number of places, some of which run. A place is taken before the upload is
// read, so that nobody sends 500 MB only to be refused.
//
//   reserve --place free--> reserved (its upload comes in) --run--> waiting --worker free--> running --> place free
//           --none free---> undefined                      --dispose----------------------------------> place free
//   quiet   no more places are given      stop   reserved and running ones may finish until shortly before the deadline
//   hurried, kill   running work has its signal aborted, waiting work is begun with one that is aborted already

import { Lifecycle, type LifecycleOptions } from '../../engine/lifecycle.ts';
import { Mailbox } from '../../engine/mailbox.ts';
import type { Gauge, Metrics } from '../../engine/metrics.ts';

export interface HandlerLaneOptions extends LifecycleOptions {
  /** Jobs that may wait, those whose upload comes in included. */
  readonly queueSize: number;
  /** Jobs that may run. */
  readonly workerCount: number;
  readonly metrics: Metrics;
}

type Work<Result> = (signal: AbortSignal) => Promise<Result>;

/** Disposing frees it unless work was given to it, which frees it at its end. */
export interface Place extends Disposable {
  /** Once. Always begins the work, with an aborted signal when the lane ends first; settles as the work does. */
  run<Result>(work: Work<Result>): Promise<Result>;
}

export class HandlerLane extends Lifecycle {
  readonly #options: HandlerLaneOptions;
  readonly #waiting: Mailbox<Work<void>>;
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

  /** Undefined while there is none. */
  reserve(): Place | undefined {
    if (this.draining.aborted || this.#taken === this.capacity) return undefined;
    this.#taken++;
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      this.#taken--;
      this.#closeWhenEmpty();
    };
    let given = false;
    return {
      run: (work) => {
        given = true;
        return this.#submit(work).finally(leave);
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
      cut = this.#waiting.drain().map((work) => work(this.hurried));
    };
    this.hurried.addEventListener('abort', cutWaiting, { once: true });
    await Promise.all(Array.from({ length: this.#options.workerCount }, () => this.#runWaiting()));
    await Promise.all(cut);
  }

  async #runWaiting(): Promise<void> {
    while (!this.hurried.aborted) {
      const work = await this.#waiting.take(this.hurried).catch(() => undefined);
      if (!work) return;
      this.#running++;
      await work(this.hurried);
      this.#running--;
    }
  }

  #submit<Result>(work: Work<Result>): Promise<Result> {
    const outcome = Promise.withResolvers<Result>();
    const job = async (signal: AbortSignal): Promise<void> => {
      try {
        outcome.resolve(await work(signal));
      } catch (error) {
        outcome.reject(error);
      }
    };
    // There is room for every place; only a lane that has ended refuses.
    if (!this.#waiting.offer(job)) void job(this.hurried);
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

const handlerPlaces = (metrics: Metrics): Gauge<'state'> =>
  metrics.gauge('handler_places', 'Places for handler jobs; waiting ones may still be uploading.', ['state']);
