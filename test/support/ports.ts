// Free TCP ports of 127.0.0.1 that the system gives to nobody who asks for any port or connects: a server may take its own
// seconds later, while other tests start servers and connect to them.

import { once } from 'node:events';
import { createServer } from 'node:net';

/** Linux gives away those from 32768 on. */
const RANGE = { from: 20_000, to: 32_700 };
const TRIES = 100;

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}

/** So many of them, no two the same. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  while (found.size < count) for (const port of await freePortsInARow(1)) found.add(port);
  return [...found];
}

export async function freePortsInARow(count: number): Promise<readonly number[]> {
  for (let attempts = 0; attempts < TRIES; attempts++) {
    const first = RANGE.from + Math.floor(Math.random() * (RANGE.to - RANGE.from));
    const ports = Array.from({ length: count }, (_, offset) => first + offset);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return ports;
  }
  throw new Error(`no ${count} free ports in a row`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
