import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { type Clock, systemClock } from '../../engine/runtime/time.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { runStalled } from './stall.ts';

const FAMILY = join(import.meta.dirname, '..', 'fixtures', 'stalled-family.ts');
const STALL_MS = 200;

/** Runs a role of the family. What it says comes as lines; `leave` ends its connections. */
async function setup(t: Test, role: string, clock: Clock = systemClock) {
  const sockets = new Set<Socket>();
  const waiting: ((line: string) => void)[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    createInterface({ input: socket }).on('line', (line) => waiting.shift()?.(line));
    socket.on('error', () => undefined); // what it is about was said before
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const line = new Promise<string>((resolve) => waiting.push(resolve));
  const last = new Promise<string>((resolve) => waiting.push(resolve));
  const stop = new AbortController();
  const args = [FAMILY, role, String(STALL_MS), String(port)];
  const options = { program: process.execPath, args, everyMs: 100, stallMs: STALL_MS, graceMs: 60_000 };
  const run = runStalled(options, clock, stop.signal);
  const leave = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(async () => {
    stop.abort();
    await run;
    leave();
    server.close();
  });
  return { run, stop, line, last, leave };
}

t.test('stops the program and a child with a group of its own, again and again', async (t) => {
  const { run, line } = await setup(t, 'parent');
  t.equal(await line, 'child: stood still');
  const { code, stalls } = await run;
  t.equal(code, 7, 'the code of the program');
  t.ok(stalls >= 2, `${stalls} stalls`);
});

t.test('stops what outlived its parent', async (t) => {
  const { run, line, leave } = await setup(t, 'grandparent');
  t.equal(await line, 'orphan: stood still');
  leave();
  t.equal((await run).code, 0);
});

t.test('leaves stopped what the program itself had stopped', async (t) => {
  const { run, line } = await setup(t, 'stopper');
  t.equal(await line, 'stopper: T');
  t.equal((await run).code, 0);
});

t.test('continues and ends the program when it is aborted in a stall', async (t) => {
  const clock = new VirtualClock();
  const { run, stop, line, last } = await setup(t, 'stubborn', clock);
  const pid = (await line).split(' ')[1];
  await clock.advanceToNext();
  while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T ')) await new Promise(setImmediate);
  stop.abort();
  t.equal(await last, 'stubborn: told to end');
  t.equal((await run).code, 3);
});
