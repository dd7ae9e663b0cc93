import { hash, randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import t from 'tap';
import { type Entry, openPromise } from 'yauzl';
import type { ArchiveSource } from '../../../engine/archive/archive-entry.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import { writeZip, zipInMemory } from '../../../engine/archive/zip-writer.ts';
import { lines, zeros } from '../../fixtures/archives.ts';

const signal = new AbortController().signal;
const MiB = 1024 * 1024;

t.test('another reader finds the same files, stored or deflated, in zip64 form or not', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  for (const options of [{ level: 0 }, { level: 6 }, { level: 0, forceZip64: true }, { level: 9, forceZip64: true }]) {
    const written = await writeZip(file, samples(), options, signal);
    const { size } = await stat(file);
    t.strictSame(written, { bytes: size, entries: 4 });
    t.strictSame(await readByYauzl(file), {
      'a.txt': 'hello',
      'deep/ü/empty': '',
      large: await bodyText(lines(5 * MiB)),
      random: 'q8z',
    });
  }
});

t.test('computes the SHA-256 of each file and of the archive, also where it overwrites headers', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  const hex = (bytes: string | Buffer): string => hash('sha256', bytes, 'hex');
  const files = ['hello', '', await bodyText(lines(5 * MiB)), 'q8z'].map(hex);
  for (const level of [0, 6]) {
    const { digests } = await writeZip(file, samples(), { level, digests: true }, signal);
    t.strictSame(digests, { archive: hex(await readFile(file)), files });
  }
  const small = [{ path: 'a', size: 5, body: Buffer.from('hello') }];
  const { zip, digests, bytes } = await zipInMemory(small, { level: 6 }, signal);
  t.strictSame(digests, { archive: hex(Buffer.from(zip)), files: [hex('hello')] });
  t.equal(bytes, zip.length);
  const written = await writeZip(file, small, { level: 6, digests: true }, signal);
  t.strictSame(written, { bytes, entries: 1, digests }, 'the same archive');
});

t.test('stores what deflate cannot shrink', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  await writeZip(file, samples(), { level: 6 }, signal);
  const methods: Record<string, number> = {};
  for await (const entry of entriesByYauzl(file)) methods[entry.fileName] = entry.compressionMethod;
  t.strictSame(methods, { 'a.txt': 0, 'deep/ü/empty': 0, large: 8, random: 0 });
});

t.test(
  'of a large body, its first bytes decide whether it is stored or deflated; a reader gets all of it',
  async (t) => {
    const file = join(t.testdir(), 'archive.zip');
    const random = randomBytes(2 * MiB + 1);
    const text = Buffer.from(await bodyText(lines(2 * MiB)));
    const inPieces = async function* (bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
      const piece = Buffer.alloc(size);
      for (let at = 0; at < bytes.length; at += size) {
        // As readers may do: the memory of a chunk is used again for the next one.
        const end = Math.min(at + size, bytes.length);
        bytes.copy(piece, 0, at, end);
        yield piece.subarray(0, end - at);
      }
    };
    const local = join(t.testdir(), 'local');
    await writeFile(local, random);
    const sources: ArchiveSource[] = [
      { path: 'random', size: random.length, body: inPieces(random, 100_000) },
      { path: 'random, whole', size: random.length, body: random },
      { path: 'random, local', size: random.length, body: { file: local } },
      { path: 'text', size: text.length, body: inPieces(text, 100_000) },
      { path: 'text, small chunks', size: text.length, body: inPieces(text, 777) },
      { path: 'text, whole', size: text.length, body: text },
    ];
    await writeZip(file, sources, { level: 6 }, signal);
    const methods: Record<string, number> = {};
    for await (const entry of entriesByYauzl(file)) methods[entry.fileName] = entry.compressionMethod;
    const [stored, deflated] = [0, 8];
    t.strictSame(methods, {
      ...{ random: stored, 'random, whole': stored, 'random, local': stored },
      ...{ text: deflated, 'text, small chunks': deflated, 'text, whole': deflated },
    });
    const limits = { maxTotalBytes: 1e8, maxFileBytes: 1e8, maxEntries: 100 };
    for await (const { path, body } of readZip(file, { limits }, signal)) {
      const read = Buffer.concat(await Array.fromAsync(body, (chunk) => Buffer.from(chunk)));
      t.ok(read.equals(path.startsWith('random') ? random : text), path);
    }
  },
);

t.test('says everything in the local header already, for readers that stream', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  await writeZip(file, [{ path: 'large', size: 5 * MiB, body: lines(5 * MiB) }], { level: 1 }, signal);
  const local = await readFile(file);
  for await (const entry of entriesByYauzl(file)) {
    t.equal(local.readUInt16LE(6) & 0x8, 0, 'no data descriptor');
    t.strictSame(
      [local.readUInt32LE(14), local.readUInt32LE(18), local.readUInt32LE(22)],
      [entry.crc32, entry.compressedSize, entry.uncompressedSize],
    );
  }
});

t.test('equal content makes equal archives; a time given is kept in steps of two seconds', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  await writeZip(file, samples(), { level: 6 }, signal);
  const once = await readFile(file);
  await writeZip(file, samples(), { level: 6 }, signal);
  t.ok(once.equals(await readFile(file)));
  const modified = new Date('2026-05-04T13:14:15Z');
  await writeZip(file, [{ path: 'a', size: 1, body: Buffer.from('a'), modified }], { level: 6 }, signal);
  for await (const entry of entriesByYauzl(file))
    t.strictSame(entry.getLastModDate({ timezone: 'UTC', forceDosFormat: true }), new Date('2026-05-04T13:14:14Z'));
});

