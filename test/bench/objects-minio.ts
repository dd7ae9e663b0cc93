// A side of W5: the same by the client library of MinIO, whose stream gives one object after the other.

import { Client } from 'minio';
import { ObjectsSeen } from './objects-seen.ts';
import { tellOf } from './side-process.ts';

void tellOf(async ({ port }: { readonly port: number }) => {
  const client = new Client({
    ...{ endPoint: '127.0.0.1', port, useSSL: false, region: 'eu' },
    ...{ accessKey: 'bench-access', secretKey: 'bench-secret' },
  });
  const seen = new ObjectsSeen();
  for await (const { name, size, etag, lastModified } of client.listObjectsV2('bucket', '', true))
    seen.add(name, size, etag, lastModified);
  return seen.all;
});
