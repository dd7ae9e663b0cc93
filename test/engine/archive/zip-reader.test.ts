import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import type { ArchiveLimits } from '../../../engine/archive/archive-limits.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import { writeZip } from '../../../engine/archive/zip-writer.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import { lines, type RawZipEntry, rawZip, zipOf } from '../../fixtures/archives.ts';

const signal = new AbortController().signal;
const LIMITS: ArchiveLimits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 100_000 };
const MiB = 1024 * 1024;

t.test('reads files with their folders, stored and deflated, and leaves out what is not a file', async (t) => {
  const read = await readAll(
    t,
    rawZip([
      { name: 'a.txt', content: 'deflated' },
      { name: 'folder/', content: '', mode: 0o040755 },
      { name: 'folder/b.txt', content: 'stored', method: 0 },
      { name: 'folder/empty', content: '' },
      { name: 'nothing', content: '', method: 0 },
      { name: '__MACOSX/._a.txt', content: 'resource fork' },
      { name: 'folder/._b.txt', content: 'resource fork' },
      { name: 'no-mode', content: 'from a machine without modes', mode: 0 },
    ]),
  );
  t.strictSame(read, {
    'a.txt': 'deflated',
    'folder/b.txt': 'stored',
    'folder/empty': '',
    nothing: '',
    'no-mode': 'from a machine without modes',
  });
});

t.test('reads zip64', async (t) => {
  t.strictSame(await readAll(t, await zipOf({ 'a.txt': 'a', 'b/c': 'bc' }, { zip64: true })), {
    'a.txt': 'a',
    'b/c': 'bc',
  });
});

t.test('names are UTF-8 whether marked so or not, else CP437', async (t) => {
  const read = await readAll(
    t,
    rawZip([
      { name: 'ä', flags: 0 },
      { name: 'ö', flags: 0x800 },
      { name: Buffer.from([0x81]), flags: 0 },
    ]),
  );
  t.strictSame(Object.keys(read), ['ä', 'ö', 'ü']);
  await refuses(t, rawZip([{ name: Buffer.from([0x81]) }]), /has a name that is not UTF-8/);
});

t.test('refuses entries, naming them', async (t) => {
  // Of paths one of each form in which they come; every rule of them is in entry-path.test.ts.
  const refused: readonly [readonly RawZipEntry[], RegExp][] = [
    [[{ name: '../evil' }], /entry '\.\.\/evil' has '\.\.' in its path/],
    [[{ name: '/etc/passwd' }], /entry '\/etc\/passwd' has an absolute path/],
    [[{ name: '..\\b' }], /entry '\.\.\/b' has '\.\.' in its path/],
    [[{ name: 'C:\\b' }], /entry 'C:\/b' has a drive letter/],
    [[{ name: 'a\\b' }, { name: 'a/b' }], /entry 'a\/b' comes twice/],
    [[{ name: '' }], /has an empty name/],
    [[{ name: '../folder/', content: '', mode: 0o040755 }], /has '\.\.' in its path/],
    [[{ name: 'folder/', content: 'x' }], /entry 'folder\/' is a folder but has content/],
    [[{ name: 'folder', mode: 0o040755 }], /entry 'folder' is a folder but has content/],
    [[{ name: 'link', mode: 0o120777 }], /entry 'link' is a link/],
    [[{ name: 'device', mode: 0o020644 }], /entry 'device' is neither a file nor a folder/],
    [[{ name: 'pipe', mode: 0o010644 }], /entry 'pipe' is neither/],
    [[{ name: 'secret', flags: 0x801 }], /entry 'secret' is encrypted/],
    [[{ name: 'masked', flags: 0x2800 }], /entry 'masked' is encrypted/],
    [[{ name: 'aes', flags: 0x801, method: 99 }], /entry 'aes' is encrypted/],
    [[{ name: 'lzma', method: 14 }], /entry 'lzma' is compressed by method 14/],
    [[{ name: 'a' }, { name: 'a' }], /entry 'a' comes twice/],
    [[{ name: 'a' }, { name: './a' }], /entry 'a' comes twice/],
    [[{ name: 'A.txt' }, { name: 'a.TXT' }], /entry 'a\.TXT' comes twice/],
    [[{ name: 'e\u0301' }, { name: '\u00e9' }], /comes twice/],
    [[{ name: 'a' }, { name: 'a/b' }], /entry 'a' is both a file and a folder/],
    [[{ name: 'a/b' }, { name: 'a' }], /entry 'a' is both a file and a folder/],
  ];
  for (const [entries, message] of refused) await refuses(t, rawZip([{ name: 'before' }, ...entries]), message);
  await refuses(t, rawZip([{ name: 'strong', flags: 0x841 }]), /strong encryption/);
});

