import t from 'tap';
import { EARLY_SYNC_BYTES, EarlySync } from '../../../engine/runtime/early-sync.ts';

const half = EARLY_SYNC_BYTES / 2;

t.test('a file is synced each time that so much has been written, one sync at a time', async (t) => {
  const syncs: PromiseWithResolvers<void>[] = [];
  const early = new EarlySync({ datasync: () => begin(syncs) });
  early.wrote(half);
  t.equal(syncs.length, 0);
  early.wrote(half);
  t.equal(syncs.length, 1);
  early.wrote(2 * EARLY_SYNC_BYTES);
  t.equal(syncs.length, 1, 'the first has not ended');
  syncs[0]?.resolve();
  await early.end();
  early.wrote(1);
  t.equal(syncs.length, 2, 'what was written meanwhile counts');
  let ended = false;
  const end = early.end().then(() => {
    ended = true;
  });
  await Promise.resolve();
  t.notOk(ended, 'the second has not ended');
  syncs[1]?.resolve();
  await end;
});

t.test('a sync that failed fails the next write and the end', async (t) => {
  const early = new EarlySync({ datasync: async () => Promise.reject(new Error('EIO')) });
  early.wrote(EARLY_SYNC_BYTES);
  await t.rejects(early.end(), { message: 'EIO' });
  t.throws(() => early.wrote(1), { message: 'EIO' });
  await t.rejects(early.end(), { message: 'EIO' });
});

function begin(syncs: PromiseWithResolvers<void>[]): Promise<void> {
  const sync = Promise.withResolvers<void>();
  syncs.push(sync);
  return sync.promise;
}
