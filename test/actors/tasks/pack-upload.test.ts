import { createReadStream, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { type PackUploadInput, type PackUploadOutput, packUpload } from '../../../actors/tasks/pack-upload.ts';
import { openDirectoryReader } from '../../../engine/adapters/directory/directory-store-reader.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { fileKey } from '../../../engine/model/object-key.ts';
import type { ObjectReader, ObjectStore } from '../../../engine/ports/object-store.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { type Files, gzipToFile, lines, rawTarGz, rawZip, tarGzOf, tarStream, zipOf } from '../../fixtures/archives.ts';
import { digestedFile } from '../../support/digested-files.ts';

const signal = new AbortController().signal;
const at = { owner: '7' as UserId, dataset: 'D' as DatasetId };
const limits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 100_000 };
const MiB = 1024 * 1024;

t.test('one file that is no archive is zipped as it is, gzip and zip content of other names too', async (t) => {
  const gzip = await tarGzOf({ inside: 'x' });
  for (const [name, content] of Object.entries({ 'a.txt': 'hello', 'a.gz': gzip, 'a.xlsx': await zipOf({ b: 'b' }) })) {
    const { output, contents } = await pack(t, { [name]: content });
    t.strictSame(contents, { [name]: Buffer.from(content).toString('latin1') });
    t.strictSame(output.files, [digestedFile(name, content)]);
    t.equal(output.rawBytes, content.length);
  }
});

t.test('several files are zipped as they are, archives among them too', async (t) => {
  const zip = await zipOf({ inside: 'x' });
  const { output, contents } = await pack(t, { 'b.txt': 'bb', 'a.zip': zip, empty: '' });
  t.strictSame(Object.keys(contents), ['b.txt', 'a.zip', 'empty']);
  t.equal(contents['a.zip'], zip.toString('latin1'));
  t.equal(output.rawBytes, 2 + zip.length);
});

t.test('says which received files the zip has as they are; those of an archive are none', async (t) => {
  const { output } = await pack(t, { 'b.txt': 'bb', 'a.zip': await zipOf({ inside: 'x' }), '.DS_Store': 'x' });
  t.match(output.plain, [
    { key: fileKey(at, 'raw', 'b.txt'), name: 'b.txt', size: 2 },
    { key: fileKey(at, 'raw', 'a.zip'), name: 'a.zip' },
  ]);
  t.equal(output.plain.length, 2);
  for (const name of ['a.zip', 'a.tgz']) {
    const archive = name === 'a.zip' ? await zipOf({ inside: 'x' }) : await tarGzOf({ inside: 'x' });
    t.same((await pack(t, { [name]: archive })).output.plain, []);
  }
});

t.test(
  'fails when large files are removed or replaced before they are packed: scripts may have got them',
  async (t) => {
    for (const change of ['removed', 'replaced'] as const) {
      const { store, input } = await setup(t, { 'a.txt': Buffer.alloc(8 * MiB), 'b.txt': 'b' });
      const key = fileKey(at, 'raw', 'a.txt');
      const changing: Pick<ObjectStore, 'get' | 'head' | 'list'> = {
        head: (...args) => store.head(...args),
        list: (...args) => store.list(...args),
        async get(...args) {
          if (args[0] !== key) {
            if (change === 'removed') await store.remove([key], signal);
            else await store.put(key, Buffer.alloc(8 * MiB), {}, signal);
          }
          return store.get(...args);
        },
      };
      const message = `object ${key} changed while it was read`;
      await t.rejects(packUpload(input, { store: changing, signal }), { kind: 'transient', message }, change);
    }
  },
);

