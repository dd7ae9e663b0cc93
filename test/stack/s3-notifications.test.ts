// What the S3 store's changes become: radosgw announces them to RabbitMQ, and the change queue hands them over.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { connect } from 'amqplib';
import t from 'tap';
import { RabbitChangeQueue } from '../../engine/adapters/rabbit/rabbit-queue.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { startRabbitMq } from './rabbitmq.ts';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const signal = new AbortController().signal;

t.test('every change of an object is announced once, under its key, in order', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-rabbitmq-'));
  const [rabbit, radosgw] = await Promise.all([startRabbitMq(dir), startRadosgw(t)]);
  t.teardown(() => rabbit[Symbol.asyncDispose]());
  const model = await connect(`amqp://127.0.0.1:${rabbit.port}`);
  const channel = await model.createChannel();
  await channel.assertExchange('changes', 'topic', { durable: true });
  await channel.assertQueue('changes', { durable: true });
  await channel.bindQueue('changes', 'changes', '#');
  await model.close();

  const bucket = await radosgw.makeBucket();
  await radosgw.notifyAmqp(bucket, { amqpPort: rabbit.port, exchange: 'changes', topic: 'datasets' });
  const store = new S3Store(s3OptionsOf(radosgw, bucket), { log: silentLogger() });
  t.teardown(() => store[Symbol.dispose]());
  const keys = ['1/a/vdi-meta.json', '1/a/raw/a+b %2F ä&"<>\u{1f600}.csv', '1/a/import-ready.zip'];
  const [meta, odd, zip] = keys as [string, string, string];
  await store.put(meta, Buffer.from('{}'), {}, signal);
  await store.put(odd, Readable.from([Buffer.from('x')]), { size: 1 }, signal);
  await store.put(zip, Readable.from([Buffer.alloc(9_000_000)]), {}, signal);
  const unwanted = store.put('1/a/none', Readable.from([Buffer.from('x')]), { size: 2 }, signal);
  await t.rejects(unwanted, { kind: 'rejected', message: /1\/a\/none/ });
  // Ceph announces the removal of an absent key too; whoever hears of it finds nothing to do.
  await store.remove([zip, odd, meta], signal);

  const expected: readonly ObjectChange[] = [
    ...keys.map((key) => ({ kind: 'created', key }) as const),
    ...[zip, odd, meta].map((key) => ({ kind: 'removed', key }) as const),
  ];
  const queue = new RabbitChangeQueue(
    {
      name: 'longshore-test',
      host: '127.0.0.1',
      port: rabbit.port,
      username: 'guest',
      password: 'guest',
      timeoutMs: 10_000,
      exchange: { name: 'changes', type: 'topic', durable: true, autoDelete: false, arguments: {} },
      queue: { name: 'changes', durable: true, autoDelete: false, exclusive: false, arguments: {} },
      routing: { key: '#', arguments: {} },
      bucket,
      onIgnored: () => t.fail('a record that is not taken for a change of ours'),
      onMalformed: () => t.fail('a record that is not understood'),
    },
    systemClock,
    silentLogger(),
  );
  const seen: ObjectChange[] = [];
  const stop = new AbortController();
  await queue.consume(async (changes) => {
    seen.push(...changes);
    if (seen.length >= expected.length) stop.abort();
  }, stop.signal);
  t.strictSame(seen, expected);
});
