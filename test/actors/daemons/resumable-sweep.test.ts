// Abandoned resumable uploads are gone after their time, with their bytes and their quota.

import t from 'tap';
import { sweepResumable } from '../../../actors/daemons/sweeps.ts';
import { PostgresResumableUploads } from '../../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import { ownerUsage } from '../../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { newUploadId, type UploadId } from '../../../engine/model/ids.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakeUploadBytes } from '../../fakes/fake-upload-bytes.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { livingProcess } from '../../support/database.ts';
import { newUser } from '../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const DAY_MS = 86_400_000;
const db = await cacheDatabase(t);

async function setup(t: { teardown(fn: () => unknown): void }) {
  const { instance } = await livingProcess(t, db);
  const resumable = new PostgresResumableUploads(db, instance);
  const bytes = new FakeUploadBytes(new FakeObjectStore());
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const owner = newUser();
  const begun = async (): Promise<UploadId> => {
    const id = newUploadId((random) => crypto.getRandomValues(random));
    const upload = { id, owner, length: 10, fileName: 'a.txt', metadata: '', expiresMs: clock.now() + DAY_MS };
    await resumable.create(upload, { bytes: 1_000, uploads: 10 }, signal);
    await using writer = await bytes.open({ ...upload, offset: 0, place: undefined }, signal);
    await writer.write(Buffer.from('12345'), signal);
    await writer.flush(signal);
    return id;
  };
  const sweep = () => sweepResumable({ resumable, bytes, clock, log: silentLogger() }, signal);
  return { resumable, bytes, clock, owner, begun, sweep, usage: () => ownerUsage(db, owner, signal) };
}

t.test('what nobody continues is removed after its time, and leaves no quota', async (t) => {
  const { resumable, bytes, clock, owner, begun, sweep, usage } = await setup(t);
  await begun();
  await clock.advance(DAY_MS / 2);
  const later = await begun();
  t.equal(await sweep(), 0);
  await clock.advance(DAY_MS / 2);
  t.equal(await sweep(), 1);
  t.strictSame([bytes.ids, await usage()], [[later], 10]);
  await clock.advance(DAY_MS / 2);
  t.equal(await sweep(), 1);
  t.strictSame([bytes.ids, await usage(), await resumable.list(owner, signal)], [[], 0, []]);
  t.equal(await sweep(), 0);
});

t.test('one that cannot be removed does not keep the others, and is tried again', async (t) => {
  const { bytes, clock, begun, sweep, usage } = await setup(t);
  const [stuck] = [await begun(), await begun()];
  await clock.advance(DAY_MS);
  bytes.onCall = (_method, id) => {
    if (id === stuck) throw new Error('the store is away');
  };
  t.equal(await sweep(), 1);
  t.strictSame([bytes.ids, await usage()], [[stuck], 10]);
  bytes.onCall = () => {};
  t.equal(await sweep(), 1);
  t.strictSame([bytes.ids, await usage()], [[], 0]);
});
