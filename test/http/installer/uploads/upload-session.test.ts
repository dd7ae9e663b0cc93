import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { packUpload } from '../../../../actors/tasks/pack-upload.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { type FileEntry, serializeMetadata } from '../../../../engine/model/metadata.ts';
import type { UploadSource, Uploads } from '../../../../engine/ports/uploads.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { SMALL_UPLOADS, type SmallUploads } from '../../../../http/installer/uploads/small-files.ts';
import { UploadSession } from '../../../../http/installer/uploads/upload-session.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { digestedArchive, digestedFile } from '../../../support/digested-files.ts';
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
  readonly small?: SmallUploads;
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
      small: options.small,
    },
  );
  const put = (name: string, bytes: number) => session.store('raw', name, Readable.from([Buffer.alloc(bytes)]), signal);
  const acceptAll = (files: readonly FileEntry[], more: Pick<UploadSource, 'leftOut'> = {}) =>
    session.accept(
      { metadata: metadata(), source: { kind: 'files', files, ...more }, documents: [], properties: [] },
      signal,
    );
  const accept = (size: number) => acceptAll([{ name: 'a', size }]);
  const usage = () => uploads.usage(owner, signal);
  const left = async () => ({
    keys: store.keys(),
    rows: catalog.receiving.size + catalog.datasets.size,
    reserved: await usage(),
  });
  return { session, store, catalog, clock, uploads, put, accept, acceptAll, usage, left };
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

const PACKED = ['import-ready.zip', 'vdi-manifest.json', 'vdi-meta.json'].map((name) => `${prefix}/${name}`);
const METADATA_BYTES = Buffer.byteLength(serializeMetadata(metadata()));
const inPieces = (...pieces: readonly string[]) => Readable.from(pieces.map((piece) => Buffer.from(piece)));

t.test('a small upload is packed as the lane packs it, and is stored at once', async (t) => {
  const { session, store, catalog, uploads, acceptAll } = setup({ announcedBytes: 100, small: SMALL_UPLOADS });
  const files = [
    await session.store('raw', 'genes.txt', inPieces('gene 1\n', 'gene 2\n'), signal),
    await session.store('raw', 'more.txt', inPieces('x'.repeat(1000)), signal),
  ];
  t.strictSame(store.keys(), [], 'nothing is stored before the form is sound');
  await acceptAll(files);
  t.strictSame(store.keys(), PACKED);
  t.match(catalog.datasets.get(dataset), { upload: { status: 'success' }, files: { upload: files } });
  t.equal(await uploads.source(dataset, signal), undefined);

  const manifest = JSON.parse(store.text(`${prefix}/vdi-manifest.json`) ?? '');
  const digested = [digestedFile('genes.txt', 'gene 1\ngene 2\n'), digestedFile('more.txt', 'x'.repeat(1000))];
  const stored = await store.get(`${prefix}/import-ready.zip`, undefined, signal);
  const archive = stored ? await buffer(stored.body) : Buffer.alloc(0);
  const archives = digestedArchive('import-ready.zip', archive);
  t.strictSame(manifest, { rawUploads: digested, installReady: [], archives });
  const { etag } = stored?.info ?? {};
  t.match(catalog.datasets.get(dataset), {
    ...{
      files: { upload: digested },
      archives: { 'import-ready.zip': { etag, sha256: manifest.archives['import-ready.zip'].sha256 } },
    },
  });
  const dir = t.testdir({ scratch: {} });
  const lane = new FakeObjectStore();
  for (const [name, text] of [
    ['genes.txt', 'gene 1\ngene 2\n'],
    ['more.txt', 'x'.repeat(1000)],
  ] as const)
    await lane.put(`${prefix}/raw/${name}`, Buffer.from(text), {}, signal);
  const limits = { maxTotalBytes: MIB, maxFileBytes: MIB, maxEntries: 10, maxNameBytes: MIB, maxMs: 60_000 };
  const input = { at: { owner, dataset }, files, scratchDir: join(dir, 'scratch'), limits, allowedFileExtensions: [] };
  const { zipFile, files: packed, zip } = await packUpload(input, { store: lane, signal });
  t.strictSame([packed, zip], [digested, manifest.archives['import-ready.zip']]);
  t.ok((await readFile(zipFile)).equals(archive));
});

t.test('what the lane has to judge or unpack, and what is not small, is left to the lane', async (t) => {
  const few: SmallUploads = { ...SMALL_UPLOADS, bytes: 10 };
  const cases: Record<string, [Options, Readonly<Record<string, string>>, Pick<UploadSource, 'leftOut'>?]> = {
    'an archive': [{ small: few }, { 'a.zip': 'PK' }],
    'a file that is too large': [{ small: few }, { a: 'x'.repeat(11) }],
    'files that are too large together': [{ small: few }, { a: '12345', b: '123456', c: '1' }],
    'an upload with files that were left out': [{ small: few }, { a: '1' }, { leftOut: ['.DS_Store'] }],
    'a request that announces much': [{ small: few, announcedBytes: 2 * MIB }, { a: '1' }],
    'an upload without room for both': [{ small: few, quotaBytes: METADATA_BYTES + 101 }, { a: '1' }],
  };
  for (const [what, [options, contents, more]] of Object.entries(cases)) {
    const { session, store, uploads, acceptAll } = setup(options);
    const files: FileEntry[] = [];
    for (const [name, text] of Object.entries(contents))
      files.push(await session.store('raw', name, inPieces(text.slice(0, 3), text.slice(3)), signal));
    await acceptAll(files, more);
    const raw = Object.keys(contents).map((name) => `${prefix}/raw/${name}`);
    t.strictSame(store.keys(), [...raw, `${prefix}/vdi-meta.json`], what);
    for (const [name, text] of Object.entries(contents))
      t.equal(store.text(`${prefix}/raw/${name}`), text, `${what}: ${name}`);
    t.match(await uploads.source(dataset, signal), { kind: 'files', files }, what);
  }
});

t.test('a small upload that is given up leaves nothing, also when its objects are stored already', async (t) => {
  const { session, acceptAll, left } = setup({ small: SMALL_UPLOADS, uploads: () => ({ accept: lost }) });
  const files = [await session.store('raw', 'a', inPieces('1'), signal)];
  await t.rejects(acceptAll(files), { message: 'connection lost' });
  await session.abandon();
  t.strictSame(await left(), NOTHING);
});

t.test('a small upload that breaks off while it is read leaves nothing', async (t) => {
  const { session, left } = setup({ small: SMALL_UPLOADS });
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from('1');
      throw new Error('gone');
    })(),
  );
  await t.rejects(session.store('raw', 'a', broken, signal), { message: 'gone' });
  await session.abandon();
  t.strictSame(await left(), NOTHING);
});
