// Bodies that are not read whole: as a stream that a sink may destroy, or thrown away. Destroying the request itself closes its
// connection, and with it the way for the answer that says why.

import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import type { Clock } from '../../../engine/runtime/time.ts';
import { badRequest } from '../pipeline/errors.ts';

const BUFFER_BYTES = 256 * 1024;

/** Ends with the body; fails with 400 when that is cut off. What is not read of it is the server's to discard. */
export function bodyStream(request: IncomingMessage): Readable {
  const body = new PassThrough({ highWaterMark: BUFFER_BYTES });
  // Whoever reads it hears of it; until then nobody may be listening.
  body.on('error', () => undefined);
  const onClose = (): void => {
    if (!request.complete) body.destroy(badRequest('the body ended before its time'));
  };
  request.once('close', onClose);
  body.once('close', () => {
    request.off('close', onClose);
    request.unpipe(body);
    request.pause();
  });
  // A request without a body has ended before it begins.
  if (request.readableEnded) body.end();
  else if (request.destroyed) onClose();
  else request.pipe(body);
  return body;
}

const LIMIT_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 5_000;
/** Once the answer is out, the platform hides the bytes it throws away: the socket has to be asked. */
const LOOK_MS = 20;

/**
 * For an answer given before the body was read. A connection that is closed with bytes unread is reset, and the client may never
 * see the answer; so the rest is read and thrown away for a while first. Resolves when the body has ended, or after 64 MiB or 5 s of it.
 */
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
