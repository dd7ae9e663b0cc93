// The pauses in force, in the memory of each process. Lanes look here before they claim. They are read from the cache database
// before the first lane starts, then whenever the table changes, and every ten seconds in case a notification was lost. If the
// database does not respond, the last known pauses stay in force.

import type { Pause, PauseKind, PausePlace, Pauses } from '../../engine/ports/pauses.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Gauge, Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Timer } from '../../engine/runtime/timer.ts';

const PERIOD_MS = 10_000;
/** Node's timers cannot wait longer than 24 days. The period finds a pause that ends later. */
const LONGEST_TIMER_MS = 86_400_000;

/** Names of what can be paused, by kind. */
export type PausableNames = Readonly<Record<PauseKind, readonly string[]>>;

interface PausesInForceParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export class PausesInForce implements Disposable {
  readonly #port: Pauses;
  readonly #names: PausableNames;
  readonly #parts: PausesInForceParts;
  readonly #log: Logger;
  readonly #paused: Gauge<'kind' | 'name'>;
  readonly #wakes = new Set<() => void>();
  readonly #unsubscribe: () => void;
  readonly #ending = new AbortController();
  #pauses = new Map<string, Pause>();
  #timer: Timer<void> | undefined;
  #cancelAlarm: (() => void) | undefined;

  constructor(port: Pauses, names: PausableNames, parts: PausesInForceParts) {
    this.#port = port;
    this.#names = names;
    this.#parts = parts;
    this.#log = parts.log.child({ actor: 'pauses' });
    this.#paused = parts.metrics.gauge('paused', '1 while an operator has paused it.', ['kind', 'name']);
    this.#unsubscribe = port.watch(() => this.#refreshSoon());
    this.#show();
  }

  /** Those in force, by kind and name. */
  get all(): readonly Pause[] {
    return [...this.#pauses.values()].filter((pause) => this.#isInForce(pause));
  }

  /** Those of these names. */
  pausesOf(kind: PauseKind, names: readonly string[]): readonly Pause[] {
    return names.flatMap((name) => this.find(kind, name) ?? []);
  }

  find(kind: PauseKind, name: string): Pause | undefined {
    const pause = this.#pauses.get(keyOf({ kind, name }));
    return pause && this.#isInForce(pause) ? pause : undefined;
  }

  /** Calls `wake` when something was resumed. The returned function stops that. */
  watch(wake: () => void): () => void {
    // A new function per watcher, so that the same `wake` can be registered twice.
    const mine = (): void => wake();
    this.#wakes.add(mine);
    return () => this.#wakes.delete(mine);
  }

  /** Reads the pauses, and makes jobs due whose pauses are over. One call at a time. */
  async refresh(signal: AbortSignal): Promise<void> {
    this.#replace(await this.#port.list(signal));
    await this.#port.release(signal);
  }

  spec(): ChildSpec {
    const create = (): Timer<void> => {
      const timer = new Timer<void>({
        ...this.#parts,
        name: 'pauses',
        periodMs: PERIOD_MS,
        firstMs: 0,
        runOnce: (signal) => this.refresh(signal),
      });
      this.#timer = timer;
      return timer;
    };
    return { name: 'pauses', create };
  }

  [Symbol.dispose](): void {
    this.#ending.abort();
    this.#unsubscribe();
    this.#cancelAlarm?.();
  }

  /** A run that is already waiting to start will see the change. The daemon logs a failed run. */
  #refreshSoon(): void {
    if (!this.#ending.signal.aborted) this.#timer?.runNow(this.#ending.signal).catch(() => undefined);
  }

  #isInForce({ until }: Pause): boolean {
    return until === undefined || until.getTime() > this.#parts.clock.now();
  }

  #replace(pauses: readonly Pause[]): void {
    const before = this.#pauses;
    this.#pauses = new Map(pauses.map((pause) => [keyOf(pause), pause]));
    for (const pause of pauses) if (!before.has(keyOf(pause))) this.#log.info(fieldsOf(pause), 'paused');
    this.#resumed([...before.values()].filter((pause) => !this.#pauses.has(keyOf(pause))));
  }

  /** Ends pauses whose time is over, without asking the database. */
  #expire(): void {
    const over = [...this.#pauses.values()].filter((pause) => !this.#isInForce(pause));
    for (const pause of over) this.#pauses.delete(keyOf(pause));
    this.#resumed(over);
    if (over.length > 0) this.#refreshSoon();
  }

  #resumed(over: readonly Pause[]): void {
    for (const pause of over) this.#log.info(fieldsOf(pause), 'resumed');
    this.#show();
    this.#setAlarm();
    if (over.length > 0) for (const wake of [...this.#wakes]) wake();
  }

  #setAlarm(): void {
    this.#cancelAlarm?.();
    this.#cancelAlarm = undefined;
    const ends = [...this.#pauses.values()].flatMap(({ until }) => until?.getTime() ?? []);
    if (ends.length === 0) return;
    const { clock } = this.#parts;
    const waitMs = Math.min(Math.max(0, Math.min(...ends) - clock.now()), LONGEST_TIMER_MS);
    this.#cancelAlarm = clock.after(waitMs, () => this.#expire());
  }

  #show(): void {
    for (const [kind, names] of Object.entries(this.#names) as [PauseKind, readonly string[]][])
      for (const name of names) this.#paused.set({ kind, name }, this.find(kind, name) ? 1 : 0);
  }
}

const keyOf = ({ kind, name }: PausePlace): string => `${kind} ${name}`;

const fieldsOf = ({ kind, name, by, since, reason, until }: Pause) => ({
  ...{ kind, name, by, since: since.toISOString() },
  ...(reason === undefined ? {} : { reason }),
  ...(until === undefined ? {} : { until: until.toISOString() }),
});