t.test('refuses archives that are empty, split, cut off or no zip at all', async (t) => {
  await refuses(t, rawZip([]), /the archive is empty/);
  await refuses(t, rawZip([{ name: 'folder/', content: '' }, { name: '__MACOSX/a' }]), /holds no files/);
  const good = rawZip([{ name: 'a' }, { name: 'b' }]);
  await refuses(t, Buffer.concat([Buffer.from('PK\x07\x08'), good]), /one part of a split zip/);
  const lastPart = Buffer.from(good);
  lastPart.writeUInt16LE(3, lastPart.length - 18);
  await refuses(t, lastPart, /one part of a split zip/);
  await refuses(t, good.subarray(0, good.length - 30), /is damaged/);
  await refuses(t, Buffer.concat([good.subarray(0, 40), good.subarray(60)]), /is damaged/);
  await refuses(t, Buffer.from('plain text'), /is not a zip file/);
  await refuses(t, Buffer.alloc(0), /is not a zip file/);
  await refuses(t, Buffer.from('PK\x03\x04'), /is damaged/);
});

t.test('refuses a directory that has more entries than it counts', async (t) => {
  const entries = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  await refuses(t, rawZip(entries, 2), /says that it has 2 entries but has more/);
  await refuses(t, rawZip(entries, 4), /is damaged/);
});

t.test('refuses sizes that lie, small and large', async (t) => {
  const large = Buffer.alloc(5 * MiB, 'large ');
  for (const content of [Buffer.from('5 bytes or more'), large]) {
    await refuses(
      t,
      rawZip([{ name: 'x', content, size: 10 }]),
      /entry 'x' holds more than the 10 bytes that it declares/,
    );
    const size = content.length + 1;
    await refuses(
      t,
      rawZip([{ name: 'x', content, size }]),
      new RegExp(`'x' holds ${size - 1} bytes but declares ${size}`),
    );
  }
  await refuses(
    t,
    rawZip([{ name: 'x', method: 0, size: 3 }]),
    /entry 'x' is stored but says 7 bytes inside and 3 outside/,
  );
  await refuses(t, rawZip([{ name: 'x', compressedSize: 5 }]), /entry 'x' is damaged/);
  await refuses(t, rawZip([{ name: 'x', compressedSize: 0, size: 5 * MiB }]), /entry 'x' is damaged: unexpected end/);
  await refuses(t, rawZip([{ name: 'x', compressedSize: 5000 }]), /entry 'x' is cut off/);
  await refuses(t, rawZip([{ name: 'x', offset: 3 }]), /entry 'x' is damaged: it has no header/);
});

t.test('refuses content that does not match its checksum, stored or deflated, small or large', async (t) => {
  for (const content of [Buffer.from('content'), Buffer.alloc(5 * MiB, 'large ')])
    for (const method of [0, 8])
      await refuses(t, rawZip([{ name: 'x', content, method, crc: 1 }]), /entry 'x' is damaged: its checksum is wrong/);
  const broken = rawZip([{ name: 'x', content: Buffer.alloc(1000, 'abc') }]);
  broken[32] = 0xff;
  await refuses(t, broken, /entry 'x' is damaged/);
});

