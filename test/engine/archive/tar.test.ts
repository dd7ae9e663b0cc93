import { createReadStream } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import type { ArchiveLimits } from '../../../engine/archive/archive-limits.ts';
import { readTarGz } from '../../../engine/archive/tar-reader.ts';
import { writeTarGz } from '../../../engine/archive/tar-writer.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import { gzipToFile, lines, type RawTarEntry, rawTarGz, tarGzOf, tarStream, zeros } from '../../fixtures/archives.ts';

const signal = new AbortController().signal;
const LIMITS: ArchiveLimits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 100_000 };
const MiB = 1024 * 1024;

t.test('reads files with their folders from a stream and from a file, and leaves out what is not a file', async (t) => {
  const archive = await rawTarGz([
    { name: './', type: 'directory' },
    { name: './a.txt', content: 'hello' },
    { name: 'folder', type: 'directory' },
    { name: 'folder/b.txt', content: 'world' },
    { name: 'folder/empty' },
    { name: 'contiguous', type: 'contiguous-file', content: 'c' },
    { name: '__MACOSX/a', content: 'resource fork' },
    { name: 'folder/._b.txt', content: 'resource fork' },
    { name: `${'long/'.repeat(40)}ü`, content: 'needs an extended header' },
  ]);
  const expected = {
    'a.txt': 'hello',
    'folder/b.txt': 'world',
    'folder/empty': '',
    contiguous: 'c',
    [`${'long/'.repeat(40)}ü`]: 'needs an extended header',
  };
  t.strictSame(await readAll(archive), expected);
  const file = join(t.testdir(), 'archive');
  await writeFile(file, archive);
  t.strictSame(await contents(readTarGz(file, { limits: LIMITS }, signal)), expected);
});

t.test('reads several gzip members as one, and a tar without its end records', async (t) => {
  const tar = gunzipSync(await tarGzOf({ a: 'hello', b: 'world' }));
  t.strictSame(await readAll(Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))])), {
    a: 'hello',
    b: 'world',
  });
  t.strictSame(await readAll(gzipSync(tar.subarray(0, 2048))), { a: 'hello', b: 'world' });
});

t.test('refuses entries, naming them', async (t) => {
  // Of paths one of each form in which they come; every rule of them is in entry-path.test.ts.
  const refused: readonly [readonly RawTarEntry[], RegExp][] = [
    [[{ name: '../evil' }], /entry '\.\.\/evil' has '\.\.' in its path/],
    [[{ name: '/etc/passwd' }], /entry '\/etc\/passwd' has an absolute path/],
    [[{ name: 'x/'.repeat(600) }], /longer than 1024 bytes/],
    [[{ name: 'x', pax: { path: 'a\0b' } }], /has a NUL character/],
    [[{ name: 'link', type: 'symlink', linkname: '/etc/passwd' }], /entry 'link' is a link/],
    [[{ name: 'link', type: 'link', linkname: 'before' }], /entry 'link' is a link/],
    [[{ name: 'null', type: 'character-device' }], /entry 'null' is neither a file nor a folder/],
    [[{ name: 'disk', type: 'block-device' }], /entry 'disk' is neither/],
    [[{ name: 'pipe', type: 'fifo' }], /entry 'pipe' is neither/],
    [[{ name: 'x', pax: { 'GNU.sparse.major': '1' } }], /entry 'x' is a sparse file/],
    [[{ name: 'a' }, { name: 'a' }], /entry 'a' comes twice/],
    [[{ name: 'A.txt' }, { name: 'a.TXT' }], /entry 'a\.TXT' comes twice/],
    [[{ name: 'a' }, { name: 'a/b' }], /entry 'a' is both a file and a folder/],
    [[{ name: 'a/b' }, { name: 'a' }], /entry 'a' is both a file and a folder/],
  ];
  for (const [entries, message] of refused) await refuses(t, await rawTarGz([{ name: 'before' }, ...entries]), message);
});

t.test('refuses a kind of entry that it does not know', async (t) => {
  const tar = gunzipSync(await tarGzOf({ volume: '' }));
  tar[156] = 'V'.charCodeAt(0);
  const sum = tar.subarray(0, 512).reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 32 : byte), 0);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  await refuses(t, gzipSync(tar), /entry 'volume' is neither a file nor a folder/);
});

