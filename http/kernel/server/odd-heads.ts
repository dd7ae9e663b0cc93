// Refuses request heads that a proxy in front of us might interpret in another way than we do.

import type { IncomingMessage } from 'node:http';
import { badRequest, HttpError } from '../pipeline/errors.ts';

/** Of repeated headers with these names, Node keeps the first, or joins the values to one that nobody sent. */
const SINGULAR: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'content-type', 'expect', 'origin'],
  ...['authorization', 'admin-token', 'auth-key', 'auth_key', 'user-id'],
  ...['api-version', 'traceparent', 'traceid'],
  ...['range', 'if-range', 'if-modified-since', 'if-unmodified-since'],
]);

/** @throws HttpError 400, or 417 for an unknown expectation */
export function refuseOddHeads({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('the Host header is missing');
  // The numbers differ only if a name is repeated.
  if (Object.keys(headers).length * 2 !== rawHeaders.length) refuseRepeated(rawHeaders);
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw new HttpError('bad-request', `header Expect '${expect}': only 100-continue is known`, { code: 417 });
}

/**
 * Refuses repeated headers even if their values are equal, because a proxy may treat them in another way (RFC 9112, 3.2). The
 * message does not show the values, which may be secrets.
 */
function refuseRepeated(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (SINGULAR.has(name) && seen.has(name))
      throw badRequest(`there are several ${rawHeaders[i]} headers; expected one`);
    seen.add(name);
  }
}