t.test('reads where it is what a directory store keeps: files, and archives', async (t) => {
  const text = Buffer.from('PF3D7_0100100\n'.repeat(50_000));
  const uploads: Readonly<Record<string, Readonly<Record<string, Buffer>>>> = {
    files: { 'large.txt': text, 'small.txt': Buffer.from('b'), empty: Buffer.alloc(0) },
    zip: { 'a.zip': await zipOf({ 'large.txt': text.toString(), 'small.txt': 'b' }) },
    tgz: { 'a.tgz': await tarGzOf({ 'large.txt': text.toString() }) },
  };
  for (const [what, files] of Object.entries(uploads)) {
    const { path, input } = await inDirectory(t, files);
    const output = await packUpload(input, { store: openDirectoryReader(path), signal });
    t.equal(
      output.rawBytes,
      Object.values(files).reduce((sum, { length }) => sum + length, 0),
    );
    const contents: Record<string, Buffer> = {};
    for await (const entry of readZip(output.zipFile, { limits }, signal))
      contents[entry.path] = Buffer.concat(await Array.fromAsync(entry.body, (chunk) => Buffer.from(chunk)));
    t.ok(contents['large.txt']?.equals(text), what);
    if (what === 'files') t.same(Object.keys(contents), ['large.txt', 'small.txt', 'empty']);
  }
});

t.test('a zip that is replaced or removed while it is read is packed at the next attempt', async (t) => {
  const { path, input } = await inDirectory(t, { 'a.zip': await zipOf({ 'a.txt': 'a' }) });
  const file = join(path, 'objects', fileKey(at, 'raw', 'a.zip'));
  const store = openDirectoryReader(path);
  let heads = 0;
  const changing: ObjectReader = {
    get: store.get.bind(store),
    list: store.list.bind(store),
    localFile: (key) => store.localFile?.(key) ?? '',
    async head(...args) {
      // The first look is at its beginning, the second before it is read, the third afterwards.
      if (++heads === 3) await writeFile(file, await zipOf({ 'other.txt': 'b' }));
      return store.head(...args);
    },
  };
  const replaced = packUpload(input, { store: changing, signal });
  await t.rejects(replaced, { kind: 'transient', message: /a\.zip changed while it was read/ });
  t.equal(heads, 3);
  await rm(file);
  await t.rejects(packUpload(input, { store, signal }), { kind: 'transient', message: /a\.zip no longer exists/ });
});

t.test('one archive is repacked with its folders, without what macOS adds', async (t) => {
  const files = { 'a.txt': 'a', 'folder/deep/b.txt': 'bb', '__MACOSX/._a.txt': 'fork', 'folder/._b.txt': 'fork' };
  const archives = { 'up.zip': await zipOf(files), 'UP.TAR.GZ': await tarGzOf(files), 'up.tgz': await tarGzOf(files) };
  for (const [name, content] of Object.entries(archives)) {
    const { output, contents } = await pack(t, { [name]: content }, { allowedFileExtensions: ['.TXT'] });
    t.strictSame(contents, { 'a.txt': 'a', 'folder/deep/b.txt': 'bb' }, name);
    t.strictSame(output.files, [digestedFile('a.txt', 'a'), digestedFile('folder/deep/b.txt', 'bb')]);
    t.equal(output.rawBytes, content.length);
    t.strictSame(await readdir(join(output.zipFile, '..')), ['import-ready.zip'], 'no copy of the upload is left');
  }
});

t.test('what was left out or read in another way is said, of loose files and of archives', async (t) => {
  const junk = ['.DS_Store', 'Thumbs.db', 'desktop.ini', '._a.txt', '~$a.xlsx', '.~lock.a.ods#', 'Icon\r'];
  const named = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');
  const said = `left out, as files that desktops and office programs add: ${named(junk.slice(0, 6))} and 1 more`;
  const files = Object.fromEntries(['a.txt', ...junk].map((name) => [name, 'x']));
  const only = { allowedFileExtensions: ['.txt'] };
  for (const upload of [files, { 'up.zip': await zipOf(files) }, { 'up.tgz': await tarGzOf(files) }]) {
    const { output, contents } = await pack(t, upload, only);
    t.strictSame(contents, { 'a.txt': 'x' });
    t.strictSame(output.notes, [said]);
  }
  const beside = await pack(t, { 'up.zip': await zipOf({ 'a.txt': 'a' }), '.DS_Store': 'x' }, only);
  t.strictSame(beside.contents, { 'a.txt': 'a' }, 'an archive beside it is still the only file');
  const door = await pack(t, { 'a.txt': 'a' }, { ...only, leftOut: ['.DS_Store'] });
  t.strictSame(door.output.notes, ["left out, as files that desktops and office programs add: '.DS_Store'"]);
  t.strictSame((await pack(t, { 'a.txt': 'a' })).output.notes, []);
  await refuses(t, { '.DS_Store': 'x' }, /the upload contains no files other than desktop metadata files/);
  await refuses(t, { 'up.zip': await zipOf({ '.DS_Store': 'x' }) }, /the archive holds no files/);
});

