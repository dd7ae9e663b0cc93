// An answer given before the body was read: the rest is read and thrown away for a while, so that the client gets to
// read the answer instead of a reset; then the connection is closed.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../engine/time.ts';

const LIMIT_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 5_000;

export function discardBody(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  if (request.complete || request.destroyed || response.destroyed) return;
  let bytes = 0;
  const close = (): void => {
    request.socket.destroy();
  };
  const cancel = clock.after(LIMIT_MS, close);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LIMIT_BYTES) close();
  });
  request.once('end', cancel);
  request.once('close', cancel);
  request.on('error', () => undefined);
  request.resume();
}
