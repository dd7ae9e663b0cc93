// A side of W5: a listing as the reconciler reads it from the product's S3 store.

import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { ObjectsSeen } from './objects-seen.ts';
import { tellOf } from './side-process.ts';

void tellOf(async ({ port }: { readonly port: number }) => {
  const keys = { accessKey: 'bench-access', secretKey: 'bench-secret' };
  const at = { host: '127.0.0.1', port, bucket: 'bucket', tls: undefined, region: 'eu', pathStyle: true, ...keys };
  using store = new S3Store(at, { log: silentLogger() });
  const seen = new ObjectsSeen();
  for await (const page of store.pages('', {}, new AbortController().signal))
    for (const { key, size, etag, modified } of page) seen.add(key, size, etag, modified);
  return seen.all;
});