t.test('enforces the limits on what comes out', async (t) => {
  const entries = [
    { name: 'a', content: 'x'.repeat(100) },
    { name: 'b', content: 'x'.repeat(100) },
  ];
  const lying = entries.map((entry) => ({ ...entry, size: 50 }));
  const read = (limits: Partial<ArchiveLimits>): Promise<Record<string, string>> => readAll(t, rawZip(entries), limits);
  t.equal(Object.keys(await read({ maxTotalBytes: 200, maxFileBytes: 100, maxEntries: 2 })).length, 2);
  await refuses(t, rawZip(entries), /at entry 'b' the archive unpacks to more than the 199 bytes/, {
    maxTotalBytes: 199,
  });
  await refuses(t, rawZip(entries), /entry 'a' is larger than the 99 bytes allowed per file/, { maxFileBytes: 99 });
  await refuses(t, rawZip(entries), /the archive has 2 entries; at most 1 are allowed/, { maxEntries: 1 });
  await refuses(t, rawZip(lying), /entry 'a' holds more than the 50 bytes/, { maxTotalBytes: 100, maxFileBytes: 50 });
});

t.test('100,000 entries pass and 100,001 do not', async (t) => {
  const thread = new URL('../../fixtures/many-entries-thread.ts', import.meta.url);
  const dir = t.testdir();
  const results = [100_000, 100_001].map(async (count) => {
    const worker = new Worker(thread, { workerData: { file: join(dir, `${count}`), count }, execArgv: [] });
    t.teardown(() => worker.terminate());
    return (await once(worker, 'message'))[0];
  });
  t.strictSame(await Promise.all(results), [100_000, 'the archive has 100001 entries; at most 100000 are allowed']);
});

t.test('refuses a bomb once it has inflated more than 100 MiB at 1:1000', async (t) => {
  const file = join(t.testdir(), 'archive');
  await writeFile(file, rawZip([{ name: 'bomb', content: Buffer.alloc(110 * MiB) }]));
  await t.rejects(drain(file), { kind: 'rejected', message: /entry 'bomb' inflates to more than 1000 times/ });
  await writeFile(file, rawZip([{ name: 'honest', content: Buffer.alloc(90 * MiB) }]));
  t.equal(await drain(file), 90 * MiB);
});

t.test('refuses a bomb whose entries share one body', async (t) => {
  const content = Buffer.alloc(4 * MiB);
  const shared = { content, offset: 0 };
  const bomb = rawZip([
    { name: 'f0', content },
    ...Array.from({ length: 27 }, (_, i) => ({ name: `f${i + 1}`, ...shared, content })),
  ]);
  // Only the first body is kept; the others point at it.
  const first = rawZip([{ name: 'f0', content }]);
  const directoryAt = bomb.readUInt32LE(bomb.length - 6);
  const bodyEnd = first.readUInt32LE(first.length - 6);
  const overlapping = Buffer.concat([bomb.subarray(0, bodyEnd), bomb.subarray(directoryAt)]);
  overlapping.writeUInt32LE(bodyEnd, overlapping.length - 6);
  const file = join(t.testdir(), 'archive');
  await writeFile(file, overlapping);
  await t.rejects(drain(file), { kind: 'rejected', message: /inflates to more than 1000 times its compressed size/ });
});

t.test('a large entry comes in small pieces', async (t) => {
  const file = join(t.testdir(), 'archive');
  const size = 64 * MiB;
  await writeZip(file, [{ path: 'large', size, body: lines(size) }], { level: 1 }, signal);
  let largest = 0;
  for await (const entry of readZip(file, { limits: LIMITS }, signal))
    for await (const chunk of entry.body) largest = Math.max(largest, chunk.length);
  t.ok(largest <= MiB, `${largest} bytes`);
});

