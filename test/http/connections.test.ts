import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Connections } from '../../http/connections.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { dial } from './http-app.ts';

const LIMITS = { idleTimeoutMs: 60_000, keepAliveTimeoutMs: 5_000, maxPipelined: 2 };
const PATHS = ['/a', '/b', '/c'];
const getOf = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A server whose connections are looked at by a clock that stands still; requests wait to be answered. */
async function watched(t: Test, limits = LIMITS) {
  const clock = new VirtualClock();
  const connections = new Connections(limits, clock);
  const server = createServer({ keepAliveTimeout: 0 });
  server.on('connection', (socket) => connections.add(socket));
  server.on('request', (request, response) =>
    connections.arrived(request, response, () => server.emit('served', request, response)),
  );
  let count = 0;
  server.on('served', () => count++);
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
    /** So many answers that are to be given, of requests that are served after this was called. */
    async served(many: number, act: () => unknown): Promise<readonly ServerResponse[]> {
      const responses: ServerResponse[] = [];
      const enough = new Promise<void>((resolve) => {
        server.on('served', (_request, response) => {
          if (responses.push(response) === many) resolve();
        });
      });
      act();
      await enough;
      return responses;
    },
    /** Requests that were served. */
    count: () => count,
    /** Resolves with the answer that is to be given. */
    async ask(client: Socket): Promise<ServerResponse> {
      const asked = once(server, 'served');
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
  const { clock, connect } = await watched(t, { ...LIMITS, idleTimeoutMs: 20 });
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

t.test(
  'requests of one connection are served one after the other, each when the answer before it is sent',
  async (t) => {
    const { connect, served } = await watched(t);
    const { client, socket } = await connect();
    const [first] = await served(1, () => client.socket.write(PATHS.map(getOf).join('')));
    t.equal(socket.bytesRead, PATHS.map(getOf).join('').length, 'all of them were read');
    const [second] = await served(1, () => first?.end('one'));
    const [third] = await served(1, () => second?.end('two'));
    third?.setHeader('connection', 'close');
    third?.end('three');
    t.match(await client.answer, /one.*two.*three$/s);
  },
);

t.test('a connection with more requests waiting than it may have is closed, and none of them is served', async (t) => {
  const { connect, served, count } = await watched(t);
  const { client } = await connect();
  const [first] = await served(1, () => client.socket.write([...PATHS, '/d'].map(getOf).join('')));
  t.equal(await client.answer, '');
  t.ok(first?.destroyed);
  t.equal(count(), 1);
});

t.test('after an answer that ends its connection no request that came behind is served', async (t) => {
  const { connect, served, count } = await watched(t);
  const { client } = await connect();
  const [first] = await served(1, () => client.socket.write(PATHS.map(getOf).join('')));
  first?.setHeader('connection', 'close');
  first?.end('one');
  t.match(await client.answer, /one$/);
  t.equal(count(), 1);
});
