import { Readable } from 'node:stream';
import t from 'tap';
import { settled } from '../../../../actors/dataset/stored-documents.ts';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { sqlState } from '../../../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../../../engine/adapters/postgres/postgres-instance.ts';
import { SqlParameters } from '../../../../engine/adapters/postgres/sql-parameters.ts';
import { unsettled } from '../../../../engine/adapters/uploads/counted-objects.ts';
import { CountedStore } from '../../../../engine/adapters/uploads/counted-store.ts';
import { PostgresStoredBytes, settleCtes } from '../../../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import { fileKey, objectKey, shareKey } from '../../../../engine/model/object-key.ts';
import type { StoredObject } from '../../../../engine/ports/object-store.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { objectStoreConformance } from '../../../conformance/object-store.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { metadataOf, newAddress, newUser } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
/** Of this process, which is alive. */
const instance = await PostgresInstance.open(db, { onGap: () => {} }, systemClock, silentLogger(), signal);
t.teardown(() => instance[Symbol.asyncDispose]());

const counting = (quotaBytes: number) => ({ quotaBytes, clock: systemClock, log: silentLogger() });

objectStoreConformance('the store that counts', async () => {
  const { inner, store } = setup(1_000_000_000);
  return { store, changes: () => inner.changes };
});

