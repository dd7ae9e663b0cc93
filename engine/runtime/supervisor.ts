// A supervisor: starts children in order, each after the one before is ready, restarts a child that crashes, stops in reverse
// order.
//
//   a child crashes         it is stopped and replaced by a new one after a growing delay; the others are not affected
//   it crashes too often    (more than `restarts` times in `periodMs`) all are stopped and the supervisor itself crashes
//   it cannot start         transient: retried like a restart, while the next ones start; otherwise the start fails
// Transient failures do not count towards "too often", because we wait for unavailable dependencies.

import { Actor, type ActorOptions, type Child, type ChildSpec } from './actor.ts';
import { aborted, defect, kindOf, messageOf } from './failure.ts';
import type { Counter, Metrics } from './metrics.ts';
import { Backoff, DELAYS, type Delays } from './retry.ts';
import { settledWithin, unlessAborted } from './wait.ts';

/** The delays are those between restarts. */
interface RestartPolicy extends Delays {
  readonly restarts: number;
  readonly periodMs: number;
}

const DEFAULT_RESTARTS: RestartPolicy = { restarts: 5, periodMs: 60_000, ...DELAYS.child };

export interface SupervisorOptions extends ActorOptions {
  readonly children: readonly ChildSpec[];
  readonly restart?: RestartPolicy;
  /** Time for one crashed child to stop, and for all when the supervisor crashes; default 5 s. */
  readonly cleanupMs?: number;
  /** Stops all children at the same time instead of one after the other: for children that do not depend on each other. */
  readonly stopTogether?: boolean;
  readonly metrics: Metrics;
}

export interface ChildStatus {
  readonly name: string;
  readonly state: 'waiting' | 'running' | 'down' | 'stopped';
  readonly restarts: number;
  /** Why it is down, or was last down. */
  readonly failure: string | undefined;
}

interface Seat {
  readonly spec: ChildSpec;
  readonly backoff: Backoff;
  child: Child | undefined;
  state: ChildStatus['state'];
  startedAt: number;
  restarts: number;
  failure: string | undefined;
}

export class Supervisor extends Actor {
  readonly #options: SupervisorOptions;
  readonly #policy: RestartPolicy;
  readonly #seats: readonly Seat[];
  /** Aborted when no child may be restarted any more: when draining or giving up. */
  readonly #over = new AbortController();
  readonly #escalated = Promise.withResolvers<never>();
  readonly #restarts: Counter<'child'>;
  /** Instants of the crashes that count. */
  #crashes: number[] = [];