t.test('refuses archives that are empty, cut off, damaged or no tar.gz at all', async (t) => {
  await refuses(t, await rawTarGz([]), /holds no files/);
  await refuses(t, await rawTarGz([{ name: 'folder', type: 'directory' }]), /holds no files/);
  const good = await tarGzOf({ a: 'x'.repeat(5000), b: 'y' });
  await refuses(t, good.subarray(0, good.length - 10), /the archive is damaged/);
  const tar = gunzipSync(good);
  await refuses(t, gzipSync(tar.subarray(0, 3000)), /the archive is damaged|entry 'a' is cut off/);
  await refuses(t, gzipSync(tar.subarray(0, 300)), /the archive is damaged/);
  const wrongSum = Buffer.from(good);
  wrongSum.writeUInt32LE(1, wrongSum.length - 8);
  await refuses(t, wrongSum, /the archive is damaged/);
  await refuses(t, gzipSync('just a text, no tar, but long enough for a header '.repeat(20)), /the archive is damaged/);
  await refuses(t, Buffer.from('not compressed'), /the archive is damaged/);
  await refuses(t, Buffer.alloc(0), /the archive (is damaged|holds no files)/);
});

t.test('enforces the limits', async (t) => {
  const archive = await tarGzOf({ a: 'x'.repeat(100), b: 'x'.repeat(100) });
  const limits = { maxTotalBytes: 200, maxFileBytes: 100, maxEntries: 2 };
  t.equal(Object.keys(await readAll(archive, limits)).length, 2);
  await refuses(t, archive, /at entry 'b' the archive unpacks to more than the 199 bytes/, { maxTotalBytes: 199 });
  await refuses(t, archive, /entry 'a' is larger than the 99 bytes allowed per file/, { maxFileBytes: 99 });
  await refuses(t, archive, /more than 1 entries/, { maxEntries: 1 });
});

t.test('refuses a bomb once it has inflated more than 100 MiB at 1:1000', async (t) => {
  const file = join(t.testdir(), 'archive');
  await gzipToFile(tarStream('bomb', 110 * MiB, zeros(110 * MiB)), file, 9);
  await t.rejects(contents(readTarGz(file, { limits: LIMITS }, signal), false), {
    kind: 'rejected',
    message: /entry 'bomb' inflates to more than 1000 times/,
  });
});

t.test('refuses an endless run of empty records', async (t) => {
  const file = join(t.testdir(), 'archive');
  await gzipToFile(zeros(20 * MiB), file);
  await t.rejects(contents(readTarGz(file, { limits: { ...LIMITS, maxTotalBytes: MiB } }, signal)), {
    kind: 'rejected',
    message: /unpacks to more than the 1048576 bytes/,
  });
});

t.test('passes a failure of the stream on as it is', async (t) => {
  const archive = await tarGzOf({ a: 'x'.repeat(5000), b: 'y' });
  const lost = new Error('connection lost');
  const source = Readable.from(
    (async function* () {
      yield archive.subarray(0, archive.length - 20);
      throw lost;
    })(),
  );
  await t.rejects(contents(readTarGz(source, { limits: LIMITS }, signal)), lost);
  t.ok(source.destroyed);
  await t.rejects(contents(readTarGz('/nowhere/a.tgz', { limits: LIMITS }, signal)), {
    kind: 'transient',
    message: /ENOENT/,
  });
});

t.test('an archive that is refused, or left in the middle, is closed', async (t) => {
  const open = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const file = join(t.testdir(), 'archive');
  const before = await open();
  const hostile: readonly (readonly RawTarEntry[])[] = [
    [{ name: '../x' }],
    [{ name: 'l', type: 'symlink', linkname: '/' }],
    [{ name: 'a' }, { name: 'a' }],
  ];
  for (const entries of hostile) {
    await writeFile(file, await rawTarGz([{ name: 'first', content: 'x'.repeat(1_000_000) }, ...entries]));
    await t.rejects(contents(readTarGz(file, { limits: LIMITS }, signal)), { kind: 'rejected', message: /^entry / });
    for await (const _ of readTarGz(file, { limits: LIMITS }, signal)) break;
  }
  // A stream gives its descriptor back in its own time; one that never does runs into the time limit.
  while ((await open()) > before) await nextTurn();
});

