import t from 'tap';
import { DiskFloor, type DiskSpace } from '../../../../engine/adapters/uploads/disk-floor.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const GIB = 1024 ** 3;

function setup(disks: Record<string, DiskSpace | Error>) {
  const clock = new VirtualClock();
  let reads = 0;
  const room = new DiskFloor({
    folders: [
      { role: 'the scratch space', folder: '/scratch' },
      { role: 'the object store', folder: '/objects' },
    ],
    floorPercent: 5,
    floorBytes: GIB,
    clock,
    log: silentLogger(),
    readDisk: async (folder) => {
      reads++;
      const disk = disks[folder];
      if (!disk || disk instanceof Error) throw disk ?? new Error(`no disk ${folder}`);
      return disk;
    },
  });
  const after = async (ms: number) => {
    await clock.advance(ms);
    return room.lack();
  };
  return { room, disks, after, reads: () => reads };
}

const ROOMY = { freeBytes: 50 * GIB, sizeBytes: 100 * GIB };

t.test('a disk has no room below five percent of its size, or below a gibibyte', async (t) => {
  const { disks, after } = setup({ '/scratch': ROOMY, '/objects': ROOMY });
  for (const [freeBytes, sizeBytes, floor] of [
    [5 * GIB, 100 * GIB, undefined],
    [5 * GIB - 1, 100 * GIB, 5 * GIB],
    [GIB, 2 * GIB, undefined],
    [GIB - 1, 2 * GIB, GIB],
  ] as const) {
    disks['/objects'] = { freeBytes, sizeBytes };
    const lack = `the disk of the object store has ${freeBytes} bytes free; writes stop below ${floor}`;
    t.equal(await after(1_000), floor && lack);
  }
});

t.test('is asked anew after a second, and goes on by itself when there is room', async (t) => {
  const { room, disks, after, reads } = setup({ '/scratch': ROOMY, '/objects': ROOMY });
  t.strictSame(await Promise.all([room.lack(), room.lack()]), [undefined, undefined]);
  t.equal(reads(), 2, 'once for each folder, whoever asks');
  disks['/scratch'] = { freeBytes: 0, sizeBytes: GIB };
  t.equal(await after(999), undefined);
  t.match(await after(1), /^the disk of the scratch space has 0 bytes free/);
  disks['/scratch'] = ROOMY;
  t.equal(await after(1_000), undefined);
});

t.test('a disk that cannot be asked is taken to be as it was', async (t) => {
  const { disks, after } = setup({ '/scratch': ROOMY, '/objects': { freeBytes: 1, sizeBytes: GIB } });
  t.match(await after(1_000), /the object store has 1 bytes free/);
  disks['/objects'] = new Error('stale handle');
  t.match(await after(1_000), /the object store has 1 bytes free/);
  disks['/objects'] = ROOMY;
  t.equal(await after(1_000), undefined);
  disks['/objects'] = new Error('stale handle');
  t.equal(await after(1_000), undefined);
});
