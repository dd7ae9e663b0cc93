// The entries of a zip, for comparisons: small archives only.

import { buffer } from 'node:stream/consumers';
import yauzl, { type Entry } from 'yauzl';

export async function unzip(zip: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const file = await yauzl.fromBufferPromise(zip, {});
  const entries = new Map<string, Buffer>();
  for await (const entry of file.eachEntry() as AsyncIterable<Entry>)
    entries.set(entry.fileName.toString(), await buffer(await file.openReadStreamPromise(entry)));
  return entries;
}
