import { Readable } from 'node:stream';
import t from 'tap';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { Uploads } from '../../../../engine/ports/uploads.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { UploadSession } from '../../../../http/installer/uploads/upload-session.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { metadata } from '../datasets.ts';

const MIB = 1024 * 1024;
const signal = new AbortController().signal;
const owner = '7' as UserId;
const dataset = '0000ABCD0000wxyz' as DatasetId;
const prefix = `${owner}/${dataset}`;

const NOTHING = { keys: [], rows: 0, reserved: 0 };
const lost = async (): Promise<never> => {
  throw transient('connection lost');
};

interface Options {
  readonly announcedBytes?: number;
  readonly quotaBytes?: number;
  readonly uploads?: (uploads: FakeUploads) => Partial<Uploads>;
}

function setup(options: Options = {}) {
  const catalog = new FakeCatalog(() => true);
  const uploads = new FakeUploads(catalog, { holds: () => true, enqueueJobs: async () => {} });
  const store = new FakeObjectStore();
  const clock = new VirtualClock();
  const own = options.uploads?.(uploads) ?? {};
  const session = new UploadSession(
    { owner, dataset },
    {
      store,
      uploads: {
        begin: (...args) => uploads.begin(...args),
        grow: (...args) => uploads.grow(...args),
        accept: (...args) => uploads.accept(...args),
        giveUp: (...args) => uploads.giveUp(...args),
        abandon: (...args) => uploads.abandon(...args),
        usage: (...args) => uploads.usage(...args),
        ...own,
      },
      eventLog: { nextEventId: async () => 42 },
      clock,
      log: silentLogger(),
    },
    {
      maxUploadBytes: 100 * MIB,
      quotaBytes: options.quotaBytes ?? 200 * MIB,
      waitingPerUser: 1_000,
      announcedBytes: options.announcedBytes,
    },
  );
  const put = (name: string, bytes: number) => session.store('raw', name, Readable.from([Buffer.alloc(bytes)]), signal);
  const accept = (size: number) =>
    session.accept(
      { metadata: metadata(), source: { kind: 'files', files: [{ name: 'a', size }] }, documents: [], properties: [] },
      signal,
    );
  const usage = () => uploads.usage(owner, signal);
  const left = async () => ({
    keys: store.keys(),
    rows: catalog.receiving.size + catalog.datasets.size,
    reserved: await usage(),
  });
  return { session, store, catalog, clock, uploads, put, accept, usage, left };
}

t.test('reserves what the request announced', async (t) => {
  const { put, usage } = setup({ announcedBytes: 1234 });
  t.strictSame(await put('a', 10), { name: 'a', size: 10 });
  t.equal(await usage(), 1234);
});

t.test('without an announcement reserves a step, and another when it is used up', async (t) => {
  const { put, usage } = setup();
  await put('a', 10);
  t.equal(await usage(), 16 * MIB);
  await put('b', 16 * MIB);
  t.equal(await usage(), 32 * MIB + 10);
});

t.test('takes what fits exactly where a step does not, and nothing beyond the quota', async (t) => {
  const { put, usage } = setup({ quotaBytes: 1000 });
  await put('a', 600);
  await put('b', 400);
  t.equal(await usage(), 1000);
  await t.rejects(put('c', 1), {
    message: 'the upload has at least 1001 bytes; of your storage quota of 1000 bytes, 0 are used and 1000 are left',
  });
  const announced = setup({ announcedBytes: 1001, quotaBytes: 1000 });
  await t.rejects(announced.put('a', 1), {
    message: 'the upload has 1001 bytes; of your storage quota of 1000 bytes, 0 are used and 1000 are left',
  });
  t.strictSame(await announced.left(), NOTHING, 'refused before anything is stored');
});

t.test('an accepted upload is there whole, and abandoning it is in vain', async (t) => {
  const { session, store, catalog, put, accept, usage } = setup({ announcedBytes: 1234 });
  await put('a', 10);
  await session.store('documents', 'd', Readable.from([Buffer.from('doc')]), signal);
  await accept(10);
  await session.abandon();
  t.strictSame(store.keys(), [`${prefix}/documents/d`, `${prefix}/raw/a`, `${prefix}/vdi-meta.json`]);
  t.strictSame([...catalog.datasets.keys()], [dataset]);
  t.equal(await usage(), 10);
});

t.test('an abandoned upload leaves no object, no row, no reservation', async (t) => {
  const { session, put, left } = setup();
  await put('a', 10);
  await session.abandon();
  await session.abandon();
  t.strictSame(await left(), NOTHING);
});