t.test('names that are ours are refused at the top, where our files would take their place', async (t) => {
  for (const name of ['vdi-meta.json', 'VDI-META.json', 'vdi-manifest.json', 'vdi-x', 'vdi-a/b'])
    for (const files of [
      { 'up.zip': await zipOf({ 'a.txt': 'a', [name]: 'x' }) },
      { 'up.tgz': await tarGzOf({ [name]: 'x' }) },
    ])
      await refuses(t, files, /^up\.\w+: 'vdi-.*' is a reserved name: names that begin with 'vdi-'/i);
  await refuses(t, { 'a.txt': 'a', 'vdi-meta.json': 'x' }, /'vdi-meta\.json' is a reserved name/);
  const ending = fc.stringMatching(/^[a-z0-9_.-]{1,20}[a-z]$/);
  const property = fc.asyncProperty(ending, async (rest) => {
    await refuses(t, { 'a.txt': 'a', [`vdi-${rest}`]: 'x' }, /is a reserved name/);
  });
  await fc.assert(property, { numRuns: 25, seed: 20_260_103 });
  const { contents } = await pack(t, { 'up.zip': await zipOf({ 'a/vdi-meta.json': 'x', 'VDI-results.csv': 'y' }) });
  t.strictSame(Object.keys(contents), ['a/vdi-meta.json', 'VDI-results.csv']);
});