function setup(quotaBytes = 1_000) {
  const at = newAddress();
  const inner = new FakeObjectStore(Date.now);
  const statements: (string | undefined)[] = [];
  const query: typeof db.query = (text, values, name) => {
    statements.push(name);
    return db.query(text, values, name);
  };
  const kept = new PostgresStoredBytes({ query }, instance.id);
  const store = new CountedStore(inner, kept, counting(quotaBytes));
  const document = (name: string) => fileKey(at, 'documents', name);
  const put = (key: string, bytes: number) => store.put(key, Buffer.alloc(bytes), {}, signal);
  const stream = (key: string, ...chunks: readonly number[]) =>
    store.put(key, Readable.from(chunks.map((bytes) => Buffer.alloc(bytes))), {}, signal);
  const putAll = (...sizes: readonly (readonly [key: string, bytes: number])[]) =>
    store.putAll(
      sizes.map(([key, bytes]) => ({ key, source: Buffer.alloc(bytes) })),
      {},
      signal,
    );
  const usage = () => kept.usage(at.owner, signal);
  return { at, inner, kept, statements, store, document, put, putAll, stream, usage };
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

t.test('what is removed with its whole dataset is counted until the rows of the dataset are removed', async (t) => {
  const { at, inner, statements, store, document, put, usage } = setup();
  const catalog = new PostgresCatalog(db);
  const lease = await grantLease(db, at.dataset);
  await catalog.register(at, metadataOf(at.owner), [{ set: 'kept', objects: [] }], lease, signal);
  await put(document('a'), 400);
  statements.length = 0;
  await store.remove([document('a')], signal, { forgotten: true });
  t.strictSame([inner.keys(), statements.length, await usage()], [[], 0, 400]);
  await catalog.remove(at.dataset, lease, signal);
  t.equal(await usage(), 0);
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

t.test('several objects cost one statement before they are stored and one after', async (t) => {
  const { at, inner, statements, store, document, putAll, usage } = setup();
  await putAll([document('a'), 400], [fileKey(at, 'raw', 'x'), 5_000], [document('b'), 100]);
  t.strictSame(statements, ['kept-reserve', 'kept-settle']);
  t.equal(await usage(), 500);
  await putAll([document('b'), 30], [objectKey(at, 'vdi-meta.json'), 7], [document('a'), 900]);
  t.equal(await usage(), 937);
  t.equal(inner.keys().length, 4);

  statements.length = 0;
  await store.remove([document('a'), document('b'), document('none')], signal);
  t.strictSame(statements, ['kept-hold', 'kept-settle']);
  t.equal(await usage(), 7);
});

t.test('of several objects none is stored when one does not fit beside those before it, and it is named', async (t) => {
  const { at, inner, store, document, put, putAll, stream, usage } = setup();
  await put(document('a'), 500);
  const meta = objectKey(at, 'vdi-meta.json');
  await t.rejects(putAll([meta, 300], [document('b'), 201], [document('c'), 1]), over("the file 'b' has", 201, 800));
  await t.rejects(putAll([document('a'), 501], [meta, 500]), over('the metadata have', 500, 501));
  t.strictSame([inner.keys(), await usage()], [[document('a')], 500]);
  await putAll([document('a'), 200], [meta, 500]);
  t.equal(await usage(), 700);
  const source = Readable.from([Buffer.alloc(301)]);
  const objects = [
    { key: document('d'), source: Buffer.alloc(0) },
    { key: document('e'), source },
  ];
  await t.rejects(store.putAll(objects, {}, signal), over("the file 'e' has", 301, 700));
  t.ok(source.destroyed);
  await stream(document('e'), 150, 150);
  t.equal(await usage(), 1_000);
});

t.test(
  'the packed upload takes no room away from the raw files that it replaces, the list of files before it does',
  async (t) => {
    const { at, putAll, usage } = setup();
    const values = [at.dataset, at.owner];
    await db.query(
      `insert into upload (dataset_id, owner_id, state, holder, reserved_bytes) values ($1, $2, 'receiving', 1, 900)`,
      values,
    );
    const pack = (list: number, zip: number) =>
      putAll([objectKey(at, 'vdi-manifest.json'), list], [objectKey(at, 'import-ready.zip'), zip]);
    await t.rejects(pack(50, 51), over('the packed upload has', 51, 950));
    await t.rejects(pack(101, 1), over('the list of files has', 101, 900));
    await pack(50, 50);
    t.equal(await usage(), 1_000);
  },
);

t.test('objects of two datasets are not put together', async (t) => {
  const { inner, document, putAll } = setup();
  const other = fileKey(newAddress(), 'documents', 'x');
  await t.rejects(putAll([document('a'), 1], [other, 1]), { kind: 'defect', message: /are put together/ });
  t.strictSame(inner.keys(), []);
});

t.test('a store that fails while it reads a stream says why itself', async (t) => {
  const { inner, document, stream, usage } = setup();
  inner.put = async (_key, source) => {
    for await (const _ of source as Readable) break;
    throw transient('the disk is full');
  };
  await t.rejects(stream(document('a'), 100, 200), { kind: 'transient', message: 'the disk is full' });
  t.equal(await usage(), 0);
});

t.test('a caller that settles by itself does so in its own transaction', async (t) => {
  const { at, statements, store, document, put, usage } = setup();
  await put(document('a'), 300);
  statements.length = 0;
  const stored = await store.putAll(
    [
      { key: document('a'), source: Buffer.alloc(100) },
      { key: fileKey(at, 'raw', 'x'), source: Buffer.alloc(1) },
      { key: document('b'), source: Buffer.alloc(50) },
    ],
    { settle: 'by caller' },
    signal,
  );
  t.strictSame(statements, ['kept-reserve']);
  t.strictSame(
    stored.map(({ turn }) => typeof turn),
    ['number', 'undefined', 'number'],
  );
  t.equal(await usage(), 350, 'until then the larger of both counts');
  await settledBy(stored, '(select where false) as nothing');
  t.equal(await usage(), 350, 'without what it depends on nothing is settled');
  await settledBy(stored, '(select 1) as anything');
  t.equal(await usage(), 150);
  t.strictSame(await heldNames(at), []);
});

t.test('the end of an upload settles in one statement what it stored', async (t) => {
  const { at, store, usage } = setup();
  const [catalog, uploads] = [new PostgresCatalog(db), new PostgresUploads(db, { instance: instance.id })];
  const metaVersion = { modified: new Date(0), etag: 'e' };
  const source = { kind: 'files', files: [{ name: 'a', size: 300 }] } as const;
  const about = { metadata: metadataOf(at.owner), documents: [], properties: [], others: [], eventId: 1 };
  await uploads.begin(at, 300, { bytes: 1_000 }, signal);
  await uploads.accept({ ...at, ...about, metaVersion, source }, signal);
  const lease = await grantLease(db, at.dataset);
  const objects = ['vdi-manifest.json', 'import-ready.zip'] as const;
  const stored = await store.putAll(
    objects.map((name, n) => ({ key: objectKey(at, name), source: Buffer.alloc(10 + n) })),
    { settle: 'by caller' },
    signal,
  );
  t.strictSame(await heldNames(at), [...objects].sort());
  await catalog.write(
    at.dataset,
    lease,
    [
      settled(at, stored),
      { set: 'uploadFiles', files: source.files },
      { set: 'upload', status: 'success' },
      { set: 'next', lane: 'import', eventId: 1, source: 'upload-lane' },
      { set: 'uploadStored' },
    ],
    signal,
  );
  t.strictSame([await heldNames(at), await usage()], [[], 21]);
});

t.test('what a caller does not settle is settled by the sweep, once nothing changes it', async (t) => {
  const { at, inner, store, document, put, usage } = setup();
  await put(document('a'), 300);
  const lost = await store.putAll([{ key: document('a'), source: Buffer.alloc(100) }], { settle: 'by caller' }, signal);
  const endless = new Readable({ read: () => {} });
  const storing = Promise.withResolvers<void>();
  inner.onCall = (method) => void (method === 'put' && storing.resolve());
  const open = store.put(document('open'), endless, { size: 70 }, signal);
  await storing.promise;
  t.strictSame(await heldNames(at), ['documents/a', 'documents/open']);
  await store.sweep(signal);
  t.strictSame(await heldNames(at), ['documents/open']);
  t.equal(await usage(), 170);
  await settledBy(lost, '(select 1) as anything');
  t.equal(await usage(), 170, 'a turn that was superseded changes nothing');
  endless.push(Buffer.alloc(70));
  endless.push(null);
  await open;
  t.strictSame([await heldNames(at), await usage()], [[], 170]);
});

t.test('a settling that fails is made up for by the next sweep', async (t) => {
  const { at, inner, kept, document, usage } = setup();
  let isAway = false;
  const away = new Proxy(kept, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property, target);
      return typeof member !== 'function'
        ? member
        : async (...args: unknown[]) => {
            if (isAway) throw transient('the database is away');
            return Reflect.apply(member, target, args);
          };
    },
  });
  const store = new CountedStore(inner, away, counting(1_000));
  await store.put(document('a'), Buffer.alloc(300), {}, signal);
  inner.onCall = () => {
    isAway = true;
  };
  await store.put(document('a'), Buffer.alloc(100), {}, signal);
  t.strictSame([await heldNames(at), await usage()], [['documents/a'], 300]);
  inner.onCall = () => {};
  isAway = false;
  await store.sweep(signal);
  t.strictSame([await heldNames(at), await usage()], [[], 100]);
});

