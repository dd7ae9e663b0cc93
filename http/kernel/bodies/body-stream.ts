// The body of a request as a stream that a sink may destroy. Destroying the request itself closes its connection, and
// with it the way for the answer that says why.

import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
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
