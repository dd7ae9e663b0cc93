// What the head of a request says of the whole request: the URL it was sent to, its interface version, and whether it is refused.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { API_VERSIONS, type ApiVersion, DEFAULT_API_VERSION } from '../../../engine/model/api-version.ts';
import { badRequest, HttpError } from './errors.ts';

// The base URL under which the caller reaches us, for `Location` headers.

export interface UrlSettings {
  /** Whether this is the address of one of our proxies, whose headers are trusted. */
  readonly isProxy: (address: string) => boolean;
  /** Prefix under which that proxy publishes us, without trailing slash. */
  readonly basePath: string;
}

const HOST = /^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-fA-F:.]+\](:\d{1,5})?$/;

/** Without trailing slash. An invalid host is replaced by the local address of the connection. */
export function publicUrl(request: IncomingMessage, { isProxy, basePath }: UrlSettings): string {
  const forwarded = isProxy(request.socket.remoteAddress ?? '') ? forwardedBy(request.headers) : {};
  const encrypted = (request.socket as Partial<TLSSocket>).encrypted === true;
  const asked = forwarded.scheme?.toLowerCase();
  const scheme = asked === 'http' || asked === 'https' ? asked : encrypted ? 'https' : 'http';
  const host = [forwarded.host, request.headers.host].find((one) => one !== undefined && HOST.test(one));
  return `${scheme}://${host ?? own(request)}${basePath}`;
}

interface Forwarded {
  readonly scheme?: string | undefined;
  readonly host?: string | undefined;
}

/** Scheme and host as requested from the outermost proxy: from the header of RFC 7239 or, without it, the older pair. */
function forwardedBy(headers: IncomingHttpHeaders): Forwarded {
  const first = (name: string): string | undefined =>
    String(headers[name] ?? '')
      .split(',')[0]
      ?.trim() || undefined;
  const standard = first('forwarded');
  if (standard === undefined) return { scheme: first('x-forwarded-proto'), host: first('x-forwarded-host') };
  const pairs = standard.split(';').map((pair) => {
    const [name = '', value = ''] = pair.split('=');
    return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')] as const;
  });
  const values = new Map(pairs);
  return { scheme: values.get('proto'), host: values.get('host') };
}

function own({ socket }: IncomingMessage): string {
  const address = socket.localAddress ?? '127.0.0.1';
  return `${address.includes(':') ? `[${address}]` : address}:${socket.localPort ?? 80}`;
}

// The interface version of a request: the header `Api-Version`, or the version that the configuration assumes.

/** The header of requests and responses. */
export const VERSION_HEADER = 'api-version';

export const namesVersion = (request: IncomingMessage): boolean => request.headers[VERSION_HEADER] !== undefined;

/** Throws 400 for a version that does not exist. */
export function versionOf(request: IncomingMessage, assumed: ApiVersion = DEFAULT_API_VERSION): ApiVersion {
  const asked = request.headers[VERSION_HEADER];
  if (asked === undefined) return assumed;
  const known = API_VERSIONS.find((version) => version === asked);
  if (!known) throw badRequest(`header Api-Version '${asked}': expected one of ${API_VERSIONS.join(', ')}`);
  return known;
}

// Refuses request heads that a proxy in front of us might interpret in another way than we do.

/** Of repeated headers with these names, Node keeps the first, or joins the values to one that nobody sent. */
const SINGULAR: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'content-type', 'expect', 'origin'],
  ...['authorization', 'admin-token', 'auth-key', 'auth_key', 'user-id'],
  ...['api-version', 'idempotency-key', 'traceparent', 'traceid'],
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