t.test('settling waits for nobody else of the owner unless the bytes are others than those reserved', async (t) => {
  const { at, store, document, put } = setup();
  await put(document('a'), 300);
  const isBlocked = async (bytes: number): Promise<boolean> => {
    const objects = [{ key: document('a'), source: Buffer.alloc(bytes) }];
    const stored = await store.putAll(objects, { settle: 'by caller' }, signal);
    return db.transaction(async (sql) => {
      await sql.query('select from owner_usage where owner_id = $1 for update', [at.owner]);
      const settling = db.transaction(async (other) => {
        await other.query(`set local lock_timeout = '100ms'`);
        const parameters = new SqlParameters();
        await other.query(`with ${ctesOf(stored, parameters)} select 1`, parameters.values);
      }, signal);
      const error = await settling.catch((error: unknown) => error);
      if (error !== undefined) t.equal(sqlState(error), '55P03');
      return error !== undefined;
    }, signal);
  };
  t.equal(await isBlocked(300), false);
  t.equal(await isBlocked(200), true);
});

function ctesOf(stored: readonly StoredObject[], parameters: SqlParameters, given?: string): string {
  const left = unsettled(stored);
  if (!left) throw new Error('nothing is left to settle');
  return settleCtes(left.at, left.objects, parameters, given).join(', ');
}

/** As the transaction of a caller records it. */
async function settledBy(stored: readonly StoredObject[], given: string): Promise<void> {
  await db.transaction(async (sql) => {
    const parameters = new SqlParameters();
    await sql.query(`with ${ctesOf(stored, parameters, given)} select 1`, parameters.values);
  }, signal);
}

async function heldNames({ dataset }: ReturnType<typeof newAddress>): Promise<readonly string[]> {
  const held = 'select name from kept_object where dataset_id = $1 and holder is not null order by name';
  return (await db.query<{ name: string }>(held, [dataset])).map(({ name }) => name);
}

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
  const small = new CountedStore(inner, kept, counting(10));
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
    await dead.reserve(at, [{ name, bytes }], signal);
  await inner.put(document('unknown'), Buffer.alloc(7), {}, signal);
  t.equal(await usage(), 350);
  t.ok((await store.sweep(signal)) >= 1);
  t.equal(await usage(), 107);
  t.equal(await store.sweep(signal), 0);
});
