// The way out for an error: the contract's body, and a connection that ends so that the client gets to read it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../engine/runtime/time.ts';
import { JSON_TYPE } from '../answers/json-text.ts';
import { discardBody } from '../bodies/body-stream.ts';
import { errorBody, type HttpError } from './errors.ts';

/** What describes a body; what browsers may do with it is said of every answer. */
const OF_CONTENT = /^(?:content-(?!security-policy)|etag$|last-modified$)/;

/**
 * Sends the error unless an answer is under way already: half an answer is cut off, so that nobody takes it for the
 * whole. A body that was not read is discarded before the connection is closed; one that was not even asked for
 * (`Expect: 100-continue`) will not come.
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
  // What a handler had set describes an answer that will not come.
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
  // The answer is complete by its length; `end` would close the connection under the bytes still coming in.
  if (sent) response.write(sent);
  else response.flushHeaders();
  await discardBody(request, clock);
  response.end();
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
