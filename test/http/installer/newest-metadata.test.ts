import { Readable } from 'node:stream';
import t from 'tap';
import { withNewestMetadata } from '../../../http/installer/dataset-edit.ts';

type Parameters = globalThis.Parameters<typeof withNewestMetadata>;

const MOST = 16 * 1024 * 1024;

/** A store whose metadata say that they have this size, and are not text. */
function read(size: number): Promise<unknown> {
  const info = { size, etag: 'new', modified: new Date(1) };
  const store = { head: async () => info, get: async () => ({ info, body: Readable.from([Buffer.from([0xff])]) }) };
  const dataset = { datasetId: 'dataset0', owner: '1', sync: {} };
  return withNewestMetadata(
    dataset as unknown as Parameters[0],
    store as unknown as Parameters[1],
    new AbortController().signal,
  );
}

t.test('metadata in the store are read up to 16 MiB, and refused above', async (t) => {
  await t.rejects(read(MOST), /is not UTF-8/);
  await t.rejects(read(MOST + 1), /16777217 bytes are too many for metadata/);
});
