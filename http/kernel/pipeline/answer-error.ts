// Sends an error: the contract's body, on a connection that closes in a way that lets the client read it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../engine/runtime/time.ts';
import { JSON_TYPE } from '../answers/json-text.ts';
import { discardBody } from '../bodies/body-stream.ts';
import { errorBody, type HttpError } from './errors.ts';

/** Headers that describe a body. The content security policy is not one of them. */
const OF_CONTENT = /^(?:content-(?!security-policy)|etag$|last-modified$)/;

/**
 * Sends the error unless a response has begun. A partial response is cut off, so that no client mistakes it for a complete one.
 * An unread request body is discarded before the connection is closed. With `Expect: 100-continue`, the client does not send
 * it.
 * @param id of the request
 */
export async function answerError(
  error: HttpError,
  request: IncomingMessage,
  response: ServerResponse,
  id: string,
  clock: Clock,
): Promise<void> {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // Headers that the handler has set describe another body.
  for (const name of response.getHeaderNames()) if (OF_CONTENT.test(name)) response.removeHeader(name);
  const body = Buffer.from(JSON.stringify(errorBody(error, id)));
  const unread = !request.complete && hasBody(request);
  response.statusCode = error.code;
  response.setHeader('content-type', JSON_TYPE);
  response.setHeader('content-length', body.length);
  response.setHeader('cache-control', 'no-store');
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  if (unread) response.setHeader('connection', 'close');
  const sent = request.method === 'HEAD' ? undefined : body;
  if (!unread || request.headers.expect !== undefined) {
    response.end(sent);
    return;
  }
  // The response is complete because of its length. `end` would close the connection while bytes still arrive.
  if (sent) response.write(sent);
  else response.flushHeaders();
  await discardBody(request, clock);
  response.end();
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