t.test('documents of ours count with the upload, and are refused where the quota has no room', async (t) => {
  const { session, put, accept, usage } = setup({ announcedBytes: 1000, quotaBytes: 1000 });
  await put('a', 1000);
  const message = 'the upload has 1002 bytes; of your storage quota of 1000 bytes, 0 are used and 1000 are left';
  await t.rejects(session.keep(`${prefix}/shares/8/share-offer.json`, Buffer.from('{}'), signal), { message });
  await t.rejects(accept(1000), { message: /^the upload has 1\d{3} bytes; of your storage quota of 1000 bytes/ });
  t.equal(await usage(), 1000);
});

t.test('a document that is kept goes with the upload that is given up', async (t) => {
  const { session, store, catalog, usage } = setup({ announcedBytes: 1234 });
  await session.keep(`${prefix}/shares/8/share-offer.json`, Buffer.from('{}'), signal);
  t.strictSame([store.keys(), await usage()], [[`${prefix}/shares/8/share-offer.json`], 1234]);
  await session.abandon();
  t.strictSame([store.keys(), catalog.receiving.size], [[], 0]);
});

t.test('an id that another upload has is not ours to give up', async (t) => {
  const { session, store, catalog, put, uploads } = setup();
  await uploads.begin({ owner, dataset }, 10, { bytes: 1000 }, signal);
  await store.put(`${prefix}/raw/theirs`, Buffer.from('x'), {}, signal);
  const taken = { code: 409, message: `another upload as dataset ${dataset} is under way` };
  await t.rejects(put('a', 1), taken);
  await session.abandon();
  t.strictSame([store.keys(), [...catalog.receiving]], [[`${prefix}/raw/theirs`], [dataset]]);
  await t.rejects(put('b', 1), { code: 409 }, 'nothing more is taken in');
  t.strictSame(store.keys(), [`${prefix}/raw/theirs`]);
});

t.test('abandoning removes the objects before the row that leads to them', async (t) => {
  const order: string[] = [];
  const { session, store, put } = setup({
    uploads: (uploads) => ({
      abandon: (...args) => {
        order.push('row');
        return uploads.abandon(...args);
      },
    }),
  });
  await put('a', 10);
  store.onCall = (method) => order.push(method);
  await session.abandon();
  t.strictSame(order, ['remove', 'row']);
});

t.test('abandoning tries again when the store is away for a moment', async (t) => {
  const { session, store, clock, put, left } = setup();
  await put('a', 10);
  let calls = 0;
  store.onCall = () => {
    if (++calls === 1) throw transient('store is away');
  };
  const abandoned = session.abandon();
  await clock.advanceToNext();
  await abandoned;
  t.strictSame(await left(), NOTHING);
});

t.test('what cannot be removed while the store is away is left to the sweep, although its process lives', async (t) => {
  const { session, store, uploads, clock, put } = setup();
  await put('a', 10);
  store.onCall = () => {
    throw transient('store is away');
  };
  const abandoned = session.abandon();
  await clock.advanceToNext();
  await clock.advanceToNext();
  await abandoned;
  t.strictSame(await uploads.orphans(signal), [{ owner, dataset }]);
});

t.test('a part that fails to be stored can be abandoned', async (t) => {
  const { session, store, put, left } = setup();
  store.onCall = (method) => {
    if (method === 'put') throw transient('store is away');
  };
  await t.rejects(put('a', 10), { message: 'store is away' });
  await session.abandon();
  t.strictSame(await left(), NOTHING);
});

t.test('a commit whose answer was lost is still an accepted upload', async (t) => {
  const { session, store, put, accept } = setup({
    uploads: (uploads) => ({
      accept: async (...args) => {
        await uploads.accept(...args);
        throw transient('connection lost');
      },
    }),
  });
  await put('a', 10);
  await accept(10);
  await session.abandon();
  t.strictSame(store.keys(), [`${prefix}/raw/a`, `${prefix}/vdi-meta.json`]);
});

t.test(
  'a commit that failed leaves nothing; where its outcome cannot be learnt, objects stay for the sweep',
  async (t) => {
    for (const uploads of [{ accept: lost }, { accept: lost, giveUp: lost }]) {
      const { session, store, catalog, put, accept, left } = setup({ uploads: () => uploads });
      await put('a', 10);
      await t.rejects(accept(10), { message: 'connection lost' });
      await session.abandon();
      if ('giveUp' in uploads) t.strictSame([store.keys().length, catalog.receiving.size], [2, 1]);
      else t.strictSame(await left(), NOTHING);
    }
  },
);
