// The change queue on a real RabbitMQ: what every change queue does, and what only a broker can do wrong.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type Channel, connect } from 'amqplib';
import pino from 'pino';
import t, { type Test } from 'tap';
import { RabbitChangeQueue, type RabbitQueueOptions } from '../../engine/adapters/rabbit/rabbit-queue.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import { type Logger, silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { changeQueueConformance } from '../conformance/change-queue.ts';
import { freePort } from '../support/ports.ts';
import { startRabbitMq } from './rabbitmq.ts';

const signal = new AbortController().signal;
const BUCKET = 'datasets';
const server = await startRabbitMq(await mkdtemp(join(tmpdir(), 'longshore-rabbitmq-')));
t.teardown(() => server[Symbol.asyncDispose]());
const model = await connect(`amqp://127.0.0.1:${server.port}`);
model.on('error', () => undefined);
let channel: Channel = await model.createConfirmChannel();
channel.on('error', () => undefined);
t.teardown(() => model.close().catch(() => undefined));

/** Resolves with the error that is warned of first. */
function firstWarning(): { readonly log: Logger; readonly said: Promise<string> } {
  const said = Promise.withResolvers<string>();
  const write = (line: string): void => said.resolve((JSON.parse(line) as { err: { message: string } }).err.message);
  return { log: pino({ level: 'warn' }, { write }), said: said.promise };
}

let last = 0;
interface Setup {
  readonly options: RabbitQueueOptions;
  readonly counted: { ignored: number; malformed: number };
  open(more?: Partial<RabbitQueueOptions>): RabbitChangeQueue;
  publish(content: string | Buffer): Promise<void>;
  announce(changes: readonly ObjectChange[]): Promise<void>;
}

/** Names of its own; the queue is declared, so that nothing is published into nowhere. */
async function setup(options: Partial<RabbitQueueOptions> = {}): Promise<Setup> {
  const name = `case-${++last}`;
  const counted = { ignored: 0, malformed: 0 };
  const all: RabbitQueueOptions = {
    name: 'longshore-test',
    host: '127.0.0.1',
    port: server.port,
    username: 'guest',
    password: 'guest',
    timeoutMs: 10_000,
    exchange: { name: `${name}-exchange`, type: 'topic', durable: true, autoDelete: false, arguments: {} },
    queue: { name: `${name}-queue`, durable: true, autoDelete: false, exclusive: false, arguments: {} },
    routing: { key: '#', arguments: {} },
    bucket: BUCKET,
    onIgnored: (records) => {
      counted.ignored += records;
    },
    onMalformed: () => counted.malformed++,
    ...options,
  };
  await declare(all);
  const publish = async (content: string | Buffer): Promise<void> => {
    channel.publish(all.exchange.name, 'any', Buffer.from(content), { persistent: true });
    await (channel as Channel & { waitForConfirms(): Promise<void> }).waitForConfirms();
  };
  return {
    options: all,
    counted,
    publish,
    open: (more = {}) => new RabbitChangeQueue({ ...all, ...more }, systemClock, silentLogger()),
    async announce(changes) {
      for (const change of changes)
        channel.publish(all.exchange.name, 'any', Buffer.from(notificationOf(change)), { persistent: true });
      await (channel as Channel & { waitForConfirms(): Promise<void> }).waitForConfirms();
    },
  };
}

async function declare({ exchange, queue, routing }: RabbitQueueOptions): Promise<void> {
  await channel.assertExchange(exchange.name, exchange.type, { durable: exchange.durable });
  await channel.assertQueue(queue.name, { durable: queue.durable, arguments: queue.arguments });
  await channel.bindQueue(queue.name, exchange.name, routing.key);
}

/** As MinIO writes it. */
function notificationOf({ kind, key }: ObjectChange, bucket = BUCKET): string {
  const eventName = kind === 'created' ? 's3:ObjectCreated:Put' : 's3:ObjectRemoved:Delete';
  const encoded = encodeURIComponent(key).replaceAll('%20', '+');
  const record = { eventSource: 'minio:s3', eventName, s3: { bucket: { name: bucket }, object: { key: encoded } } };
  return JSON.stringify({ EventName: eventName, Key: `${bucket}/${key}`, Records: [record] });
}

