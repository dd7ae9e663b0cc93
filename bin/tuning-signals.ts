// Signals with which an operator tunes a running process: SIGHUP reads the configuration anew, SIGUSR2 changes the log
// level to the next of info, debug, trace. A SIGHUP that says that the terminal is gone ends the process instead.

import { kindOf, messageOf } from '../engine/failure.ts';
import type { Logger } from '../engine/log.ts';
import type { ProcessSettings } from '../engine/ports/process-settings.ts';

type Heard = 'SIGHUP' | 'SIGUSR2';

/** The part of `process` that is needed. */
export interface SignalSource {
  on(event: Heard, listener: () => void): unknown;
  off(event: Heard, listener: () => void): unknown;
}

export interface TuningSignals {
  readonly settings: ProcessSettings;
  /** The terminal that the process was started on is gone. */
  readonly hungUp: () => boolean;
  readonly hangUp: () => void;
  readonly log: Logger;
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
      log[level]({ err: messageOf(error) }, 'SIGHUP changed nothing');
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
