// An answer given before the body was read. A connection that is closed with bytes unread is reset, and the client may
// never see the answer; so the rest is read and thrown away for a while first.

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../engine/time.ts';

const LIMIT_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 5_000;

/** Resolves when the body has ended, or after 64 MiB or 5 s of it. */
export function discardBody(request: IncomingMessage, clock: Clock): Promise<void> {
  if (request.complete || request.destroyed) {
    request.resume();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    let bytes = 0;
    const cancel = clock.after(LIMIT_MS, resolve);
    const end = (): void => {
      cancel();
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LIMIT_BYTES) end();
    });
    request.once('end', end).once('close', end).once('error', end);
    request.resume();
  });
}