  constructor(options: SupervisorOptions) {
    super(options);
    this.#options = options;
    this.#policy = options.restart ?? DEFAULT_RESTARTS;
    const names = options.children.map((spec) => spec.name);
    const twice = names.find((name, i) => name === '' || names.indexOf(name) !== i);
    if (twice !== undefined) throw defect(`supervisor '${options.name}': child name '${twice}' is empty or not unique`);
    this.#seats = options.children.map((spec) => ({
      spec,
      backoff: new Backoff(this.#policy),
      child: undefined,
      state: 'waiting',
      startedAt: 0,
      restarts: 0,
      failure: undefined,
    }));
    this.#restarts = options.metrics.counter('supervisor_restarts_total', 'Children restarted.', ['child']);
    // Starts at zero, so that the first restart shows as an increase.
    for (const child of names) this.#restarts.inc({ child }, 0);
    this.#escalated.promise.catch(() => {});
    this.draining.addEventListener('abort', () => this.#quietAll(), { once: true });
    this.ended.addEventListener('abort', () => this.#each((child) => child.kill()), { once: true });
  }

  /** For health: every child in start order. */
  statuses(): ChildStatus[] {
    return this.#seats.map(({ spec, state, restarts, failure }) => ({ name: spec.name, state, restarts, failure }));
  }

  protected override async open(signal: AbortSignal): Promise<void> {
    try {
      for (const seat of this.#seats) await this.#open(seat, signal);
    } catch (error) {
      await this.#stopAll(Math.min(this.deadline, this.clock.now() + this.#cleanupMs));
      throw error;
    }
  }

  protected override async work(): Promise<void> {
    try {
      await unlessAborted(this.#escalated.promise, this.stopping);
    } catch (error) {
      if (!this.stopping.aborted) {
        await this.#stopAll(this.clock.now() + this.#cleanupMs);
        throw error;
      }
    }
    await this.#stopAll(this.ended.aborted ? this.clock.now() : this.deadline);
  }

  get #cleanupMs(): number {
    return this.#options.cleanupMs ?? 5000;
  }

  #quietAll(): void {
    this.#over.abort(aborted('shutdown'));
    this.#each((child) => child.quiet());
  }

  #each(act: (child: Child) => void): void {
    for (const { child } of this.#seats) if (child) act(child);
  }

  async #open(seat: Seat, signal: AbortSignal): Promise<void> {
    try {
      await this.#startChild(seat, signal);
    } catch (error) {
      if (signal.aborted || kindOf(error) !== 'transient') throw error;
      this.#down(seat, error, 'a child could not start; retrying');
      void this.#restart(seat);
    }
  }

  async #startChild(seat: Seat, signal: AbortSignal): Promise<void> {
    const child = seat.spec.create();
    // Stored before it is ready, so that a stop meanwhile reaches it.
    seat.child = child;
    if (this.#over.signal.aborted) child.quiet();
    await child.start(signal);
    seat.state = 'running';
    seat.startedAt = this.clock.now();
    child.broken.catch((error: unknown) => this.#crashed(seat, error));
  }

  #crashed(seat: Seat, error: unknown): void {
    if (this.#over.signal.aborted) return;
    if (this.clock.now() - seat.startedAt >= this.#policy.periodMs) seat.backoff.succeeded();
    this.#down(seat, error, 'a child crashed');
    if (this.#tooOften(seat, error)) return;
    void this.#restart(seat);
  }

  #down(seat: Seat, error: unknown, message: string): void {
    seat.state = 'down';
    seat.failure = messageOf(error);
    const kind = kindOf(error);
    this.log[kind === 'transient' ? 'warn' : 'error']({ child: seat.spec.name, kind, err: seat.failure }, message);
  }

  #tooOften(seat: Seat, error: unknown): boolean {
    if (kindOf(error) === 'transient') return false;
    const now = this.clock.now();
    const { restarts, periodMs } = this.#policy;
    this.#crashes = [...this.#crashes.filter((at) => now - at < periodMs), now];
    if (this.#crashes.length <= restarts) return false;
    const text = `'${this.name}' gives up: children crashed ${this.#crashes.length} times in ${periodMs / 1000} s`;
    this.#escalated.reject(defect(`${text}, last '${seat.spec.name}': ${messageOf(error)}`, { cause: error }));
    return true;
  }

  /** Never rejects; resolves when the child runs, or the supervisor drains or gives up. */
  async #restart(seat: Seat): Promise<void> {
    for (;;) {
      if (seat.child) await this.#stopChild(seat, this.clock.now() + this.#cleanupMs);
      const rested = await this.clock.sleep(seat.backoff.failed(), this.#over.signal).then(
        () => true,
        () => false,
      );
      if (!rested) return;
      try {
        seat.restarts++;
        this.#restarts.inc({ child: seat.spec.name });
        await this.#startChild(seat, this.stopping);
        this.log.info({ child: seat.spec.name }, 'a child was restarted');
        return;
      } catch (error) {
        if (this.#over.signal.aborted) return;
        this.#down(seat, error, 'a child could not be restarted');
        if (this.#tooOften(seat, error)) return;
      }
    }
  }

  async #stopAll(deadline: number): Promise<void> {
    this.#quietAll();
    const seats = this.#seats.filter((seat) => seat.child).reverse();
    if (this.#options.stopTogether) {
      await Promise.all(seats.map((seat) => this.#stopChild(seat, deadline)));
      return;
    }
    // A child that uses up its time must leave some for the children that stop after it.
    const left = Math.max(0, deadline - this.clock.now());
    const share = Math.min(1000, left / 2 / Math.max(1, seats.length));
    for (const [i, seat] of seats.entries()) {
      await this.#stopChild(seat, deadline - share * (seats.length - 1 - i));
    }
  }

  async #stopChild(seat: Seat, deadline: number): Promise<void> {
    const { child } = seat;
    if (!child) return;
    const inTime = await settledWithin(this.clock, Math.max(0, deadline - this.clock.now()), child.stop(deadline));
    if (!inTime) this.log.warn({ child: seat.spec.name }, 'a child did not stop in time');
    child.kill();
    if (seat.state === 'running') seat.state = 'stopped';
    if (seat.child === child) seat.child = undefined;
  }
}
