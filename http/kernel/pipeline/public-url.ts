// The base URL under which the caller reaches us, for `Location` headers.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';

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
