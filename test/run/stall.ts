// Runs a program and makes everything that it started stand still now and then, as a machine does that was paused.
//
// States:  running --everyMs--> stopped --stallMs--> running;  either --program ends--> over
//          either --signal aborts--> continued, told to end, killed when it does not
//
// Stopped are the program's process group, all its descendants, and what once was a descendant and outlived its parent.
// The group alone is not enough: PostgreSQL and the servers of the stack make groups of their own. They would go on, and
// statements in flight, locks, leases and heartbeats would never see the stall.
// Whatever a test itself had stopped stays stopped.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Clock } from '../../engine/runtime/time.ts';
import { settledWithin } from '../../engine/runtime/wait.ts';
import { Descendants } from './descendants.ts';

export interface StallOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** From the end of one stall to the begin of the next. */
  readonly everyMs: number;
  readonly stallMs: number;
  /** What an aborted program is given to end by itself. */
  readonly graceMs: number;
}

export interface Stalled {
  /** As a shell would say it: 128 and the number of the signal that ended it. */
  readonly code: number;
  readonly stalls: number;
}

/** Resolves when the program ended; its output goes where this process' goes. */
export async function runStalled(options: StallOptions, clock: Clock, signal: AbortSignal): Promise<Stalled> {
  const child = spawn(options.program, options.args, { stdio: 'inherit', detached: true });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const done = closed.finally(() => over.abort());
  done.catch(() => undefined); // awaited below
  await Promise.race([once(child, 'spawn'), done]);
  const all = new Descendants(child.pid as number);
  let stalls = 0;
  while (await waited(clock, options.everyMs, stop)) {
    const stopped = all.stop();
    await waited(clock, options.stallMs, stop);
    await Descendants.continue(stopped, clock);
    stalls++;
  }
  if (signal.aborted && !over.signal.aborted) {
    // As Ctrl-C would: those with groups of their own are for their parents to end.
    all.signalGroup('SIGTERM');
    await settledWithin(clock, options.graceMs, done);
    all.kill();
  }
  const [code, killedBy] = await done;
  return { code: code ?? 128 + constants.signals[killedBy as NodeJS.Signals], stalls };
}

/** False when the signal came first. */
const waited = (clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> =>
  clock.sleep(ms, signal).then(
    () => true,
    () => false,
  );
