// What an S3 store makes harder than others: bodies in parts, long listings, keys that have to be encoded, what is left of
// processes that died.

import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openS3Reader } from '../../engine/adapters/s3/s3-reader.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const MIB = 1024 * 1024;
const HOUR = 60 * 60_000;
const signal = new AbortController().signal;
const radosgw = await startRadosgw(t);

async function setup(t: Test) {
  const options = s3OptionsOf(radosgw, await radosgw.makeBucket());
  let laterMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  const store = new S3Store(options, { log: silentLogger(), clock });
  t.teardown(() => store[Symbol.dispose]());
  const unfinished = () => Array.fromAsync(radosgw.client().listIncompleteUploads(options.bucket, '', true));
  const later = (ms: number): void => {
    laterMs += ms;
  };
  return { store, options, unfinished, later };
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const pieces = (bytes: Buffer, size: number): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
  );

t.test('bodies of every length come back byte by byte, known or not', async (t) => {
  const { store, unfinished } = await setup(t);
  const all = randomBytes(24 * MIB + 17);
  // At and around the size of a part, and of two and three.
  for (const size of [0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 16 * MIB, 24 * MIB + 17]) {
    const bytes = all.subarray(0, size);
    for (const known of [true, false]) {
      const key = `1/a/${size}-${known}`;
      const put = await store.put(key, pieces(bytes, 100_003), known ? { size } : {}, signal);
      t.equal(put.size, size, key);
      t.strictSame(await store.head(key, signal), put);
      const opened = await store.get(key, undefined, signal);
      t.equal(hashOf(await buffer(opened?.body ?? Readable.from([]))), hashOf(bytes), key);
    }
  }
  const parts = await store.head(`1/a/${24 * MIB + 17}-false`, signal);
  t.match(parts?.etag, /^[\da-f]{32}-4$/, 'sent in four parts');
  const part = await store.get(`1/a/${24 * MIB + 17}-false`, { from: 16 * MIB - 5, to: 16 * MIB + 4 }, signal);
  t.equal(part?.info.size, 24 * MIB + 17, 'a range tells the size of the whole');
  t.strictSame(await buffer(part?.body ?? Readable.from([])), all.subarray(16 * MIB - 5, 16 * MIB + 5));
  t.strictSame(await unfinished(), []);
});

t.test('a put in parts that fails leaves neither an object nor parts', async (t) => {
  const { store, unfinished } = await setup(t);
  const half = async function* (end: () => Promise<void> | never): AsyncGenerator<Buffer> {
    for (let i = 0; i < 20; i++) yield Buffer.alloc(MIB);
    await end();
  };
  const fails = Readable.from(
    half(() => {
      throw new Error('the sender broke off');
    }),
  );
  await t.rejects(store.put('1/a/fails', fails, {}, signal), new Error('the sender broke off'));
  const stop = new AbortController();
  const endless = Readable.from(
    half(async () => {
      stop.abort(new Error('enough'));
      await new Promise(() => {});
    }),
  );
  await t.rejects(store.put('1/a/aborted', endless, {}, stop.signal), new Error('enough'));
  t.ok(endless.destroyed);
  t.strictSame(await Array.fromAsync(store.list('', {}, signal)), []);
  t.strictSame(await unfinished(), []);
});

t.test('a source that fails before the store is connected', async (t) => {
  const { store } = await setup(t);
  for (const options of [{}, { size: 4 }]) {
    const source = new Readable({ read: () => {} });
    const put = store.put('1/a/x', source, options, signal);
    source.destroy(new Error('gone at once'));
    await t.rejects(put, new Error('gone at once'));
    const closed = new Readable({ read: () => {} });
    const given = store.put('1/a/x', closed, options, signal);
    closed.destroy();
    await t.rejects(given, { kind: 'transient', message: /closed before its end/ });
  }
  t.strictSame(await Array.fromAsync(store.list('', {}, signal)), []);
});

t.test('parts of dead processes are removed after a day', async (t) => {
  const { store, options, unfinished, later } = await setup(t);
  const client = radosgw.client();
  for (const key of ['1/a/dead', '1/a/ +%ä&<"']) await client.initiateNewMultipartUpload(options.bucket, key, {});
  await store.sweep(signal);
  t.equal((await unfinished()).length, 2, 'they may belong to somebody');
  later(23 * HOUR);
  await store.sweep(signal);
  t.equal((await unfinished()).length, 2);
  later(2 * HOUR);
  await store.sweep(signal);
  t.strictSame(await unfinished(), []);
});

t.test('a listing of more than a page', async (t) => {
  const { store, options } = await setup(t);
  const client = radosgw.client();
  const keys = Array.from({ length: 1_200 }, (_, i) => `${1 + (i % 3)}/${String(i).padStart(4, '0')}/x`).sort();
  for (let i = 0; i < keys.length; i += 20)
    await Promise.all(keys.slice(i, i + 20).map((key) => client.putObject(options.bucket, key, key)));
  const listed = async (prefix: string, after?: string): Promise<string[]> =>
    (await Array.fromAsync(store.list(prefix, after === undefined ? {} : { after }, signal))).map(({ key }) => key);
  t.strictSame(await listed(''), keys);
  for (const at of [0, 199, 200, 999, 1_000, 1_199]) t.strictSame(await listed('', keys[at]), keys.slice(at + 1));
  t.strictSame(await listed('2/'), keys.slice(400, 800));

  const stop = new AbortController();
  const seen: string[] = [];
  const broken = (async () => {
    for await (const { key } of store.list('', {}, stop.signal)) {
      if (seen.push(key) === 500) stop.abort(new Error('enough'));
    }
  })();
  await t.rejects(broken, new Error('enough'));
  t.strictSame(seen, keys.slice(0, 500));
  for await (const { key } of store.list('', {}, signal)) {
    t.equal(key, keys[0], 'a reader may stop early');
    break;
  }
});

