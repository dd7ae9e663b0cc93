// From a signal to the end of the process: ready off, quiet, stop by the deadline, kill, close, exit.
//   SIGTERM, SIGINT       orderly, exit code 0
//   the tree breaks       orderly, exit code 1
//   a second signal       exit at once, code 128 + signal number
// Never longer than grace + 5 s: a guard exits when something outlives its deadline.

import type { Child } from './child.ts';
import { messageOf } from './failure.ts';
import type { Logger } from './log.ts';
import type { Clock } from './time.ts';
import { settledWithin } from './wait.ts';

/** The part of `process` that is needed. */
export interface SignalSource {
  on(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

export interface ShutdownOptions {
  readonly process: Pick<SignalSource, 'exit'>;
  /** A tree that has been started. */
  readonly child: Child;
  readonly graceMs: number;
  /** Makes `/ready` answer 503. */
  readonly unready: () => void;
  /** Closes what the tree stood on (pools, embedded services); bounded by what is left of the 5 s. */
  readonly close?: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

const EXIT_OF = { SIGINT: 130, SIGTERM: 143 } as const;
/** Of the 5 s after the grace: for `close`, then the guard. */
const CLOSE_MS = 4000;
const GUARD_MS = 4800;

/** Waits for the end and sees to it; exits the process itself and resolves with the exit code. */
export async function runUntilShutdown(options: ShutdownOptions & { readonly process: SignalSource }): Promise<number> {
  const { process, child, log } = options;
  const asked = Promise.withResolvers<{ readonly code: number; readonly reason: string }>();
  let signals = 0;
  const listener = (name: 'SIGTERM' | 'SIGINT') => () => {
    signals++;
    if (signals > 1) process.exit(EXIT_OF[name]);
    asked.resolve({ code: 0, reason: name });
  };
  const listeners = { SIGTERM: listener('SIGTERM'), SIGINT: listener('SIGINT') };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, listeners[name]);
  child.broken.catch((error: unknown) => asked.resolve({ code: 1, reason: messageOf(error) }));

  const { code, reason } = await asked.promise;
  log[code === 0 ? 'info' : 'error']({ reason, graceMs: options.graceMs }, 'shutting down');
  await shutDown(options, code);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.off(name, listeners[name]);
  process.exit(code);
  return code;
}

/** The end itself, for whoever has heard the signal: resolves when everything is closed, or exits with the code. */
export async function shutDown(options: ShutdownOptions, code: number): Promise<void> {
  const { process, child, clock, graceMs, log } = options;
  const deadline = clock.now() + graceMs;
  const over = new AbortController();
  // Sleeping, not `after`: the process must not run dry before its exit code is set.
  const guard = clock.sleep(graceMs + GUARD_MS, over.signal).then(
    () => {
      log.error('the shutdown outlived its deadline');
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
  await guard;
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
