// Held to tar-stream, which parses the same in the usual way: what both make of random archives, whole and damaged, is equal.
// We are stricter in one thing: a pax header with a line that is none would lose what is behind it, and is a fault.

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { extract, type Header, pack } from 'tar-stream';
import { decodePax, TarEntries } from '../../../engine/archive/tar-entries.ts';
import { tarHeader } from '../../../engine/archive/tar-writer.ts';

interface Found {
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly pax: Readonly<Record<string, string>>;
  readonly content: string;
}

interface Packed extends Partial<Header> {
  readonly name: string;
  readonly content: Buffer;
}

const names = fc.oneof(
  fc.stringMatching(/^[a-zäß☃/ .]{1,40}x$/),
  fc.constantFrom('folder/', `${'long/'.repeat(30)}name`, `${'ü'.repeat(90)}/x`),
);
const KINDS = ['file', 'directory', 'symlink', 'contiguous-file', 'fifo'] as const;
const packed: fc.Arbitrary<Packed> = fc
  .record({
    name: names,
    type: fc.constantFrom('file', 'file', ...KINDS),
    bytes: fc.oneof(fc.constantFrom(0, 1, 511, 512, 513), fc.nat(5_000)),
    pax: fc.option(fc.record({ comment: fc.stringMatching(/^[a-zü=]{0,900}$/), path: names }, { requiredKeys: [] })),
  })
  .map(({ bytes, pax, ...entry }) => {
    const content = Buffer.from(entry.type.endsWith('file') ? Array.from({ length: bytes }, (_, n) => n * n) : []);
    const extra = pax ? { pax: pax as Record<string, string> } : {};
    return { ...entry, size: content.length, linkname: 'elsewhere', mtime: new Date(0), ...extra, content };
  });

t.test('entries of random archives are those that tar-stream finds', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(packed, { maxLength: 6 }), fc.infiniteStream(fc.integer({ min: 1, max: 2_000 })), same),
    { numRuns: 60 },
  );
  t.pass();
  async function same(entries: readonly Packed[], lengths: Iterable<number>): Promise<void> {
    const tar = await packedBy(entries);
    t.strictSame(await readHere(tar, lengths), await readByTarStream(tar));
  }
});