t.test('an archive that is refused, or left in the middle, is closed', async (t) => {
  const open = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const before = await open();
  await refuses(t, rawZip([{ name: '../x' }]), /in its path/);
  await refuses(t, rawZip([{ name: 'x', size: 3 }]), /holds more/);
  await refuses(t, Buffer.from('just text'), /is not a zip file/);
  const file = join(t.testdir(), 'archive');
  await writeFile(file, rawZip([{ name: 'a' }, { name: 'b' }]));
  for await (const _ of readZip(file, { limits: LIMITS }, signal)) break;
  t.equal(await open(), before);
});

t.test('inspect sees all files before the first is read, and may refuse', async (t) => {
  const file = join(t.testdir(), 'archive');
  await writeFile(
    file,
    rawZip([
      { name: 'a', content: '1' },
      { name: 'd/', content: '' },
      { name: 'b', content: '22' },
    ]),
  );
  const seen: { path: string; size: number }[] = [];
  const inspect = ({ path, size }: { path: string; size: number }): void => void seen.push({ path, size });
  for await (const _ of readZip(file, { limits: LIMITS, inspect }, signal)) break;
  t.strictSame(seen, [
    { path: 'a', size: 1 },
    { path: 'b', size: 2 },
  ]);
  const refuse = (): never => {
    throw rejected('not this one');
  };
  await t.rejects(
    Array.fromAsync(readZip(file, { limits: LIMITS, inspect: refuse }, signal)),
    rejected('not this one'),
  );
});

t.test('entries may be left unread or half read', async (t) => {
  const file = join(t.testdir(), 'archive');
  const large = Buffer.alloc(6 * MiB, 'large ');
  await writeFile(
    file,
    rawZip([
      { name: 'a', content: large },
      { name: 'b', content: large },
      { name: 'c', content: 'c' },
    ]),
  );
  const read: string[] = [];
  for await (const entry of readZip(file, { limits: LIMITS }, signal)) {
    if (entry.path === 'b') for await (const _ of entry.body) break;
    if (entry.path === 'c') for await (const chunk of entry.body) read.push(Buffer.from(chunk).toString());
  }
  t.strictSame(read, ['c']);
});

t.test('stops with the reason of its signal', async (t) => {
  const file = join(t.testdir(), 'archive');
  await writeFile(file, rawZip([{ name: 'a', content: Buffer.alloc(6 * MiB, 'large ') }, { name: 'b' }]));
  const stop = new AbortController();
  const reading = async (): Promise<void> => {
    for await (const entry of readZip(file, { limits: LIMITS }, stop.signal))
      for await (const _ of entry.body) stop.abort(new Error('enough'));
  };
  await t.rejects(reading(), new Error('enough'));
  await t.rejects(reading(), new Error('enough'));
});

t.test("a file that is not there is not the archive's fault", async (t) => {
  await t.rejects(Array.fromAsync(readZip('/nowhere/a.zip', { limits: LIMITS }, signal)), {
    kind: 'transient',
    message: /\/nowhere\/a\.zip/,
  });
});

async function readAll(t: Test, archive: Buffer, limits: Partial<ArchiveLimits> = {}): Promise<Record<string, string>> {
  const file = join(t.testdir(), 'archive');
  await writeFile(file, archive);
  const found: Record<string, string> = {};
  for await (const entry of readZip(file, { limits: { ...LIMITS, ...limits } }, signal))
    found[entry.path] = Buffer.concat(await Array.fromAsync(entry.body, copied)).toString();
  return found;
}

async function refuses(t: Test, archive: Buffer, message: RegExp, limits: Partial<ArchiveLimits> = {}): Promise<void> {
  await t.rejects(readAll(t, archive, limits), { kind: 'rejected', message }, String(message));
}

async function drain(file: string): Promise<number> {
  let bytes = 0;
  for await (const entry of readZip(file, { limits: LIMITS }, signal))
    for await (const chunk of entry.body) bytes += chunk.length;
  return bytes;
}

/** A body uses the memory of its chunks again. */
const copied = (chunk: Uint8Array): Buffer => Buffer.from(chunk);
