// The wait at start for what the service cannot do without: all at once, with progress in the log, for a limited time.
//
//   tried  --answers-->             there
//   tried  --`transient` failure--> missing (said at the first one), tried again with growing pauses
//   tried  --any other failure-->   the wait ends with it: time would not mend it
//   missing, and the time is over--> the wait ends with one failure that names everything that is missing, and why

import { Failure, kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import { JoinedSignal } from '../../engine/runtime/joined-signal.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { DELAYS, persisting } from '../../engine/runtime/retry.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';

export interface Dependency {
  /** Unique among those that are waited for. */
  readonly name: string;
  /** Resolves when it can be used. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

export interface WaitParts {
  /** For all of them together. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Of one try: a server that accepts connections and says nothing is tried anew. */
const TRY_MS = 10_000;
const PROGRESS_MS = 10_000;

/** @throws Failure `transient` and unreachable, naming every dependency that was missing; or the signal's reason, at once */
export async function waitForDependencies(
  dependencies: readonly Dependency[],
  parts: WaitParts,
  signal: AbortSignal,
): Promise<void> {
  await new DependencyWait(dependencies, parts).run(signal);
}

class DependencyWait {
  readonly #parts: WaitParts;
  readonly #began: number;
  /** Those that have not answered, with why. */
  readonly #missing: Map<Dependency, string>;

  constructor(dependencies: readonly Dependency[], parts: WaitParts) {
    this.#parts = parts;
    this.#began = parts.clock.now();
    this.#missing = new Map(dependencies.map((one) => [one, 'no answer yet']));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, waitMs } = this.#parts;
    using limit = deadline(clock, waitMs, signal, () => this.#late());
    // The others are not waited for once one has failed for good.
    using until = new JoinedSignal(limit.signal);
    const waits = [...this.#missing.keys()].map((one) => this.#waitFor(one, until.signal));
    const progress = this.#sayProgress(until.signal);
    try {
      await Promise.all(waits);
    } finally {
      until.abort(new Error('the wait is over'));
      await Promise.allSettled([...waits, progress]);
    }
  }

  async #waitFor(dependency: Dependency, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    let failures = 0;
    const failed = (error: unknown): void => {
      if (kindOf(error) !== 'transient') throw error;
      const reason = messageOf(error);
      this.#missing.set(dependency, reason);
      if (failures++ === 0) log.warn({ dependency: dependency.name, reason }, 'a dependency is missing; waiting');
    };
    const attempt = (): Promise<boolean> => this.#attempt(dependency, signal).then(() => true);
    if (!(await persisting(DELAYS.start, clock, attempt, failed, signal))) throw signal.reason;
    this.#missing.delete(dependency);
    const waitedMs = clock.now() - this.#began;
    if (failures > 0) log.info({ dependency: dependency.name, waitedMs }, 'a dependency is there now');
  }

  async #attempt({ probe }: Dependency, signal: AbortSignal): Promise<void> {
    const late = (): Error => transient(`no answer within ${TRY_MS / 1000} s`, { unreachable: true });
    using limit = deadline(this.#parts.clock, TRY_MS, signal, late);
    await unlessAborted(probe(limit.signal), limit.signal);
  }

  /** Until the signal aborts; never rejects otherwise. */
  async #sayProgress(signal: AbortSignal): Promise<void> {
    const { clock, log, waitMs } = this.#parts;
    for (;;) {
      await clock.sleep(PROGRESS_MS, signal);
      const secondsLeft = Math.round((this.#began + waitMs - clock.now()) / 1000);
      log.warn({ missing: this.#reasons(), secondsLeft }, 'still waiting for dependencies');
    }
  }

  #reasons(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#missing].map(([{ name }, reason]) => [name, reason]));
  }

  #late(): Error {
    const missing = [...this.#missing].map(([{ name }, reason]) => `${name} (${reason})`);
    const text = `waited ${this.#parts.waitMs / 1000} s in vain for: ${missing.join('; ')}`;
    return new Failure('transient', text, { unreachable: true });
  }
}
