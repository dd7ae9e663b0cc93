// Notifies systemd that the service is ready, if systemd started it. Node.js does not support Unix datagram sockets, so this
// runs systemd-notify; units need `NotifyAccess=all`.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';

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
