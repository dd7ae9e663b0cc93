// Radosgw with a bucket that announces its changes to RabbitMQ.

import { declareObjectChanges, OBJECT_CHANGES, type StartStore } from './object-changes.ts';
import { type Radosgw, type RadosgwOptions, startRadosgw } from './radosgw.ts';

export function onRadosgw(options: RadosgwOptions = {}): StartStore<Radosgw> {
  return async (t, rabbit) => {
    const [store, broker] = await Promise.all([startRadosgw(t, options), declareObjectChanges(rabbit)]);
    const bucket = await store.makeBucket();
    const { exchange, key: topic } = OBJECT_CHANGES;
    await store.notifyAmqp(bucket, { amqpPort: broker.port, exchange, topic });
    return { store, bucket };
  };
}
