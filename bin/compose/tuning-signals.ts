// Signals that an operator sends to a running process: SIGHUP reloads the configuration, SIGUSR2 cycles the log level through
// info, debug, trace. A SIGHUP that means that the terminal is gone ends the process instead.

import { execFile } from 'node:child_process';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';
import type { ProcessSettings } from '../../engine/ports/process-control.ts';
import { aborted, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';

type Heard = 'SIGHUP' | 'SIGUSR2';

/** The part of `process` that is used. */
interface SignalSource {
  on(event: Heard, listener: () => void): unknown;
  off(event: Heard, listener: () => void): unknown;
}

interface TuningSignals {
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

// Notifies systemd that the service is ready, if systemd started it. Node.js does not support Unix datagram sockets, so this
// runs systemd-notify; units need `NotifyAccess=all`.

const run = promisify(execFile);
const PATIENCE_MS = 10_000;

/** Never fails: without the notification systemd stops the service after `TimeoutStartSec`, and the log says why. */
export async function tellReady(
  env: Readonly<Record<string, string | undefined>>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { NOTIFY_SOCKET, PATH } = env;
  if (!NOTIFY_SOCKET) return;
  try {
    await run('systemd-notify', ['--ready'], { env: { NOTIFY_SOCKET, PATH }, timeout: PATIENCE_MS, signal });
  } catch (error) {
    if (!signal.aborted)
      log.error({ err: messageOf(error) }, 'systemd could not be notified that the service is ready');
  }
}
