import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Connections } from '../../http/connections.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { dial } from './http-app.ts';

const LIMITS = { idleTimeoutMs: 60_000, keepAliveTimeoutMs: 5_000 };
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A server whose connections are looked at by a clock that stands still; requests wait to be answered. */
async function watched(t: Test, limits = LIMITS) {
  const clock = new VirtualClock();
  const connections = new Connections(limits, clock);
  const server = createServer({ keepAliveTimeout: 0 });
  server.on('connection', (socket) => connections.add(socket));
  server.on('request', (request, response) => connections.began(request, response));
  server.on('timeout', (socket: Socket) => connections.stoodStill(socket));
  t.teardown(() => {
    server.close();
    connections.closeAll();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    connections,
    /** A new connection, as both ends have it. */
    async connect() {
      const arrived = once(server, 'connection');
      const client = dial(port);
      const [socket] = (await arrived) as [Socket];
      return { client, socket };
    },
    /** Resolves with the answer that is to be given. */
    async ask(client: Socket): Promise<ServerResponse> {
      const asked = once(server, 'request');
      client.write(GET);
      return (await asked)[1];
    },
  };
}

async function answer(response: ServerResponse): Promise<void> {
  const over = once(response, 'close');
  response.end('done');
  await over;
}

t.test('a connection that rests is closed a second after the time that its client was told', async (t) => {
  const { clock, connect, ask } = await watched(t);
  const { client, socket } = await connect();
  await answer(await ask(client.socket));
  await clock.advance(6_999);
  t.notOk(socket.destroyed, 'seen to rest at 1,000');
  await clock.advance(1);
  t.ok(socket.destroyed);
  t.match(await client.answer, /done/);
  await clock.settle();
  t.equal(clock.pending, 0, 'where no connection is, none is looked for');
});

t.test('a request makes a connection rest anew, and so does the begin of one', async (t) => {
  const { clock, connect, ask } = await watched(t);
  const { client, socket } = await connect();
  await answer(await ask(client.socket));
  await clock.advance(6_500);
  await answer(await ask(client.socket));
  await clock.advance(6_499);
  t.notOk(socket.destroyed, 'seen to rest at 7,000');
  const before = socket.bytesRead;
  client.socket.write(GET.slice(0, 5));
  while (socket.bytesRead === before) await clock.settle();
  await clock.advance(6_000);
  t.notOk(socket.destroyed, 'seen to rest at 13,000');
  await clock.advance(1_000);
  t.ok(socket.destroyed);
});

t.test('only a request that lasts has a timer of its own', async (t) => {
  const { clock, connect, ask } = await watched(t);
  const { client, socket } = await connect();
  await answer(await ask(client.socket));
  t.notOk(socket.timeout);
  await clock.advance(1_000);
  t.notOk(socket.timeout, 'answered before it was seen');
  const lasting = await ask(client.socket);
  await clock.advance(1_000);
  t.equal(socket.timeout, 60_000, 'seen under way');
  await answer(lasting);
  await clock.advance(1_000);
  t.notOk(socket.timeout, 'seen to rest');
});

t.test('a request may be worked on for longer than a connection may rest', async (t) => {
  const { clock, connect, ask } = await watched(t);
  const { client, socket } = await connect();
  const lasting = await ask(client.socket);
  await clock.advance(3_600_000);
  t.notOk(socket.destroyed);
  await answer(lasting);
  await clock.advance(7_000);
  t.ok(socket.destroyed);
});

t.test('whoever connects and says nothing gets the timer for standing still', async (t) => {
  const { clock, connect } = await watched(t, { idleTimeoutMs: 20, keepAliveTimeoutMs: 5_000 });
  const { client, socket } = await connect();
  await clock.advance(5);
  t.equal(socket.timeout, 20);
  t.equal(await client.answer, '');
});

t.test('unused connections can be closed, and those in use stay', async (t) => {
  const { connections, connect, ask } = await watched(t);
  const [silent, resting, busy] = [await connect(), await connect(), await connect()];
  await answer(await ask(resting.client.socket));
  const lasting = await ask(busy.client.socket);
  connections.closeUnused();
  t.strictSame(
    [silent, resting, busy].map(({ socket }) => socket.destroyed),
    [true, true, false],
  );
  await answer(lasting);
});
