// The stub of an S3 store (listing-stub.ts) as a measure uses it.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface ListingStore extends AsyncDisposable {
  readonly port: number;
}

/**
 * @param each objects of every dataset
 * @param leftOut number of the object that the bucket lacks
 */
export async function listingStore(objects: number, each = 1, leftOut?: number): Promise<ListingStore> {
  const args = [objects, each, ...(leftOut === undefined ? [] : [leftOut])].map(String);
  const child = fork(join(import.meta.dirname, 'listing-stub.ts'), args, { execArgv: [] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    port,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
