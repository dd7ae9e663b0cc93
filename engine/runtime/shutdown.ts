// Shuts the process down after a signal: not ready, quiet, stop by the deadline, kill, close.
//   first SIGTERM or SIGINT   `stopSignal` aborts; the caller that waits for it calls `shutDown`
//   a second signal           exits at once with code 128 + signal number
// Shutdown never takes longer than grace + 5 s: a guard exits the process when something outlasts its deadline.

import type { Child } from './actor.ts';
import { aborted, messageOf } from './failure.ts';
import type { Logger } from './log.ts';
import type { Clock } from './time.ts';
import { settledWithin } from './wait.ts';

/** The part of `process` that we need. */
export interface SignalSource {
  on(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

interface ShutdownOptions {
  readonly process: Pick<SignalSource, 'exit'>;
  /** The started supervision tree. */
  readonly child: Child;
  readonly graceMs: number;
  /** Makes `/ready` answer 503. */
  readonly unready: () => void;
  /** Closes what the tree depends on (pools, embedded services). It has the rest of the 5 s. */
  readonly close?: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

const EXIT_OF = { SIGINT: 130, SIGTERM: 143 } as const;
/** Within the 5 s after the grace period: when `close` must have ended, and when the guard exits. */
const CLOSE_MS = 4000;
const GUARD_MS = 4800;

/** Aborts at the first SIGTERM or SIGINT; the second ends the process at once. Listens until the process ends. */
export function stopSignal(process: SignalSource): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(EXIT_OF[name]);
      else stop.abort(aborted(`stopped by ${name}`));
    });
  return stop.signal;
}

/** Resolves when everything is closed; exits with the code when something outlasts the guard. Never rejects. */
export async function shutDown(options: ShutdownOptions, code: number): Promise<void> {
  const { process, child, clock, graceMs, log } = options;
  const deadline = clock.now() + graceMs;
  const over = new AbortController();
  // Uses sleep, not `after`, because the event loop must not run empty before the exit code is set.
  void clock.sleep(graceMs + GUARD_MS, over.signal).then(
    () => {
      log.error('the shutdown exceeded its deadline');
      process.exit(code);
    },
    () => {},
  );
  try {
    options.unready();
    child.quiet();
    const stopped = await settledWithin(clock, graceMs, child.stop(deadline));
    if (!stopped) log.warn('not everything stopped in time');
    child.kill();
    await close(options, deadline + CLOSE_MS);
  } catch (error) {
    log.error({ err: messageOf(error) }, 'the shutdown failed');
  }
  over.abort();
}

async function close(options: ShutdownOptions, deadline: number): Promise<void> {
  const { clock, log } = options;
  if (!options.close) return;
  const closing = options.close().catch((error: unknown) => {
    log.warn({ err: messageOf(error) }, 'closing failed');
  });
  const closed = await settledWithin(clock, deadline - clock.now(), closing);
  if (!closed) log.warn('not everything closed in time');
}
