// Checks the addresses that a service will listen on, before anything else starts. Otherwise the service could report that it
// is ready while another program answers on its port. An address that is lost later is the supervisor's concern.

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Configuration } from '../../config/configuration.ts';
import { Failure } from '../../engine/runtime/failure.ts';

interface Listener {
  /** Name of the front end. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Kind `rejected`: waiting does not help; the operator must stop the other program or choose another port. */
export class CannotListen extends Failure {
  constructor(taken: readonly string[]) {
    super('rejected', `cannot listen on ${taken.join(', ')}`);
    this.name = 'CannotListen';
  }
}

export function listenersOf({
  containerCore,
  handler,
  report,
  access,
  pluginHost,
}: Configuration): readonly Listener[] {
  const { http, ports } = containerCore;
  const host = http.bindHost;
  return [
    { name: 'installer', host, port: ports.installer },
    ...(http.adminListener
      ? [{ name: 'admin', host: http.adminListener.bindHost, port: http.adminListener.port }]
      : []),
    ...(handler ? [{ name: 'handler', host: handler.bindHost, port: ports.handler }] : []),
    ...(report ? [{ name: 'report', host, port: ports.report }] : []),
    ...(access ? [{ name: 'access', host, port: ports.access }] : []),
    ...(pluginHost && pluginHost.inProcess.length > 0
      ? [{ name: 'pluginHost', host: pluginHost.bindHost, port: ports.pluginHost }]
      : []),
  ];
}

/** @throws CannotListen that names every address that is not available, with the system's reason */
export async function demandAddresses(listeners: readonly Listener[]): Promise<void> {
  const taken = await Promise.all(
    listeners.map(async ({ name, host, port }) => {
      const code = await faultOf(host, port);
      return code === undefined ? [] : [`${host}:${port} (${name}): ${code === 'EADDRINUSE' ? 'in use' : code}`];
    }),
  );
  if (taken.flat().length > 0) throw new CannotListen(taken.flat());
}

async function faultOf(host: string, port: number): Promise<string | undefined> {
  const server = createServer().listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  server.close();
  await once(server, 'close');
  return undefined;
}