/** Between the adapter and the broker: connections can be cut, as by a network or the death of a process. */
async function relay(t: Test): Promise<{ readonly port: number; cut(): void }> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const listener = createServer((from) => {
    const to = connectSocket(server.port, '127.0.0.1');
    for (const socket of [from, to]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    from.pipe(to).pipe(from);
  }).listen(port, '127.0.0.1');
  await once(listener, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(() => {
    listener.close();
    cut();
  });
  return { port, cut };
}

changeQueueConformance('RabbitChangeQueue', async (t) => {
  const { open, announce } = await setup();
  const between = await relay(t);
  return {
    first: open(),
    second: open({ port: between.port }),
    announce,
    killSecond: async () => between.cut(),
    hurry: async () => undefined,
  };
});

/** Keys in the order of their coming, until `count` have come. */
async function take(queue: RabbitChangeQueue, count: number): Promise<readonly string[]> {
  const stop = new AbortController();
  const seen: string[] = [];
  await queue.consume(async (changes) => {
    seen.push(...changes.map(({ key }) => key));
    if (seen.length >= count) stop.abort();
  }, stop.signal);
  return seen;
}

/** What is in the queue once nobody reads it. */
const left = async ({ options }: Setup): Promise<number> => (await channel.checkQueue(options.queue.name)).messageCount;

t.test(
  'a connection that breaks while a batch is handled: the batch comes again, and nothing after it is lost',
  async (t) => {
    const at = await setup();
    const between = await relay(t);
    const queue = at.open({ port: between.port });
    await at.announce([{ kind: 'created', key: 'a' }]);
    const stop = new AbortController();
    const seen: string[] = [];
    await queue.consume(async (changes) => {
      if (seen.length === 0) between.cut();
      seen.push(...changes.map(({ key }) => key));
      if (seen.length === 1) await at.announce([{ kind: 'created', key: 'b' }]);
      if (seen.includes('b')) stop.abort();
    }, stop.signal);
    t.same(seen.slice(0, 2), ['a', 'a']);
    t.same(new Set(seen), new Set(['a', 'b']));
    t.equal(await left(at), 0);
  },
);

t.test('a message that is no notification is counted and does not hold up the others', async (t) => {
  const at = await setup();
  await at.publish('no JSON');
  await at.announce([{ kind: 'created', key: 'a' }]);
  await at.publish('{"Records":[{"eventName":7}]}');
  t.same(await take(at.open(), 1), ['a']);
  // Read by the next, were the last of them not refused.
  await at.announce([{ kind: 'created', key: 'b' }]);
  t.same(await take(at.open(), 1), ['b']);
  t.equal(at.counted.malformed, 2);
  t.equal(await left(at), 0);
});

t.test('a message that is no notification goes to the dead-letter exchange of the queue', async (t) => {
  await channel.assertExchange('dead', 'fanout');
  await channel.assertQueue('dead');
  await channel.bindQueue('dead', 'dead', '');
  const at = await setup({
    queue: {
      ...{ name: 'with-dead-letters', durable: true, autoDelete: false, exclusive: false },
      arguments: { 'x-dead-letter-exchange': 'dead' },
    },
  });
  await at.publish('no JSON');
  await at.announce([{ kind: 'created', key: 'a' }]);
  await take(at.open(), 1);
  const dead = await channel.get('dead', { noAck: true });
  t.equal(dead === false ? '' : dead.content.toString(), 'no JSON');
});

t.test('changes of other buckets and events of other kinds are acknowledged and counted', async (t) => {
  const at = await setup();
  await at.publish(notificationOf({ kind: 'created', key: 'x' }, 'another'));
  await at.publish(notificationOf({ kind: 'created', key: 'x' }).replaceAll('ObjectCreated:Put', 'ObjectAccessed:Get'));
  await at.announce([{ kind: 'removed', key: 'a' }]);
  t.same(await take(at.open(), 1), ['a']);
  t.same(at.counted, { ignored: 2, malformed: 0 });
  t.equal(await left(at), 0);
});

t.test('a queue that is deleted under its consumer is declared anew', async (t) => {
  const at = await setup();
  const stop = new AbortController();
  const arrived = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() };
  const consuming = at.open().consume(async (changes) => {
    for (const { key } of changes) arrived[key as 'first' | 'second'].resolve();
  }, stop.signal);
  await at.announce([{ kind: 'created', key: 'first' }]);
  await arrived.first.promise;
  await channel.deleteQueue(at.options.queue.name);
  await declare(at.options);
  await at.announce([{ kind: 'created', key: 'second' }]);
  await arrived.second.promise;
  stop.abort();
  await consuming;
  t.equal(await left(at), 0);
});

