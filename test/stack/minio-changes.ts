// MinIO with a bucket that announces its changes to RabbitMQ.

import { type Minio, startMinio } from './minio.ts';
import { declareObjectChanges, OBJECT_CHANGES, type StartStore } from './object-changes.ts';

/** @param how over TLS alone; in a bucket that keeps old versions */
export function onMinio(how: { readonly tls?: boolean; readonly versioned?: boolean } = {}): StartStore<Minio> {
  return async (t, rabbit) => {
    const { port } = await declareObjectChanges(rabbit);
    const { exchange, key } = OBJECT_CHANGES;
    const store = await startMinio(t, { tls: how.tls ?? false, amqp: { port, exchange, key } });
    const bucket = await store.makeBucket();
    if (how.versioned) await store.client().setBucketVersioning(bucket, { Status: 'Enabled' });
    await store.notifyAmqp(bucket);
    return { store, bucket };
  };
}
