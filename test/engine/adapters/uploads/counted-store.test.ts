import { Readable } from 'node:stream';
import t from 'tap';
import { CountedStore } from '../../../../engine/adapters/uploads/counted-store.ts';
import { PostgresStoredBytes } from '../../../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { fileKey, objectKey, shareKey } from '../../../../engine/model/object-key.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { newAddress, newUser } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

function setup(quotaBytes = 1_000) {
  const at = newAddress();
  const inner = new FakeObjectStore(Date.now);
  const kept = new PostgresStoredBytes(db, 1);
  const store = new CountedStore(inner, kept, { quotaBytes, clock: systemClock, log: silentLogger() });
  const document = (name: string) => fileKey(at, 'documents', name);
  const put = (key: string, bytes: number) => store.put(key, Buffer.alloc(bytes), {}, signal);
  const stream = (key: string, ...chunks: readonly number[]) =>
    store.put(key, Readable.from(chunks.map((bytes) => Buffer.alloc(bytes))), {}, signal);
  return { at, inner, kept, store, document, put, stream, usage: () => kept.usage(at.owner, signal) };
}
const over = (what: string, bytes: number, used: number) => ({
  kind: 'rejected',
  message: `${what} ${bytes} bytes; of your storage quota of 1000 bytes, ${used} are used and ${1_000 - used} are left`,
});

t.test('counts what is put, what takes its place, and what is removed', async (t) => {
  const { store, document, put, stream, usage } = setup();
  await put(document('a'), 400);
  t.equal(await usage(), 400);
  await stream(document('b'), 100, 200);
  t.equal(await usage(), 700);
  await put(document('a'), 50);
  t.equal(await usage(), 350);
  await store.remove([document('a'), document('none')], signal);
  t.equal(await usage(), 300);
});

t.test('refuses what does not fit before it is stored, and says what is used and left', async (t) => {
  const { at, inner, document, put, stream, usage } = setup();
  await put(objectKey(at, 'vdi-meta.json'), 600);
  await t.rejects(put(document('a.pdf'), 401), over("the file 'a.pdf' has", 401, 600));
  await t.rejects(stream(document('a.pdf'), 300, 101, 5), over("the file 'a.pdf' has", 401, 600));
  await t.rejects(put(objectKey(at, 'install-ready.zip'), 401), over('the import result has', 401, 600));
  await t.rejects(put(objectKey(at, 'vdi-meta.json'), 1_001), over('the metadata have', 1_001, 0));
  t.strictSame([inner.keys(), await usage()], [[objectKey(at, 'vdi-meta.json')], 600]);
  await stream(document('a.pdf'), 400);
  t.equal(await usage(), 1_000);
});

t.test('two puts at once do not pass the limit together', async (t) => {
  const { document, put, stream, usage } = setup();
  const all = await Promise.allSettled([
    put(document('a'), 400),
    stream(document('b'), 400),
    put(document('c'), 400),
    stream(document('d'), 200, 200),
  ]);
  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 2);
  t.equal(await usage(), 800);
});

t.test('who keeps more than the quota may still keep less, say why, and take rights away', async (t) => {
  const { at, inner, kept, document, put, usage } = setup();
  await put(document('a'), 1_000);
  const small = new CountedStore(inner, kept, { quotaBytes: 10, clock: systemClock, log: silentLogger() });
  const putSmall = (key: string, bytes: number) => small.put(key, Buffer.alloc(bytes), {}, signal);
  await putSmall(document('a'), 900);
  await putSmall(objectKey(at, 'upload-error.json'), 20);
  await putSmall(objectKey(at, 'delete-flag'), 0);
  const [offer, receipt] = [shareKey(at, newUser(), 'share-offer.json'), shareKey(at, newUser(), 'share-receipt.json')];
  await t.rejects(putSmall(offer, 5), { kind: 'rejected', message: /^the file 'share-offer.json' has 5 bytes/ });
  await inner.remove([offer], signal);
  await put(offer, 5);
  await putSmall(offer, 6);
  await putSmall(receipt, 7);
  t.equal(await usage(), 900 + 20 + 6 + 7);
});

t.test('a put that fails leaves what was counted before', async (t) => {
  const { inner, document, put, usage } = setup();
  await put(document('a'), 100);
  const original = inner.put;
  inner.put = async () => {
    throw transient('the store is away');
  };
  await t.rejects(put(document('a'), 500), { kind: 'transient', message: 'the store is away' });
  await t.rejects(put(document('b'), 500), { kind: 'transient', message: 'the store is away' });
  inner.put = original;
  t.equal(await usage(), 100);
});

t.test('the sweep counts anew what dead processes left, and what was never counted', async (t) => {
  const { at, inner, store, document, put, usage } = setup();
  await put(document('a'), 100);
  const dead = new PostgresStoredBytes(db, 2_000_000_000);
  for (const [name, bytes] of [
    ['documents/a', 300],
    ['documents/gone', 50],
  ] as const)
    await dead.reserve({ ...at, name }, bytes, {}, signal);
  await inner.put(document('unknown'), Buffer.alloc(7), {}, signal);
  t.equal(await usage(), 350);
  t.ok((await store.sweep(signal)) >= 1);
  t.equal(await usage(), 107);
  t.equal(await store.sweep(signal), 0);
});
