// A large upload that is cut again and again, on S3.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { CUT_UPLOAD_BYTES, cutUploads } from '../support/cut-uploads.ts';
import { declareObjectChanges, OBJECT_CHANGES } from './object-changes.ts';
import { startRabbitMq } from './rabbitmq.ts';
import { startRadosgw } from './radosgw.ts';

const GIB = 1024 ** 3;
// The bytes of the upload, the archive made of them, what is installed, and parts that were begun before cuts.
const radosgw = await startRadosgw(t, { gib: Math.ceil((CUT_UPLOAD_BYTES * 5) / GIB) + 4, durable: true });
const rabbit = await startRabbitMq(await mkdtemp(join(tmpdir(), 'longshore-rabbitmq-')));
t.teardown(() => rabbit[Symbol.asyncDispose]());
const bucket = await radosgw.makeBucket();
await declareObjectChanges(rabbit);
const { exchange, queue, key } = OBJECT_CHANGES;
await radosgw.notifyAmqp(bucket, { amqpPort: rabbit.port, exchange, topic: key });

await cutUploads(({ installer }) => {
  installer.objectStore = {
    ...{ driver: 's3', bucketName: bucket, server: `${radosgw.host}:${radosgw.port}`, https: false },
    ...{ accessToken: radosgw.accessKey, secretKey: radosgw.secretKey },
  };
  installer.queueBroker = {
    global: {
      connection: { server: `127.0.0.1:${rabbit.port}`, tls: false, username: 'guest', password: 'guest' },
      exchange: { name: exchange, type: 'topic' },
      queue: { name: queue },
      routing: { key },
    },
  };
});
