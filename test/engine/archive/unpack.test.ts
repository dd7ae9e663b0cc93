import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import type { ArchiveEntry } from '../../../engine/archive/archive-entry.ts';
import { readTarGz } from '../../../engine/archive/tar-reader.ts';
import { unpackTo } from '../../../engine/archive/unpack.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import { writeZip } from '../../../engine/archive/zip-writer.ts';
import { rawTarGz, rawZip } from '../../fixtures/archives.ts';

const signal = new AbortController().signal;
const limits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 100 };

t.test('writes files and folders with modes of its own', async (t) => {
  const dir = t.testdir();
  const zip = join(dir, 'a.zip');
  await writeFile(
    zip,
    rawZip([
      { name: 'a.txt', content: 'a', mode: 0o106777 },
      { name: 'b/c/d.txt', content: 'd' },
    ]),
  );
  const target = join(dir, 'target');
  await mkdir(target);
  const umask = process.umask(0o077);
  t.teardown(() => process.umask(umask));
  const files = await unpackTo(target, readZip(zip, { limits }, signal), signal);
  t.strictSame(files, [
    { name: 'a.txt', size: 1 },
    { name: 'b/c/d.txt', size: 1 },
  ]);
  t.equal(await readFile(join(target, 'b/c/d.txt'), 'utf8'), 'd');
  const modes = await Promise.all(['a.txt', 'b', 'b/c', 'b/c/d.txt'].map((name) => modeOf(join(target, name))));
  t.strictSame(modes, [0o644, 0o755, 0o755, 0o644]);
});

t.test('a hostile archive writes nothing outside', async (t) => {
  const dir = t.testdir();
  const target = join(dir, 'target');
  await mkdir(target);
  for (const name of ['../evil', '/tmp/longshore-evil', 'a/../../evil']) {
    const archive = Readable.from([await rawTarGz([{ name, content: 'evil' }])]);
    await t.rejects(unpackTo(target, readTarGz(archive, { limits }, signal), signal), {
      kind: 'rejected',
      message: /path/,
    });
  }
  t.strictSame([await readdir(dir), await readdir(target)], [['target'], []]);
});

t.test('entries that no reader of ours yields are refused too', async (t) => {
  const dir = t.testdir();
  for (const path of ['../evil', '..', '.', '/etc/evil'])
    await t.rejects(unpackTo(dir, entries({ [path]: 'evil' }), signal), { kind: 'defect', message: /would leave/ });
});

t.test('never writes through a link or over a file that is there', async (t) => {
  const dir = t.testdir();
  const target = join(dir, 'target');
  await mkdir(join(target, 'folder'), { recursive: true });
  await mkdir(join(dir, 'outside'));
  await writeFile(join(dir, 'outside/victim'), 'safe');
  await symlink(join(dir, 'outside'), join(target, 'link'));
  await symlink(join(dir, 'outside/victim'), join(target, 'linked-file'));
  await symlink(join(dir, 'outside/new'), join(target, 'dangling'));
  await writeFile(join(target, 'file'), 'there already');
  for (const path of ['link/victim', 'link/new', 'linked-file', 'dangling', 'file', 'file/below', 'folder'])
    await t.rejects(
      unpackTo(target, entries({ [path]: 'evil' }), signal),
      { kind: 'rejected', message: /collides/ },
      path,
    );
  t.strictSame(await readdir(join(dir, 'outside')), ['victim']);
  t.equal(await readFile(join(dir, 'outside/victim'), 'utf8'), 'safe');
  await unpackTo(target, entries({ 'folder/new': 'fine' }), signal);
  t.equal(await readFile(join(target, 'folder/new'), 'utf8'), 'fine');
});

t.test("a directory that is not there is our fault, not the archive's", async (t) => {
  const dir = t.testdir();
  await rm(dir, { recursive: true });
  await t.rejects(unpackTo(dir, entries({ a: 'a' }), signal), { kind: 'transient', message: /writing entry 'a'/ });
  await mkdir(dir);
});

t.test('stops with the reason of its signal', async (t) => {
  const dir = t.testdir();
  const stop = new AbortController();
  const body = (async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    stop.abort(new Error('enough'));
    yield Buffer.from('rest');
  })();
  const one = (async function* (): AsyncGenerator<ArchiveEntry> {
    yield { path: 'a', size: 8, body };
  })();
  await t.rejects(unpackTo(dir, one, stop.signal), new Error('enough'));
});

t.test('a zip is unpacked byte by byte, in its order', async (t) => {
  const dir = t.testdir();
  const zip = join(dir, 'a.zip');
  const content = fc.record({ size: fc.oneof(fc.nat(300), fc.nat(1_500_000)), random: fc.boolean() });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(content, { minLength: 1, maxLength: 20 }),
      fc.constantFrom(0, 6),
      async (files, level) => {
        const sources = files.map(({ size, random }, n) => ({
          ...{ path: `${n % 3}/${n}`, size },
          body: random ? randomBytes(size) : Buffer.alloc(size, `${n} of ${size}, `),
        }));
        await writeZip(zip, sources, { level }, signal);
        const target = join(dir, `${++run}`);
        await mkdir(target);
        const found = await unpackTo(target, readZip(zip, { limits }, signal), signal);
        if (
          !isDeepStrictEqual(
            found,
            sources.map(({ path: name, size }) => ({ name, size })),
          )
        )
          throw new Error('other files, or in another order');
        for (const { path, body } of sources)
          if (!(await readFile(join(target, path))).equals(body)) throw new Error(path);
        await rm(target, { recursive: true });
      },
    ),
    { numRuns: 15 },
  );
  t.pass();
});

t.test('of a zip with a damaged entry nothing is still written, and nothing is open, when it fails', async (t) => {
  const dir = t.testdir();
  const zip = join(dir, 'a.zip');
  const big = Array.from({ length: 9 }, (_, n) => ({ name: `${n}`, content: Buffer.alloc(2_000_000, `${n} `) }));
  const open = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const before = await open();
  await writeFile(zip, rawZip(big.map((entry, n) => (n === 3 ? { ...entry, crc: 1 } : entry))));
  await t.rejects(unpackTo(dir, readZip(zip, { limits }, signal), signal), {
    kind: 'rejected',
    message: /entry '3' is damaged/,
  });
  t.equal(await open(), before);
  const left = await sizes(dir);
  await new Promise(setImmediate);
  t.strictSame(await sizes(dir), left);
});

t.test('a zip is unpacked until its signal aborts', async (t) => {
  const dir = t.testdir();
  const zip = join(dir, 'a.zip');
  await writeFile(zip, rawZip([1, 2, 3].map((n) => ({ name: `${n}`, content: Buffer.alloc(5_000_000, `${n} `) }))));
  const stop = new AbortController();
  const inspect = (): void => void setImmediate(() => stop.abort(new Error('enough')));
  const unpacking = unpackTo(dir, readZip(zip, { limits, inspect }, stop.signal), stop.signal);
  await t.rejects(unpacking, new Error('enough'));
});

async function sizes(dir: string): Promise<readonly number[]> {
  const names = await readdir(dir);
  return Promise.all(names.map(async (name) => (await stat(join(dir, name))).size));
}

async function* entries(files: Readonly<Record<string, string>>): AsyncGenerator<ArchiveEntry> {
  for (const [path, text] of Object.entries(files))
    yield { path, size: text.length, body: Readable.from([Buffer.from(text)]) };
}

async function modeOf(file: string): Promise<number> {
  return (await stat(file)).mode & 0o7777;
}
