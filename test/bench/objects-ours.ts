// A side of M17: a listing as the product's S3 store reads it.

import { openS3Reader } from '../../engine/adapters/s3-reader.ts';
import { ObjectsSeen } from './objects-seen.ts';
import { tellOf } from './side-process.ts';

void tellOf(async ({ port }: { readonly port: number }) => {
  const keys = { accessKey: 'bench-access', secretKey: 'bench-secret' };
  const at = { host: '127.0.0.1', port, bucket: 'bucket', tls: undefined, region: 'eu', pathStyle: true, ...keys };
  using reader = openS3Reader(at);
  const seen = new ObjectsSeen();
  for await (const { key, size, etag, modified } of reader.list('', {}, new AbortController().signal))
    seen.add(key, size, etag, modified);
  return seen.all;
});
