// An answer given before the body was read. A connection that is closed with bytes unread is reset, and the client may
// never see the answer; so the rest is read and thrown away for a while first.

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../engine/runtime/time.ts';

const LIMIT_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 5_000;
/** Once the answer is out, the platform hides the bytes it throws away: the socket has to be asked. */
const LOOK_MS = 20;

/** Resolves when the body has ended, or after 64 MiB or 5 s of it. */
export function discardBody(request: IncomingMessage, clock: Clock): Promise<void> {
  const { socket } = request;
  if (request.complete || request.destroyed || socket.destroyed) {
    request.resume();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const before = socket.bytesRead;
    const until = clock.now() + LIMIT_MS;
    const look = (): void => {
      if (socket.bytesRead - before > LIMIT_BYTES || clock.now() >= until) end();
      else cancel = clock.after(LOOK_MS, look);
    };
    const end = (): void => {
      cancel();
      request.off('end', end).off('error', end);
      // A request that was answered already is not told that its connection closed.
      socket.off('close', end);
      resolve();
    };
    let cancel = clock.after(LOOK_MS, look);
    request.on('end', end).on('error', end);
    socket.on('close', end);
    request.resume();
  });
}