t.test('replaces a file that is there', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  await writeFile(file, 'x'.repeat(100_000));
  await writeZip(file, [{ path: 'a', size: 1, body: Buffer.from('a') }], { level: 6 }, signal);
  t.strictSame(await readByYauzl(file), { a: 'a' });
});

t.test('leaves no file behind when writing fails, and says why', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  for (const unit of [1, MiB]) {
    const write = (size: number, body: AsyncIterable<Uint8Array>, stop = signal): Promise<unknown> =>
      writeZip(
        file,
        [
          { path: 'before', size: 0, body: new Uint8Array() },
          { path: 'a', size, body },
        ],
        { level: 6 },
        stop,
      );
    await t.rejects(write(10 * unit, zeros(9 * unit)), { kind: 'defect', message: /entry 'a' has \d+ bytes, not/ });
    await t.rejects(write(10 * unit, zeros(11 * unit)), { kind: 'defect', message: /entry 'a' has more than/ });
    await t.rejects(write(10 * unit, failing()), new Error('source broke'));
    const stop = new AbortController();
    const abort = async function* (): AsyncGenerator<Uint8Array> {
      yield* zeros(5 * unit);
      stop.abort(new Error('enough'));
      yield* zeros(5 * unit);
    };
    await t.rejects(write(10 * unit, abort(), stop.signal), new Error('enough'));
  }
  t.strictSame(await readdir(dirname(file)), []);
  await t.rejects(writeZip(file, failingSources(), { level: 6 }, signal), new Error('source broke'));
  t.strictSame(await readdir(dirname(file)), []);
  await t.rejects(writeZip('/nowhere/a.zip', samples(), { level: 6 }, signal), {
    kind: 'transient',
    message: /writing \/nowhere\/a\.zip/,
  });
});

t.test('whatever is written is read again', async (t) => {
  const file = join(t.testdir(), 'archive.zip');
  const content = fc.uint8Array({ maxLength: 2000 });
  const path = fc.array(fc.stringMatching(/^[a-zäß☃ .-]{1,8}x$/), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(path, content), { selector: ([[first]]) => first, maxLength: 8, minLength: 1 }),
      fc.constantFrom(0, 6),
      fc.boolean(),
      async (files, level, forceZip64) => {
        const sources = files.map(([folders, body]) => ({ path: folders.join('/'), size: body.length, body }));
        // What macOS adds is dropped on reading.
        const kept = sources.filter((source) => !source.path.split('/').at(-1)?.startsWith('._'));
        fc.pre(kept.length > 0 && sources.every((source) => source.path === source.path.normalize('NFC')));
        await writeZip(file, sources, { level, forceZip64 }, signal);
        const limits = { maxTotalBytes: 1e6, maxFileBytes: 1e6, maxEntries: 100 };
        const read: [string, Buffer][] = [];
        for await (const entry of readZip(file, { limits }, signal))
          read.push([entry.path, Buffer.concat(await Array.fromAsync(entry.body, copied))]);
        t.strictSame(
          read,
          kept.map(({ path, body }) => [path, Buffer.from(body)]),
        );
      },
    ),
    { numRuns: 30 },
  );
});

t.test('small files that are stored in one go make the archive that their bytes make', async (t) => {
  const target = join(t.testdir(), 'archive.zip');
  const contents = Array.from({ length: 400 }, (_, n) => Buffer.alloc((n * n * 7919) % 9_001, `${n}`));
  const files = contents.map((_, n) => `${target}.${n}`);
  for (const [n, content] of contents.entries()) await writeFile(files[n] as string, content);
  for (const forceZip64 of [false, true]) {
    const packed = async (body: (n: number) => ArchiveSource['body']): Promise<Buffer> => {
      const sources = contents.map(({ length: size }, n) => ({ path: `${n % 7}/${n}`, size, body: body(n) }));
      await writeZip(target, sources, { level: 0, forceZip64 }, signal);
      return readFile(target);
    };
    const local = await packed((n) => ({ file: files[n] as string }));
    t.ok(local.equals(await packed((n) => contents[n] ?? Buffer.alloc(0))), String(forceZip64));
  }
  const wrong = (size: number): Promise<unknown> =>
    writeZip(target, [{ path: 'a', size, body: { file: files[1] as string } }], { level: 0 }, signal);
  await t.rejects(wrong(7_918), { kind: 'defect', message: /entry 'a' has more than the 7918 bytes announced/ });
  await t.rejects(wrong(7_920), { kind: 'defect', message: /entry 'a' has 7919 bytes, not the 7920 announced/ });
});

function* samples(): Generator<ArchiveSource> {
  yield { path: 'a.txt', size: 5, body: Buffer.from('hello') };
  yield { path: 'deep/ü/empty', size: 0, body: zeros(0) };
  yield { path: 'large', size: 5 * MiB, body: lines(5 * MiB) };
  yield { path: 'random', size: 3, body: lettersOf('q8z') };
}

async function* lettersOf(text: string): AsyncGenerator<Uint8Array> {
  for (const letter of text) yield Buffer.from(letter);
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half');
  throw new Error('source broke');
}

async function* failingSources(): AsyncGenerator<ArchiveSource> {
  yield { path: 'a', size: 1, body: Buffer.from('a') };
  throw new Error('source broke');
}

async function bodyText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString();
}

async function* entriesByYauzl(file: string): AsyncGenerator<Entry> {
  const zip = await openPromise(file);
  yield* zip.eachEntry();
}

async function readByYauzl(file: string): Promise<Record<string, string>> {
  const zip = await openPromise(file);
  const found: Record<string, string> = {};
  for await (const entry of zip.eachEntry())
    found[entry.fileName] = (await buffer(await zip.openReadStreamPromise(entry))).toString();
  return found;
}

/** A body uses the memory of its chunks again. */
const copied = (chunk: Uint8Array): Buffer => Buffer.from(chunk);
