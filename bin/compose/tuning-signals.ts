// Signals that an operator sends to a running process: SIGHUP reloads the configuration, SIGUSR2 cycles the log level through
// info, debug, trace. A SIGHUP that means that the terminal is gone ends the process instead.

import { isatty } from 'node:tty';
import type { ProcessSettings } from '../../engine/ports/process-control.ts';
import { aborted, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';

type Heard = 'SIGHUP' | 'SIGUSR2';

/** The part of `process` that is used. */
export interface SignalSource {
  on(event: Heard, listener: () => void): unknown;
  off(event: Heard, listener: () => void): unknown;
}

export interface TuningSignals {
  readonly settings: ProcessSettings;
  /** Whether the terminal that the process was started on is gone. */
  readonly hungUp: () => boolean;
  readonly hangUp: () => void;
  readonly log: Logger;
}

const STDERR = 2;

/** Handles this process's signals until disposed of. The returned signal also aborts when the terminal is gone. */
export function tunedBySignals(
  settings: ProcessSettings,
  log: Logger,
  stop: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const terminal = new AbortController();
  const signal = AbortSignal.any([stop, terminal.signal]);
  const wasOnTerminal = isatty(STDERR);
  const hungUp = (): boolean => wasOnTerminal && !isatty(STDERR);
  const hangUp = (): void => terminal.abort(aborted('the terminal is gone'));
  const heeded = heedTuningSignals(process, { settings, hungUp, hangUp, log }, signal);
  return { signal, [Symbol.dispose]: () => heeded[Symbol.dispose]() };
}

/** Listens until disposed of. */
export function heedTuningSignals(
  process: SignalSource,
  { settings, hungUp, hangUp, log }: TuningSignals,
  signal: AbortSignal,
): Disposable {
  const reload = (): void => {
    if (hungUp()) {
      hangUp();
      return;
    }
    settings.reload(signal).catch((error: unknown) => {
      const level = kindOf(error) === 'defect' ? 'error' : 'warn';
      log[level]({ err: messageOf(error) }, 'reload by SIGHUP failed; nothing was changed');
    });
  };
  const nextLevel = (): void => void settings.setLogLevel();
  process.on('SIGHUP', reload);
  process.on('SIGUSR2', nextLevel);
  return {
    [Symbol.dispose]() {
      process.off('SIGHUP', reload);
      process.off('SIGUSR2', nextLevel);
    },
  };
}
