// The stub of an S3 store (listing-stub.ts) as a measure uses it.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';

export interface ListingStore extends AsyncDisposable {
  readonly port: number;
  readonly options: S3Options;
}

const HOW = { host: '127.0.0.1', bucket: 'bucket', tls: undefined, region: 'eu', pathStyle: true } as const;
const KEYS = { accessKey: 'bench-access', secretKey: 'bench-secret' } as const;

/**
 * @param each objects of every dataset
 * @param leftOut number of the dataset that the bucket lacks
 */
export async function listingStore(objects: number, each = 1, leftOut?: number): Promise<ListingStore> {
  const args = [objects, each, ...(leftOut === undefined ? [] : [leftOut])].map(String);
  const child = fork(join(import.meta.dirname, 'listing-stub.ts'), args, { execArgv: [] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    ...{ port, options: { ...HOW, ...KEYS, port } },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