t.test('over TLS, with a certificate that is verified', async (t) => {
  const ca = readFileSync(server.caFile, 'utf8');
  const at = await setup({ port: server.tlsPort, tls: { rejectUnauthorized: true, ca } });
  await at.announce([{ kind: 'created', key: 'a' }]);
  t.same(await take(at.open(), 1), ['a']);
  await t.resolves(at.open().probe(signal));
  const distrusted = at.open({ tls: { rejectUnauthorized: true } });
  await t.rejects(distrusted.probe(signal), { kind: 'transient', message: /certificate/ });
  await t.resolves(at.open({ tls: { rejectUnauthorized: false } }).probe(signal));
});

t.test('what is wrong is said: the password, the server, settings that differ', async (t) => {
  const at = await setup();
  const wrong = at.open({ password: 'not-the-word' });
  await t.rejects(wrong.probe(signal), { kind: 'transient', message: /rejects the user: .*ACCESS_REFUSED/ });
  const failure = await wrong.probe(signal).catch((error: unknown) => error);
  t.notMatch(inspect(failure, { depth: 10, showHidden: true }), 'not-the-word');
  const port = await freePort();
  await t.rejects(at.open({ port }).probe(signal), {
    kind: 'transient',
    unreachable: true,
    message: new RegExp(`^queue broker 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`),
  });
  const { log, said } = firstWarning();
  const stop = new AbortController();
  const differs = { ...at.options, exchange: { ...at.options.exchange, type: 'fanout' as const } };
  const consuming = new RabbitChangeQueue(differs, systemClock, log).consume(async () => undefined, stop.signal);
  t.match(await said, /PRECONDITION[-_]FAILED.*change the configuration to match the broker/);
  stop.abort();
  await consuming;
});

t.test('a broker that hangs is given up after the time-out', async (t) => {
  const at = await setup();
  server.pause();
  const waiting = at.open({ timeoutMs: 300 }).probe(signal);
  await t.rejects(waiting, { kind: 'transient', unreachable: true, message: /no response within 300 ms|ETIMEDOUT/ });
  const stop = new AbortController();
  const probing = at.open().probe(stop.signal);
  stop.abort(new Error('no longer wanted'));
  await t.rejects(probing, { message: 'no longer wanted' });
  server.continue();
});

t.test('a broker that falls silent is noticed, and read again when it speaks', async (t) => {
  const at = await setup();
  const { log, said } = firstWarning();
  const queue = new RabbitChangeQueue({ ...at.options, heartbeatSeconds: 1 }, systemClock, log);
  await at.announce([{ kind: 'created', key: 'before' }]);
  const stop = new AbortController();
  const arrived = { before: Promise.withResolvers<void>(), after: Promise.withResolvers<void>() };
  const consuming = queue.consume(async (changes) => {
    for (const { key } of changes) arrived[key as 'before' | 'after'].resolve();
  }, stop.signal);
  await arrived.before.promise;
  server.pause();
  t.match(await said, /Heartbeat timeout/);
  await t.rejects(at.open({ timeoutMs: 500 }).probe(signal), { kind: 'transient', message: /queue broker/ });
  server.continue();
  await at.announce([{ kind: 'created', key: 'after' }]);
  await arrived.after.promise;
  stop.abort();
  await consuming;
});

t.test('a broker that is restarted: what it kept is read, and health tells', async (t) => {
  const at = await setup();
  const queue = at.open();
  const stop = new AbortController();
  const arrived = { before: Promise.withResolvers<void>(), after: Promise.withResolvers<void>() };
  const consuming = queue.consume(async (changes) => {
    for (const { key } of changes) arrived[key as 'before' | 'after'].resolve();
  }, stop.signal);
  await at.announce([{ kind: 'created', key: 'before' }]);
  await arrived.before.promise;
  await t.resolves(queue.probe(signal));
  await server.restart();
  const again = await connect(`amqp://127.0.0.1:${server.port}`);
  channel = await again.createConfirmChannel();
  await at.announce([{ kind: 'created', key: 'after' }]);
  await arrived.after.promise;
  await t.resolves(queue.probe(signal));
  stop.abort();
  await consuming;
  await again.close();
});
