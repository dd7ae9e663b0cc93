// A server somewhere else, from which uploads are fetched: plain HTTP on this machine, so a client must allow loopback.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Allows {@link remoteServer}. */
export const LOOPBACK = '127.0.0.1/32';

export interface RemoteServer {
  readonly port: number;
  /** Paths that were asked for, in order, with their query. */
  readonly asked: string[];
  url(path: string): URL;
}

export type RemoteAnswer = (request: IncomingMessage, response: ServerResponse) => void;

export async function remoteServer(
  t: { teardown(fn: () => unknown): void },
  answer: RemoteAnswer,
  host = '127.0.0.1',
): Promise<RemoteServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, asked, url: (path) => new URL(`http://${host}:${port}${path}`) };
}
