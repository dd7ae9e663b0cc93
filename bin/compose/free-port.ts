// Finds a free TCP port on 127.0.0.1 for a server of this program.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { Failure } from '../../engine/runtime/failure.ts';

/** The preferred port if it is free; otherwise one that the kernel chooses. */
export async function freePort(preferred: number | undefined): Promise<number> {
  return (preferred !== undefined ? await tryPort(preferred) : undefined) ?? (await tryPort(0)) ?? fail();
}

async function tryPort(port: number): Promise<number | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : undefined;
}

function fail(): never {
  throw new Failure('transient', 'no free TCP port on 127.0.0.1');
}