t.test('entries may be left unread or half read', async (t) => {
  const archive = await tarGzOf({ a: Buffer.alloc(2 * MiB, 'a'), b: Buffer.alloc(2 * MiB, 'b'), c: 'c' });
  const read: string[] = [];
  for await (const entry of readTarGz(Readable.from([archive]), { limits: LIMITS }, signal)) {
    if (entry.path === 'b') for await (const _ of entry.body) break;
    if (entry.path === 'c') for await (const chunk of entry.body) read.push(Buffer.from(chunk).toString());
  }
  t.strictSame(read, ['c']);
});

t.test('leaving early destroys the stream', async (t) => {
  const source = Readable.from([await tarGzOf({ a: 'x', b: 'y' })]);
  for await (const _ of readTarGz(source, { limits: LIMITS }, signal)) break;
  t.ok(source.destroyed);
});

t.test('stops with the reason of its signal, even when the stream has nothing to say', async (t) => {
  const archive = await tarGzOf({ a: Buffer.alloc(4 * MiB, 'a'), b: 'b' });
  const stop = new AbortController();
  const source = new Readable({ read: () => {} });
  source.push(archive.subarray(0, 1000));
  const reading = contents(readTarGz(source, { limits: LIMITS }, stop.signal));
  setImmediate(() => stop.abort(new Error('enough')));
  await t.rejects(reading, new Error('enough'));
  t.ok(source.destroyed);
});

t.test('inspect may refuse a file before its body', async (t) => {
  const inspect = ({ path }: { path: string }): void => {
    if (path === 'b') throw rejected('not this one');
  };
  const archive = await tarGzOf({ a: '1', b: '2' });
  await t.rejects(
    contents(readTarGz(Readable.from([archive]), { limits: LIMITS, inspect }, signal)),
    rejected('not this one'),
  );
});

t.test('writes what it reads', async (t) => {
  const file = join(t.testdir(), 'archive');
  const files = [
    { path: 'a.txt', size: 5, body: Buffer.from('hello') },
    { path: `${'deep/'.repeat(30)}ü`, size: 3_000_000, body: lines(3_000_000) },
    { path: 'empty', size: 0, body: new Uint8Array() },
  ];
  const written = await writeTarGz(file, files, { level: 6 }, signal);
  t.strictSame(written.entries, 3);
  const read = await contents(readTarGz(createReadStream(file), { limits: LIMITS }, signal));
  t.strictSame(
    Object.entries(read).map(([path, text]) => [path, text.length]),
    files.map(({ path, size }) => [path, size]),
  );
});

t.test('leaves no file behind when writing fails, and says why', async (t) => {
  const file = join(t.testdir(), 'archive');
  const write = (size: number, body: AsyncIterable<Uint8Array>, stop = signal): Promise<unknown> =>
    writeTarGz(file, [{ path: 'a', size, body }], { level: 6 }, stop);
  await t.rejects(write(10, zeros(9)), { kind: 'defect', message: /entry 'a' has 9 bytes, not the 10 announced/ });
  await t.rejects(write(10, zeros(11)), { kind: 'defect', message: /entry 'a' has more than the 10 bytes/ });
  await t.rejects(write(10, failing(new Error('source broke'))), new Error('source broke'));
  const stop = new AbortController();
  const abort = async function* (): AsyncGenerator<Uint8Array> {
    yield* zeros(MiB);
    stop.abort(new Error('enough'));
    yield* zeros(MiB);
  };
  await t.rejects(write(2 * MiB, abort(), stop.signal), new Error('enough'));
  t.strictSame(await readdir(dirname(file)), []);
});

async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half');
  throw error;
}

async function contents(entries: ReturnType<typeof readTarGz>, keep = true): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { path, body } of entries) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) if (keep) chunks.push(Buffer.from(chunk));
    found[path] = Buffer.concat(chunks).toString();
  }
  return found;
}

function readAll(archive: Buffer, limits: Partial<ArchiveLimits> = {}): Promise<Record<string, string>> {
  // In small pieces, so that headers fall on borders.
  const source = Readable.from(
    (function* () {
      for (let i = 0; i < archive.length; i += 100) yield archive.subarray(i, i + 100);
    })(),
  );
  return contents(readTarGz(source, { limits: { ...LIMITS, ...limits } }, signal));
}

async function refuses(t: Test, archive: Buffer, message: RegExp, limits: Partial<ArchiveLimits> = {}): Promise<void> {
  await t.rejects(readAll(archive, limits), { kind: 'rejected', message }, String(message));
}