t.test('keys that have to be encoded', async (t) => {
  const { store } = await setup(t);
  const keys = [
    '1/a/raw/ leading and trailing ',
    '1/a/raw/a+b=c&d?e#f%20%2F%zz',
    `1/a/raw/"'<>&amp;\\^\`{|}~!*()[]@:;,$`,
    '1/a/raw/grün/日本語/\u{1f600}.csv',
    '1/a/raw/tab\tand\u0001control\u007f',
    '1/a/raw/double  space   kept',
    `1/a/raw/${'x'.repeat(1_000)}`,
    '1/a/raw/..hidden..',
  ];
  for (const key of keys) {
    const put = await store.put(key, Buffer.from(key), {}, signal);
    t.strictSame(await store.head(key, signal), put, key);
    const opened = await store.get(key, undefined, signal);
    t.equal(await text(opened?.body ?? Readable.from([])), key);
  }
  const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const listed = async (after?: string): Promise<string[]> =>
    (await Array.fromAsync(store.list('1/a/raw/', after === undefined ? {} : { after }, signal))).map(({ key }) => key);
  t.strictSame(await listed(), sorted);
  for (const [i, key] of sorted.entries()) t.strictSame(await listed(key), sorted.slice(i + 1), key);
  for (const key of keys) t.equal((await Array.fromAsync(store.list(key, {}, signal))).length, 1, key);
  await store.remove(keys, signal);
  t.strictSame(await listed(), []);
});

t.test('keys that no store may have are refused before any request', async (t) => {
  const { store } = await setup(t);
  for (const key of ['', '/a', 'a/', 'a//b', 'a/../b', 'a\0b', '\ud800', 'x'.repeat(1025)]) {
    const refused = { kind: 'defect', message: /object key .* is not allowed/ };
    const source = Readable.from([Buffer.from('x')]);
    await t.rejects(store.put(key, source, {}, signal), refused, key);
    t.ok(source.destroyed);
    await t.rejects(store.get(key, undefined, signal), refused, key);
    await t.rejects(store.head(key, signal), refused, key);
    await t.rejects(store.remove([key], signal), refused, key);
  }
});

t.test('local files', async (t) => {
  const { store } = await setup(t);
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const file = join(dir, 'file');
  await writeFile(file, randomBytes(3 * MIB));
  await t.rejects(store.put('1/a/x', { file }, { size: 3 }, signal), {
    kind: 'rejected',
    message: /but 3 bytes were announced/,
  });
  await store.put('1/a/x', { file }, { size: 3 * MIB }, signal);
  const opened = await store.get('1/a/x', undefined, signal);
  t.equal(hashOf(await buffer(opened?.body ?? Readable.from([]))), hashOf(await readFile(file)));
  await symlink(file, join(dir, 'link'));
  await t.rejects(store.put('1/a/x', { file: join(dir, 'link') }, {}, signal), {
    kind: 'defect',
    message: /not a plain/,
  });
  const absent = { kind: 'transient', message: /putting 1\/a\/x: ENOENT/ };
  await t.rejects(store.put('1/a/x', { file: join(dir, 'none') }, {}, signal), absent);
  const early = createReadStream(file);
  await t.rejects(store.put('1/a/y', early, { size: MIB }, signal), { kind: 'rejected', message: /has more/ });
  t.ok(early.destroyed);
});

t.test('a body that is not read holds its connection, and a slow reader is no fault', async (t) => {
  const { options } = await setup(t);
  const times = { connectMs: 10_000, answerMs: 10_000, idleMs: 2_500, graceMs: 300 };
  const store = new S3Store(options, { log: silentLogger(), times });
  t.teardown(() => store[Symbol.dispose]());
  const bytes = randomBytes(20 * MIB);
  await store.put('1/a/x', bytes, {}, signal);
  const body = (await store.get('1/a/x', undefined, signal))?.body ?? Readable.from([]);
  const hash = createHash('sha256');
  let waited = false;
  for await (const chunk of body) {
    // Longer than the store may be silent: it is not the one that is waited for.
    if (!waited) await setTimeout(3_000);
    waited = true;
    hash.update(chunk);
  }
  t.equal(hash.digest('hex'), hashOf(bytes));
});

t.test('a reader without the other half, and requests in numbers on few connections', async (t) => {
  const { store, options } = await setup(t);
  const put = await store.put('1/a/x', Buffer.from('x'), {}, signal);
  const reader = openS3Reader(options);
  t.teardown(() => reader[Symbol.dispose]());
  t.strictSame(await reader.head('1/a/x', signal), put);
  t.strictSame(await Array.fromAsync(reader.list('', {}, signal)), [put]);
  const before = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  for (let i = 0; i < 50; i++) {
    const opened = await reader.get('1/a/x', undefined, signal);
    t.equal(await text(opened?.body ?? Readable.from([])), 'x');
    t.equal(await reader.head(`1/a/none-${i}`, signal), undefined);
  }
  const after = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  t.ok(after <= before + 1, 'connections are used again');
});