t.test('so are those of archives with a byte changed or cut off, or neither reads on', async (t) => {
  const outcomes = { thrown: 0, read: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(packed, { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.nat(255),
      fc.boolean(),
      async (entries, at, value, cut) => {
        const whole = await packedBy(entries);
        const place = at % (whole.length - 1024);
        whole[place] = value;
        const tar = cut ? whole.subarray(0, place) : whole;
        const here = await readHere(tar, [7_777]).catch(thrown);
        const there = await readByTarStream(tar).catch(thrown);
        if (here !== 'thrown') t.strictSame(here, there);
        else if (there !== 'thrown') t.ok(tar.includes(' path=') || tar.includes(' comment='), 'a damaged pax header');
        outcomes[here === 'thrown' ? 'thrown' : 'read']++;
      },
    ),
    { numRuns: 150 },
  );
  t.ok(outcomes.thrown > 30 && outcomes.read > 5, JSON.stringify(outcomes));
});

t.test('entries that GNU tar packs in its formats are those that tar-stream finds', async (t) => {
  const dir = t.testdir();
  const deep = join('tree', 'folder-'.repeat(20), 'deeper-'.repeat(20));
  await mkdir(join(dir, deep), { recursive: true });
  for (const [name, bytes] of Object.entries({ empty: 0, small: 100, ['ü'.repeat(100)]: 70_000 }))
    await writeFile(join(dir, deep, name), Buffer.alloc(bytes, name));
  for (const format of ['gnu', 'oldgnu', 'pax']) {
    await promisify(execFile)('tar', [`--format=${format}`, '-C', dir, '-cf', join(dir, 'a.tar'), 'tree']);
    const tar = await readFile(join(dir, 'a.tar'));
    const found = await readHere(tar, [10_240]);
    t.equal(found.filter(({ type }) => type === 'file').length, 3, format);
    t.strictSame(found, await readByTarStream(tar), format);
  }
});

t.test('sizes beyond what octal digits hold are read as GNU tar writes them', async (t) => {
  const size = 9 * 2 ** 30;
  const record = tarHeader({ path: 'large', size, modified: new Date(0) });
  const entry = await new TarEntries(chunksOf(record, [512])).next();
  t.strictSame({ name: `${entry?.name}`, size: entry?.size, type: entry?.type }, { name: 'large', size, type: 'file' });
});

t.test('a pax header with a line that is none is a fault, as it is to GNU tar', async (t) => {
  const texts = (bytes: string): Record<string, string> =>
    Object.fromEntries(Object.entries(decodePax(Buffer.from(bytes))).map(([key, value]) => [key, `${value}`]));
  t.strictSame(texts('8 a=bcd\n'), { a: 'bcd' });
  t.strictSame(texts('8 a=bcd\n8 a=efg\n'), { a: 'efg' });
  t.strictSame(texts('8 a=b=d\n\0\0\0'), { a: 'b=d' }, 'filled up with zeros');
  for (const line of [
    '14blink=abc\n',
    '-5 x=y\n',
    '1 x=y\n',
    '9 a=bcd\n',
    '8 a=bcdX',
    '6 abc\n',
    '99 a=b\n',
    'x a=b\n',
  ])
    t.throws(() => texts(`8 a=bcd\n${line}`), /a line of an extended header \(pax\) is not well-formed/, line);
});

t.test('a name that ends in a slash is a folder in any format, and a tar of Unix V7 is read', async (t) => {
  const v7 = (name: string, type: string): Buffer => {
    const record = tarHeader({ path: name, size: 0, modified: new Date(0) });
    record.fill(0, 257).write(type, 156, 'latin1');
    record.fill(' ', 148, 156);
    const sum = record.reduce((total, byte) => total + byte, 0);
    record.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    return record;
  };
  const tar = Buffer.concat([v7('folder/', '\0'), v7('folder/file', '\0'), v7('link', '2'), Buffer.alloc(1024)]);
  t.strictSame(
    (await readHere(tar, [512])).map(({ name, type }) => [name, type]),
    [
      ['folder/', 'folder'],
      ['folder/file', 'file'],
      ['link', 'link'],
    ],
  );
  const long = await packedBy([{ name: `${'long/'.repeat(30)}`, size: 0, type: 'file', content: Buffer.alloc(0) }]);
  t.equal((await readHere(long, [512]))[0]?.type, 'folder');
});

t.test('behind the zeros that end a tar may be more zeros or another tar, and nothing else', async (t) => {
  const one = await packedBy([{ name: 'a', content: Buffer.from('1') }]);
  const names = async (tar: Buffer): Promise<readonly string[]> => (await readHere(tar, [700])).map(({ name }) => name);
  t.strictSame(await names(Buffer.concat([one, Buffer.alloc(9_000)])), ['a']);
  t.strictSame(await names(Buffer.concat([one, Buffer.alloc(77)])), ['a']);
  t.strictSame(await names(Buffer.concat([one, await packedBy([{ name: 'b', content: Buffer.from('2') }])])), [
    'a',
    'b',
  ]);
  for (const tail of [Buffer.from('x'), Buffer.alloc(512, 'x'), Buffer.alloc(1_000, 'PK')])
    await t.rejects(names(Buffer.concat([one, tail])), /behind the end of the tar are bytes that are no tar/);
});

async function readHere(tar: Buffer, lengths: Iterable<number>): Promise<readonly Found[]> {
  const entries = new TarEntries(chunksOf(tar, lengths));
  const found: Found[] = [];
  for (let entry = await entries.next(); entry; entry = await entries.next()) {
    const content: Buffer[] = [];
    for (let part = await entries.content(); part; part = await entries.content()) content.push(Buffer.from(part));
    const { name, size, type, pax } = entry;
    const texts = Object.fromEntries(Object.entries(pax).map(([key, value]) => [plainKey(key), value.toString()]));
    found.push({ name: `${name}`, size, type, pax: texts, content: Buffer.concat(content).toString('latin1') });
  }
  return found;
}

async function readByTarStream(tar: Buffer): Promise<readonly Found[]> {
  const found: Found[] = [];
  const parser = extract();
  Readable.from([tar]).pipe(parser as unknown as NodeJS.WritableStream);
  for await (const entry of parser) {
    const { name, size, type, pax } = entry.header as Header & { readonly pax: Record<string, string> | null };
    // It means to take a name that ends in a slash for a folder, too late to do it, and a size that is no number for 0.
    if (size === null) throw new Error('a record without a size');
    const content = await buffer(entry as unknown as AsyncIterable<Buffer>);
    const isFolder = typeOf(type) === 'file' && size === 0 && name.endsWith('/');
    found.push({
      name,
      size: size ?? 0,
      type: isFolder ? 'folder' : typeOf(type),
      pax: Object.fromEntries(Object.entries(pax ?? {}).map(([key, value]) => [plainKey(key), value])),
      content: content.toString('latin1'),
    });
  }
  return found;
}

/** Keys of a pax header are ASCII: bytes that are not belong to no key that anybody looks for. */
const plainKey = (key: string): string => key.replace(/[^ -~]+/g, '?');

function typeOf(type: Header['type']): string {
  if (type === 'file' || type === 'contiguous-file') return 'file';
  if (type === 'directory') return 'folder';
  return type === 'link' || type === 'symlink' ? 'link' : 'other';
}

async function packedBy(entries: readonly Packed[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) tar.entry(header, content);
  tar.finalize();
  return buffer(tar as unknown as AsyncIterable<Buffer>);
}

/** Its memory is used again for the next chunk, as that of the reader is. */
async function* chunksOf(bytes: Buffer, lengths: Iterable<number>): AsyncGenerator<Uint8Array> {
  const endless = (function* () {
    for (;;) yield* lengths;
  })();
  for (let at = 0; at < bytes.length; ) {
    const chunk = Buffer.from(bytes.subarray(at, at + (endless.next().value ?? 1)));
    at += chunk.length;
    yield chunk;
    chunk.fill(0xee);
  }
}

const thrown = (): 'thrown' => 'thrown';