t.test('extensions are checked without case, in every place', async (t) => {
  const allowedFileExtensions = ['.txt', '.tar.bz'];
  await pack(t, { 'A.TXT': 'a', 'b.tar.bz': 'b' }, { allowedFileExtensions });
  const wrong: Files[] = [
    { 'a.csv': 'a' },
    { 'a.txt': 'a', 'b.csv': 'b' },
    { 'up.zip': await zipOf({ 'a.txt': 'a', 'f/b.csv': 'b' }) },
    { 'up.tgz': await tarGzOf({ 'a.txt': 'a', 'f/b.csv': 'b' }) },
  ];
  for (const files of wrong)
    await refuses(t, files, /\.csv' has a file extension .* allowed: \.txt, \.tar\.bz$/, { allowedFileExtensions });
});

t.test('limits hold for plain files as for entries', async (t) => {
  const entries = { 'a.txt': 'x'.repeat(60), 'b.txt': 'x'.repeat(60) };
  const uploads: Files[] = [entries, { 'up.zip': await zipOf(entries) }, { 'up.tgz': await tarGzOf(entries) }];
  for (const files of uploads) {
    await pack(t, files, { limits: { maxTotalBytes: 120, maxFileBytes: 60, maxEntries: 2 } });
    await refuses(t, files, /a\.txt.* 59 (bytes )?.*per file/, { limits: { ...limits, maxFileBytes: 59 } });
    await refuses(t, files, /119 bytes allowed/, { limits: { ...limits, maxTotalBytes: 119 } });
  }
  for (const files of uploads.slice(1))
    await refuses(t, files, /^up\.\w+: the archive has (2 entries; at most 1 are allowed|more than 1 entries)/, {
      limits: { ...limits, maxEntries: 1 },
    });
});

t.test("what is wrong with an archive is said with its name and the entry's", async (t) => {
  const wrong: readonly [Files, RegExp][] = [
    [{ 'up.zip': rawZip([{ name: '../evil' }]) }, /^up\.zip: entry '\.\.\/evil' has '\.\.' in its path$/],
    [
      { 'up.tgz': await rawTarGz([{ name: 'l', type: 'symlink', linkname: '/etc' }]) },
      /^up\.tgz: entry 'l' is a link$/,
    ],
    [{ 'up.zip': rawZip([{ name: 'x', crc: 1 }]) }, /^up\.zip: entry 'x' is damaged/],
    [
      { 'up.zip': rawZip([{ name: 'x', content: 'longer', size: 2 }]) },
      /^up\.zip: entry 'x' holds more than the 2 bytes/,
    ],
    [{ 'up.zip': rawZip([{ name: 'x', flags: 0x801 }]) }, /^up\.zip: entry 'x' is encrypted/],
    [{ 'up.zip': rawZip([]) }, /^up\.zip: the archive is empty/],
    [{ 'up.zip': rawZip([{ name: '__MACOSX/x' }]) }, /^up\.zip: the archive holds no files/],
    [
      { 'up.zip': Buffer.concat([Buffer.from('PK\x07\x08'), rawZip([{ name: 'x' }])]) },
      /^up\.zip: .* one part of a split zip/,
    ],
    [{ 'up.zip': 'plain text' }, /^up\.zip: its name says zip archive, but its content is not one$/],
    [{ 'up.zip': await tarGzOf({ a: 'a' }) }, /^up\.zip: its name says zip archive/],
    [{ 'up.tar.gz': await zipOf({ a: 'a' }) }, /^up\.tar\.gz: its name says tar\.gz archive/],
    [{ 'up.tgz': (await tarGzOf({ a: 'a' })).subarray(0, 40) }, /^up\.tgz: the archive is damaged/],
    [{ 'up.tgz': '' }, /^up\.tgz: it is empty/],
    [{}, /^the upload contains no files/],
    [{ 'a.txt': 'a', 'A.TXT': 'a' }, /'A\.TXT' comes twice/],
  ];
  for (const [files, message] of wrong) await refuses(t, files, message);
});

t.test('a store that fails is no fault of the upload', async (t) => {
  for (const name of ['a.txt', 'up.zip', 'up.tgz']) {
    const { store, input } = await setup(t, { [name]: await zipOf({ a: 'a' }) });
    store.onCall = () => {
      throw transient('store away');
    };
    await t.rejects(packUpload(input, { store, signal }), { kind: 'transient', message: 'store away' }, name);
    store.onCall = () => {};
    await store.remove([`7/D/raw/${name}`], signal);
    await t.rejects(
      packUpload(input, { store, signal }),
      { kind: 'transient', message: /7\/D\/raw\/.* no longer exists/ },
      name,
    );
    t.strictSame(await readdir(input.scratchDir), []);
  }
});

t.test('stops with the reason of its signal and leaves nothing', async (t) => {
  const { input, store } = await setup(t, { 'up.tgz': await tarGzOf({ a: Buffer.alloc(8 * MiB, 'a'), b: 'b' }) });
  const stop = new AbortController();
  store.onCall = (method) => {
    if (method === 'get') setImmediate(() => stop.abort(new Error('enough')));
  };
  await t.rejects(packUpload(input, { store, signal: stop.signal }), new Error('enough'));
  t.strictSame(await readdir(input.scratchDir), []);
});

t.test('memory stays flat: a few hundred MiB never wait in buffers', async (t) => {
  const size = 300 * MiB;
  const dir = await scratch(t);
  const tar = join(dir, 'large.tgz');
  await gzipToFile(tarStream('large.txt', size, lines(size)), tar);
  const meter = new Meter();
  const store = storeOf('7/D/raw/large.tgz', statSync(tar).size, () => createReadStream(tar), meter);
  const input = { at, files: [{ name: 'large.tgz', size: 0 }], scratchDir: dir, limits, allowedFileExtensions: [] };
  const { files } = await packUpload(input, { store, signal });
  t.match(files, [{ name: 'large.txt', size, sha256: /^[0-9a-f]{64}$/ }]);
  t.ok(meter.grownBytes < size / 2, `grew by ${Math.round(meter.grownBytes / MiB)} MiB`);
});

t.test('memory stays flat for one huge file that is no archive', async (t) => {
  const size = 300 * MiB;
  const meter = new Meter();
  const store = storeOf('7/D/raw/huge.txt', size, () => Readable.from(lines(size)), meter);
  const scratchDir = await scratch(t);
  const input = { at, files: [{ name: 'huge.txt', size }], scratchDir, limits, allowedFileExtensions: ['.txt'] };
  const { files, rawBytes } = await packUpload(input, { store, signal });
  t.match([files, rawBytes], [[{ name: 'huge.txt', size, sha256: /^[0-9a-f]{64}$/ }], size]);
  t.ok(meter.grownBytes < size / 2, `grew by ${Math.round(meter.grownBytes / MiB)} MiB`);
});

/** Bytes in buffers outside the heap, where file content lives. */
class Meter {
  readonly #before = process.memoryUsage().arrayBuffers;
  grownBytes = 0;

  look(): void {
    this.grownBytes = Math.max(this.grownBytes, process.memoryUsage().arrayBuffers - this.#before);
  }
}

/** A store of one object that is made while it is read. */
function storeOf(
  key: string,
  size: number,
  open: () => Readable,
  meter: Meter,
): Pick<ObjectStore, 'get' | 'head' | 'list'> {
  const info = { key, size, etag: 'one', modified: new Date(0) };
  return {
    head: async () => info,
    list: async function* () {
      yield info;
    },
    async get(_key, range) {
      const source = open();
      if (range) return { info, body: Readable.from([(await source.iterator().next()).value.subarray(0, 4)]) };
      const body = (async function* () {
        for await (const chunk of source) {
          meter.look();
          yield chunk;
        }
      })();
      return { info, body: Readable.from(body) };
    },
  };
}

async function scratch(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function setup(
  t: Test,
  files: Files,
  options: Partial<PackUploadInput> = {},
): Promise<{ store: FakeObjectStore; input: PackUploadInput }> {
  const store = new FakeObjectStore();
  for (const [name, content] of Object.entries(files))
    await store.put(`7/D/raw/${name}`, Buffer.from(content), {}, signal);
  const input = {
    at,
    files: Object.entries(files).map(([name, content]) => ({ name, size: content.length })),
    scratchDir: await scratch(t),
    limits,
    allowedFileExtensions: [],
    ...options,
  };
  return { store, input };
}

/** Packs the files; the zip is read back as latin1 text. */
async function pack(
  t: Test,
  files: Files,
  options: Partial<PackUploadInput> = {},
): Promise<{ output: PackUploadOutput; contents: Record<string, string> }> {
  const { store, input } = await setup(t, files, options);
  const output = await packUpload(input, { store, signal });
  const contents: Record<string, string> = {};
  for await (const { path, body } of readZip(output.zipFile, { limits }, signal))
    contents[path] = Buffer.concat(await Array.fromAsync(body, (chunk) => Buffer.from(chunk))).toString('latin1');
  return { output, contents };
}

/** An upload in a directory store. */
async function inDirectory(t: Test, files: Readonly<Record<string, Buffer>>) {
  const path = t.testdir({ objects: {} });
  for (const [name, content] of Object.entries(files)) {
    const file = join(path, 'objects', fileKey(at, 'raw', name));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  const { input } = await setup(t, {});
  return {
    path,
    input: { ...input, files: Object.entries(files).map(([name, { length: size }]) => ({ name, size })) },
  };
}

async function refuses(t: Test, files: Files, message: RegExp, options: Partial<PackUploadInput> = {}): Promise<void> {
  const { store, input } = await setup(t, files, options);
  await t.rejects(packUpload(input, { store, signal }), { kind: 'rejected', message }, String(message));
  t.strictSame(await readdir(input.scratchDir), [], 'nothing is left in the scratch folder');
}
