// W5: a listing of a million objects from an S3 store in another process, in pages of a thousand.

import { listingStore } from './listing-store.ts';
import { allObjects } from './objects-seen.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { openSides } from './side-process.ts';

const OBJECTS = DATASETS ?? 1_000_000;

const row: BenchRow = {
  id: 'W5',
  watched: true,
  title: `objects a second, ${OBJECTS} objects listed in pages of 1,000`,
  unit: 'objects/s',
  better: 'higher',
  sides: { minio: { is: 'peer', what: 'listObjectsV2 of the minio client, as a stream' } },
  bars: [{ over: 'minio', atLeast: 0.8 }],
  async measure(rounds) {
    await using store = await listingStore(OBJECTS);
    await using sides = await openSides();
    const expected = allObjects(OBJECTS);
    const round = async (): Promise<Round> => {
      const ours = await sides.run('objects-ours.ts', { port: store.port }, expected);
      const minio = await sides.run('objects-minio.ts', { port: store.port }, expected);
      return {
        ...{ ours: OBJECTS / ours.seconds, minio: OBJECTS / minio.seconds },
        ...{ 'ours RSS MiB': ours.peakMib, 'minio RSS MiB': minio.peakMib },
      };
    };
    await round();
    const measured = [];
    for (let n = 0; n < rounds; n++) measured.push(await round());
    return measured;
  },
};

export const rows: readonly BenchRow[] = [row];
