// What changes of the S3 store become: the server announces them to RabbitMQ, and the change queue hands them over.

import { Readable } from 'node:stream';
import type { Test } from 'tap';
import { RabbitChangeQueue } from '../../engine/adapters/rabbit/rabbit-queue.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { OBJECT_CHANGES, type StartStore } from './object-changes.ts';
import { startRabbitMqFor } from './rabbitmq.ts';
import { s3OptionsOf } from './s3-options.ts';

const signal = new AbortController().signal;

interface Announcing {
  /** The server promises no order. */
  readonly anyOrder?: boolean;
  /** RabbitMQ is away while the objects change. */
  readonly away?: boolean;
}

/** Every change of an object is announced once, under its key. */
export async function announcesChanges(t: Test, start: StartStore, { anyOrder, away }: Announcing = {}): Promise<void> {
  const starting = startRabbitMqFor(t);
  const [rabbit, { store: server, bucket }] = await Promise.all([starting, start(t, starting)]);
  const store = new S3Store(s3OptionsOf(server, bucket), { log: silentLogger() });
  t.teardown(() => store[Symbol.dispose]());
  const keys = ['1/a/vdi-meta.json', '1/a/raw/a+b %2F ä&"<>\u{1f600}.csv', '1/a/import-ready.zip'];
  const [meta, odd, zip] = keys as [string, string, string];
  if (away) await rabbit.stop();
  await store.put(meta, Buffer.from('{}'), {}, signal);
  await store.put(odd, Readable.from([Buffer.from('x')]), { size: 1 }, signal);
  await store.put(zip, Readable.from([Buffer.alloc(9_000_000)]), {}, signal);
  const unwanted = store.put('1/a/none', Readable.from([Buffer.from('x')]), { size: 2 }, signal);
  await t.rejects(unwanted, { kind: 'rejected', message: /1\/a\/none/ });
  // Ceph announces the removal of an absent key too; whoever hears of it finds nothing to do.
  await store.remove([zip, odd, meta], signal);
  if (away) await rabbit.start();

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
      exchange: { name: OBJECT_CHANGES.exchange, type: 'topic', durable: true, autoDelete: false, arguments: {} },
      queue: { name: OBJECT_CHANGES.queue, durable: true, autoDelete: false, exclusive: false, arguments: {} },
      routing: { key: OBJECT_CHANGES.key, arguments: {} },
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
  const compared = (changes: readonly ObjectChange[]) =>
    anyOrder ? changes.map((one) => JSON.stringify(one)).sort() : changes;
  t.strictSame(compared(seen), compared(expected));
}
