import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import t, { type Test } from 'tap';
import { type ConnectionLimits, Connections, type CutReason } from '../../../../http/kernel/server/connections.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { dial } from '../../http-app.ts';

const MIB = 1024 * 1024;
const PROXY = '127.0.0.9';
const LIMITS: ConnectionLimits = {
  ...{ maxConnections: 4, connectionsPerAddress: 3, maxPipelined: 2 },
  ...{ idleTimeoutMs: 60_000, keepAliveTimeoutMs: 5_000, minTransferRate: 1_000, maxUnsentSize: 24 * MIB },
};
const PATHS = ['/a', '/b', '/c'];
const getOf = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A server whose connections are looked at by a clock that stands still; requests wait to be answered. */
async function watched(t: Test, limits = LIMITS) {
  const clock = new VirtualClock();
  const cuts: CutReason[] = [];
  const connections = new Connections(limits, {
    clock,
    isProxy: (address) => address === PROXY,
    onCut: (reason) => cuts.push(reason),
  });
  // Without timers of the platform, so that the clock alone decides.
  const server = createServer({ keepAliveTimeout: 0 });
  server.on('connection', (socket) => connections.add(socket));
  server.on('request', (request, response) =>
    connections.arrived({ request, response }, () => server.emit('served', request, response)),
  );
  let count = 0;
  server.on('served', () => count++);
  server.on('timeout', (socket: Socket) => connections.onIdleTimeout(socket));
  t.teardown(() => {
    server.close();
    connections.closeAll();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    connections,
    cuts,
    /** A new connection, as both ends have it. */
    async connect(from = '127.0.0.1') {
      const arrived = once(server, 'connection');
      const client = dial(port, from);
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

/** Too much for what the system takes of an answer that nobody reads. */
const LARGE = Buffer.alloc(10 * MIB);
const open = ({ socket }: { readonly socket: Socket }): boolean => !socket.destroyed;

async function answer(response: ServerResponse): Promise<void> {
  const over = once(response, 'close');
  response.end('done');
  await over;
}

t.test('where no connection is, none is looked for', async (t) => {
  const { clock, connections, connect, ask } = await watched(t);
  const { client, socket } = await connect();
  await answer(await ask(client.socket));
  t.equal(clock.pending, 1);
  const closed = once(socket, 'close');
  connections.closeUnused();
  await closed;
  await clock.settle();
  t.equal(clock.pending, 0);
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

t.test(
  'a new connection of an address that has its share takes the place of one that rests, or of a silent one',
  async (t) => {
    const { connect, ask, cuts, clock } = await watched(t);
    const [silent, resting, busy] = [await connect(), await connect(), await connect()];
    await answer(await ask(resting.client.socket));
    const lasting = await ask(busy.client.socket);
    const fourth = await connect();
    t.same([silent, resting, busy, fourth].map(open), [true, false, true, true]);
    await clock.advance(10);
    const fifth = await connect();
    t.same([silent, busy, fourth, fifth].map(open), [false, true, true, true], 'the one that is silent for longest');
    await ask(fourth.client.socket);
    await ask(fifth.client.socket);
    t.notOk(open(await connect()), 'all are in use');
    t.ok(open(await connect('127.0.0.2')), 'another address has a share of its own');
    t.same(cuts, ['room', 'room', 'address']);
    await answer(lasting);
  },
);

t.test('connections beyond the limit of all are closed, and those of a proxy have no limit but that', async (t) => {
  const { connect, ask, cuts } = await watched(t);
  for (let i = 0; i < LIMITS.maxConnections; i++) await ask((await connect(PROXY)).client.socket);
  t.same(cuts, []);
  t.notOk(open(await connect('127.0.0.2')));
  t.notOk(open(await connect(PROXY)));
  t.same(cuts, ['full', 'full']);
});

t.test('a client that does not take its answer for five seconds may lose its place', async (t) => {
  const { connect, served, ask, cuts, clock } = await watched(t);
  const slow = await connect();
  slow.client.socket.pause();
  const [response] = await served(1, () => slow.client.socket.write(GET));
  response?.end(LARGE);
  for (let i = 1; i < LIMITS.connectionsPerAddress; i++) await ask((await connect()).client.socket);
  await clock.advance(5_000);
  t.notOk(open(await connect()), 'it was seen to take nothing a second after it began');
  await clock.advance(1_000);
  t.ok(open(await connect()));
  t.notOk(open(slow));
  t.same(cuts, ['address', 'room']);
});

t.test('a client that takes less of its answer than it has to is cut off', async (t) => {
  const { connect, served, cuts, clock } = await watched(t);
  const slow = await connect();
  slow.client.socket.pause();
  const [response] = await served(1, () => slow.client.socket.write(GET));
  response?.end(LARGE);
  const left = slow.socket.writableLength;
  t.ok(left > 0);
  // A minute, and the time that what is left takes at a thousand bytes per second.
  await clock.advance(60_000 + left);
  t.ok(open(slow));
  await clock.advance(2_000);
  t.notOk(open(slow));
  t.same(cuts, ['slow']);
});

t.test('a client that sends less of its body than it has to is cut off', async (t) => {
  const { connect, served, cuts, clock } = await watched(t);
  const slow = await connect();
  const [response] = await served(1, () =>
    slow.client.socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n'),
  );
  response?.req.resume();
  /** Sends so much in a minute. */
  const minute = async (bytes: number): Promise<void> => {
    const before = slow.socket.bytesRead;
    slow.client.socket.write(Buffer.alloc(bytes));
    while (slow.socket.bytesRead < before + bytes) await clock.settle();
    await clock.advance(60_000);
  };
  await clock.advance(1_000);
  await minute(60_000);
  await minute(60_000);
  t.ok(open(slow));
  await minute(59_999);
  await clock.advance(1_000);
  t.notOk(open(slow));
  t.same(cuts, ['slow']);
});

t.test('of answers that nobody takes so much is kept; beyond that the slowest clients are cut off', async (t) => {
  const { connections, connect, served, cuts, clock } = await watched(t);
  const slow = [await connect(), await connect('127.0.0.2'), await connect('127.0.0.3')];
  const kept: number[] = [];
  for (const { client, socket } of slow) {
    client.socket.pause();
    const [response] = await served(1, () => client.socket.write(GET));
    response?.end(LARGE);
    kept.push(socket.writableLength);
    connections.answered(socket);
    await clock.advance(1_000);
  }
  t.ok(
    kept.every((bytes) => bytes > LARGE.length),
    'the whole of each',
  );
  t.same(slow.map(open), [false, true, true]);
  t.same(cuts, ['unsent']);
});
