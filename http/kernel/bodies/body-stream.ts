// Bodies that are not read as a whole: as a stream that a sink may destroy, or discarded. Destroying the request itself would
// close its connection, so the error response could not be sent.

import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import type { Clock } from '../../../engine/runtime/time.ts';
import { badRequest } from '../pipeline/errors.ts';
import { BodyDigests } from './body-digests.ts';

const BUFFER_BYTES = 256 * 1024;

/**
 * The body as a stream. It fails with 400 when the body is cut off, or does not have the digests in its headers. The server discards
 * what is not read.
 */
export function bodyStream(request: IncomingMessage, digests = BodyDigests.of(request.headers)): Readable {
  const body = digests?.stream(BUFFER_BYTES) ?? new PassThrough({ highWaterMark: BUFFER_BYTES });
  // There may be no reader yet, and an error without a listener would crash the process. Later readers still get it.
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
  // A request without a body has already ended.
  if (request.readableEnded) body.end();
  else if (request.destroyed) onClose();
  else request.pipe(body);
  return body;
}

const LIMIT_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 5_000;
/** Interval of checks. After the response, Node discards the bytes without events, so we have to ask the socket. */
const LOOK_MS = 20;

/**
 * For a response that is sent before the body was read. Closing a connection with unread bytes resets it, and the client may
 * never see the response. So we first read and discard the rest for a while. Resolves when the body has ended, or after 64 MiB
 * or 5 s.
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
      // After the response, Node does not tell the request that its connection was closed.
      socket.off('close', end);
      resolve();
    };
    let cancel = clock.after(LOOK_MS, look);
    request.on('end', end).on('error', end);
    socket.on('close', end);
    request.resume();
  });
}
