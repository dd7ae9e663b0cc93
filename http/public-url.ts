// The base URL under which the caller reaches us, for `Location` headers.

import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';

export interface UrlSettings {
  /** Believe the headers of a proxy in front. */
  readonly trustProxy: boolean;
  /** Prefix under which that proxy publishes us, without trailing slash. */
  readonly basePath: string;
}

const HOST = /^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-fA-F:.]+\](:\d{1,5})?$/;

/** Without trailing slash. A host that is no host is replaced by the address that was connected to. */
export function publicUrl(request: IncomingMessage, { trustProxy, basePath }: UrlSettings): string {
  const forwarded = (name: string): string | undefined =>
    trustProxy
      ? String(request.headers[name] ?? '')
          .split(',')[0]
          ?.trim() || undefined
      : undefined;
  const encrypted = (request.socket as Partial<TLSSocket>).encrypted === true;
  const asked = forwarded('x-forwarded-proto')?.toLowerCase();
  const scheme = asked === 'http' || asked === 'https' ? asked : encrypted ? 'https' : 'http';
  const host = [forwarded('x-forwarded-host'), request.headers.host].find((one) => one !== undefined && HOST.test(one));
  return `${scheme}://${host ?? own(request)}${basePath}`;
}

function own({ socket }: IncomingMessage): string {
  const address = socket.localAddress ?? '127.0.0.1';
  return `${address.includes(':') ? `[${address}]` : address}:${socket.localPort ?? 80}`;
}
