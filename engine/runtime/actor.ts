// Implements the states of a child for everything in the kernel that runs. A subclass writes two methods:
//   open(signal)   gets ready. A stop aborts the signal at once. If it throws, it must have cleaned up.
//   work()         works until `draining`, finishes its work, releases its resources, resolves. Called once after open.
//
// Four signals mark the stages of shutdown; each implies those before it:
//   draining   quiet: take nothing new
//   stopping   stop: give back what has not started, finish what runs
//   hurried    shortly before the deadline, or kill: running work must give up; results are still written
//   ended      deadline or kill: nothing may wait any longer

import { aborted, defect, messageOf } from './failure.ts';
import { JoinedSignal } from './joined-signal.ts';
import type { Logger } from './log.ts';
import type { Clock } from './time.ts';
import { settledUnless } from './wait.ts';

// The lifecycle contract of everything that runs under the supervisor.
//
//   new --start--> running --quiet--> draining --stop(deadline)--> stopped
// stop, quiet and kill are allowed in every state, any number of times, even before start.

export interface Child {
  readonly name: string;
  /** Resolves when ready to work; rejects when it cannot start. Called once. */
  start(signal: AbortSignal): Promise<void>;
  /** Takes no new work; running work continues. */
  quiet(): void;
  /** Finishes or gives up by `deadline` (ms since 1970) and resolves; never rejects. */
  stop(deadline: number): Promise<void>;
  /** Ends at once, even if work is lost. */
  kill(): void;
  /** Rejects when a running child crashes; otherwise stays pending forever. The supervisor then restarts the child. */
  readonly broken: Promise<never>;
}

/** How the supervisor creates a child; each restart creates a new one. */
export interface ChildSpec {
  readonly name: string;
  readonly create: () => Child;
}

export interface ActorOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** From `hurried` to the deadline: time to write the last results. At most half of the remaining time; default 2 s. */
  readonly marginMs?: number;
}

export abstract class Actor implements Child {
  readonly name: string;
  readonly broken: Promise<never>;
  protected readonly clock: Clock;
  protected readonly log: Logger;
  readonly #marginMs: number;
  readonly #draining = new AbortController();
  readonly #stopping = new AbortController();
  readonly #hurried = new AbortController();
  readonly #ended = new AbortController();
  readonly #break: (error: unknown) => void;
  #life: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #deadline = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};

  constructor(options: ActorOptions) {
    this.name = options.name;
    this.clock = options.clock;
    this.log = options.log.child({ actor: options.name });
    this.#marginMs = options.marginMs ?? 2000;
    const broken = Promise.withResolvers<never>();
    // Without a supervisor there may be no listener, and an unhandled rejection would end the process.
    broken.promise.catch(() => {});
    this.broken = broken.promise;
    this.#break = broken.reject;
  }

  protected get draining(): AbortSignal {
    return this.#draining.signal;
  }
  protected get stopping(): AbortSignal {
    return this.#stopping.signal;
  }
  protected get hurried(): AbortSignal {
    return this.#hurried.signal;
  }
  protected get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** When `ended` fires, ms since 1970; Infinity until a stop has set it. */
  protected get deadline(): number {
    return this.#deadline;
  }

  protected abstract open(signal: AbortSignal): Promise<void>;
  protected abstract work(): Promise<void>;

  start(signal: AbortSignal): Promise<void> {
    if (this.#life) return Promise.reject(defect(`'${this.name}' was started twice`));
    const ready = this.#open(signal);
    this.#life = ready.then(
      () => this.#watchWork(),
      () => {},
    );
    return ready.then(() => this.#refuseStopped());
  }

  quiet(): void {
    this.#draining.abort(aborted('shutdown'));
  }

  stop(deadline: number): Promise<void> {
    this.quiet();
    this.#stopping.abort(aborted('shutdown'));
    this.#arm(deadline);
    this.#stopped ??= this.#finish();
    return this.#stopped;
  }

  kill(): void {
    for (const step of [this.#draining, this.#stopping, this.#hurried, this.#ended]) step.abort(aborted('killed'));
    this.#disarm();
  }

  async #open(signal: AbortSignal): Promise<void> {
    this.#refuseStopped();
    using until = new JoinedSignal(signal, this.stopping);
    await this.open(until.signal);
  }

  #refuseStopped(): void {
    if (this.stopping.aborted) throw aborted(`'${this.name}' was stopped before it had started`);
  }

  async #watchWork(): Promise<void> {
    try {
      await this.work();
      if (!this.draining.aborted) this.#break(defect(`'${this.name}' ended although nobody had asked it to`));
    } catch (error) {
      if (this.stopping.aborted) this.log.warn({ err: messageOf(error) }, 'failed while stopping');
      else this.#break(error);
    }
  }

  async #finish(): Promise<void> {
    if (this.#life) await settledUnless(this.#life, this.ended);
    this.#disarm();
  }

  /** If `stop` is called several times, the earliest deadline counts. */
  #arm(deadline: number): void {
    if (deadline >= this.#deadline || this.ended.aborted) return;
    this.#deadline = deadline;
    this.#disarm();
    const left = Math.max(0, deadline - this.clock.now());
    const reason = aborted('shutdown');
    const hurry = this.clock.after(left - Math.min(this.#marginMs, left / 2), () => this.#hurried.abort(reason));
    const end = this.clock.after(left, () => this.#ended.abort(reason));
    this.#disarm = () => {
      hurry();
      end();
    };
  }
}
