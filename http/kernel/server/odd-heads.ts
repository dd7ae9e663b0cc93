// Heads of requests that would mean one thing to us and another to whoever stands in front: refused.

import type { IncomingMessage } from 'node:http';
import { badRequest, HttpError } from '../pipeline/errors.ts';

/** Of these the platform takes the first and drops the others, or joins them to a value that nobody sent. */
const SINGULAR: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'content-type', 'expect', 'origin'],
  ...['authorization', 'admin-token', 'auth-key', 'auth_key', 'user-id'],
  ...['api-version', 'traceparent', 'traceid'],
  ...['range', 'if-range', 'if-modified-since', 'if-unmodified-since'],
]);

/** @throws HttpError 400, or 417 of an expectation that nobody can meet */
export function refuseOddHeads({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('the Host header is missing');
  // Only where a name is there twice the names have to be compared.
  if (Object.keys(headers).length * 2 !== rawHeaders.length) refuseRepeated(rawHeaders);
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw new HttpError('bad-request', `header Expect '${expect}': only 100-continue is known`, { code: 417 });
}

/** Equal ones too: a proxy in front may count on their number (RFC 9112, 3.2). The values may be secrets. */
function refuseRepeated(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (SINGULAR.has(name) && seen.has(name))
      throw badRequest(`there are several ${rawHeaders[i]} headers; expected one`);
    seen.add(name);
  }
}
