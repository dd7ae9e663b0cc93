// What every object store must do, whichever it is. Run over each adapter and over the fake.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import type { ObjectChange } from '../../engine/model/event.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';

export interface StoreUnderTest {
  /** Empty. */
  readonly store: ObjectStore;
  /** What the store has announced so far; absent when it cannot be seen. */
  readonly changes?: () => readonly ObjectChange[];
}

const signal = new AbortController().signal;

export function objectStoreConformance(name: string, open: (t: Test) => Promise<StoreUnderTest>): void {
  t.test(`${name} is an object store`, async (t) => {
    const fact = (what: string, check: (t: Test, world: StoreUnderTest) => Promise<void>): void => {
      t.test(what, async (t) => check(t, await open(t)));
    };

    fact('gives back what was put, from bytes, a stream and a file', async (t, { store }) => {
      const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
      t.teardown(() => rm(dir, { recursive: true }));
      await writeFile(join(dir, 'source'), 'from a file');
      await store.put('1/a/bytes', Buffer.from('from bytes'), {}, signal);
      await store.put('1/a/stream', Readable.from([Buffer.from('from '), Buffer.from('a stream')]), {}, signal);
      await store.put('1/a/file', { file: join(dir, 'source') }, {}, signal);
      await store.put('1/a/empty', new Uint8Array(), {}, signal);
      t.strictSame(await contents(store), {
        '1/a/bytes': 'from bytes',
        '1/a/empty': '',
        '1/a/file': 'from a file',
        '1/a/stream': 'from a stream',
      });
    });

    fact('gives back what was put from chunks that are its own', async (t, { store }) => {
      // More than a part, in pieces that are a memory each, between pieces that are not.
      const letters = Array.from({ length: 26 }, (_, n) => Buffer.alloc(400_000, 97 + n));
      const shared = Buffer.alloc(20, 'AB').subarray(3, 9);
      const wanted = Buffer.concat([...letters, shared]);
      const source = Readable.from([...letters, shared], { objectMode: false });
      const { size } = await store.put('1/a/own', source, { ownChunks: true }, signal);
      const opened = await store.get('1/a/own', undefined, signal);
      t.equal(size, wanted.length);
      t.ok(opened && (await buffer(opened.body)).equals(wanted));
      t.equal(shared.toString(), 'BABABA', 'what others may use is left alone');
    });

    fact('puts several objects in order, and tells of each what head tells', async (t, { store, changes }) => {
      const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
      t.teardown(() => rm(dir, { recursive: true }));
      await writeFile(join(dir, 'source'), 'from a file');
      await store.put('1/a/replaced', Buffer.from('old'), {}, signal);
      const objects = [
        { key: '1/a/z', source: Buffer.from('from bytes') },
        { key: '1/a/below/y', source: Readable.from([Buffer.from('a stream')]), options: { size: 8 } },
        { key: '1/a/replaced', source: { file: join(dir, 'source') } },
        { key: '1/a/empty', source: new Uint8Array(), options: { durable: false } },
      ] as const;
      const put = await store.putAll(objects, {}, signal);
      t.strictSame(
        put.map(({ key }) => key),
        ['1/a/z', '1/a/below/y', '1/a/replaced', '1/a/empty'],
      );
      for (const info of put) t.strictSame(await store.head(info.key, signal), info);
      t.strictSame(await contents(store), {
        '1/a/below/y': 'a stream',
        '1/a/empty': '',
        '1/a/replaced': 'from a file',
        '1/a/z': 'from bytes',
      });
      const created = ['1/a/replaced', '1/a/z', '1/a/below/y', '1/a/replaced', '1/a/empty'];
      if (changes)
        t.strictSame(
          changes(),
          created.map((key) => ({ kind: 'created', key })),
        );
      t.strictSame(await store.putAll([], {}, signal), []);
    });

    fact('stores none of several objects from the one on that fails, and ends their sources', async (t, world) => {
      const { store, changes } = world;
      await store.put('1/a/2', Buffer.from('old'), {}, signal);
      const streams = [Readable.from([Buffer.from('abc')]), Readable.from([Buffer.from('def')])] as const;
      const objects = [
        { key: '1/a/1', source: Buffer.from('first') },
        { key: '1/a/2', source: streams[0], options: { size: 2 } },
        { key: '1/a/3', source: streams[1] },
      ];
      await t.rejects(store.putAll(objects, {}, signal), { kind: 'rejected', message: /1\/a\/2/ });
      t.strictSame(
        streams.map((stream) => stream.destroyed),
        [true, true],
      );
      const { '1/a/1': first = 'first', ...others } = await contents(store);
      t.strictSame([first, others], ['first', { '1/a/2': 'old' }]);
      const stored = (await store.head('1/a/1', signal)) ? ['1/a/2', '1/a/1'] : ['1/a/2'];
      if (changes)
        t.strictSame(
          changes(),
          stored.map((key) => ({ kind: 'created', key })),
        );
    });

    fact('stores none of several objects when the same key is there twice, or the put is aborted', async (t, world) => {
      const { store } = world;
      const source = Readable.from([Buffer.from('x')]);
      const twice = [
        { key: '1/a/x', source: Buffer.from('x') },
        { key: '1/a/x', source },
      ];
      await t.rejects(store.putAll(twice, {}, signal), { kind: 'defect', message: /"1\/a\/x" is given twice/ });
      t.ok(source.destroyed);
      const once = [
        { key: '1/a/x', source: Buffer.from('x') },
        { key: '1/a/y', source: Buffer.from('y') },
      ];
      await t.rejects(store.putAll(once, {}, AbortSignal.abort(new Error('enough'))), new Error('enough'));
      t.strictSame(await contents(store), {});
    });

    fact('stores what is handed over, and what another put makes durable, like everything else', async (t, world) => {
      const { store } = world;
      await store.put('1/a/raw/x', Buffer.from('x'), { durable: false }, signal);
      const objects = [{ key: '1/a/y', source: Buffer.from('y'), options: { handedOver: true } }] as const;
      await store.putAll(objects, { alsoDurable: ['1/a/raw/x'] }, signal);
      await store.put('1/a/z', Buffer.from('z'), { handedOver: true }, signal);
      t.strictSame(await contents(store), { '1/a/raw/x': 'x', '1/a/y': 'y', '1/a/z': 'z' });
    });

    fact('removes what is handed over like everything else', async (t, { store }) => {
      for (const key of ['1/a/x', '1/a/y']) await store.put(key, Buffer.from('x'), {}, signal);
      await store.remove(['1/a/x', '1/a/absent'], signal, { handedOver: true });
      t.strictSame(await contents(store), { '1/a/y': 'x' });
    });

    fact('tells the same of an object by put, head, get and list', async (t, { store }) => {
      const put = await store.put('1/a/x', Buffer.from('hello'), {}, signal);
      t.match(put, { key: '1/a/x', size: 5, etag: /^[A-Za-z0-9-]+$/, modified: Date });
      t.strictSame(await store.head('1/a/x', signal), put);
      const opened = await store.get('1/a/x', undefined, signal);
      opened?.body.destroy();
      t.strictSame(opened?.info, put);
      t.strictSame(await Array.fromAsync(store.list('', {}, signal)), [put]);
    });

    fact('has another etag for other content, wherever and whenever it was put', async (t, { store }) => {
      const etags = new Set<string>();
      for (let i = 0; i < 8; i++) {
        const content = Buffer.from(`${i} of 8`);
        const source = i % 2 === 0 ? content : Readable.from([content]);
        etags.add((await store.put('1/a/x', source, {}, signal)).etag);
        if (i % 3 === 2) await store.remove(['1/a/x'], signal);
      }
      t.equal(etags.size, 8);
    });

    fact('tells the same of objects put one after the other, whatever the second', async (t, { store }) => {
      const put: ObjectInfo[] = [];
      // Longer than a second in all, so that some are put where one ends.
      for (const begun = Date.now(); Date.now() - begun < 1_500; ) {
        const source = Readable.from([Buffer.from(`${put.length}`)]);
        put.push(await store.put(`1/a/${String(put.length).padStart(8, '0')}`, source, {}, signal));
      }
      t.strictSame(await Array.fromAsync(store.list('', {}, signal)), put);
      t.strictSame(await paged(store, {}), put);
      const after = put[0]?.key ?? '';
      t.strictSame(await paged(store, { after }), put.slice(1));
    });

    fact('replaces an object while its old content is being read', async (t, { store }) => {
      await store.put('1/a/x', Buffer.alloc(300_000, 'o'), {}, signal);
      const old = await store.get('1/a/x', undefined, signal);
      await store.put('1/a/x', Buffer.from('new'), {}, signal);
      t.equal((await buffer(old?.body ?? Readable.from([]))).toString(), 'o'.repeat(300_000));
      t.strictSame(await contents(store), { '1/a/x': 'new' });
    });

    fact('reads ranges, both ends included', async (t, { store }) => {
      await store.put('1/a/x', Buffer.from('0123456789'), {}, signal);
      const read = async (range: { from: number; to?: number }): Promise<string> =>
        text((await store.get('1/a/x', range, signal))?.body ?? Readable.from(['absent']));
      t.equal(await read({ from: 0, to: 0 }), '0');
      t.equal(await read({ from: 3, to: 6 }), '3456');
      t.equal(await read({ from: 8 }), '89');
    });

    fact('has no object where none was put', async (t, { store }) => {
      await store.put('1/a/x', Buffer.from('x'), {}, signal);
      for (const key of ['1/a', '1/a/y', '1/a/x/z', '2/a/x']) {
        t.equal(await store.head(key, signal), undefined, key);
        t.equal(await store.get(key, undefined, signal), undefined, key);
      }
      t.strictSame(await keysOf(store, '2/'), []);
    });

    fact('stores nothing of a stream that is longer or shorter than announced', async (t, { store, changes }) => {
      for (const size of [2, 4]) {
        const source = Readable.from([Buffer.from('abc')]);
        await t.rejects(store.put('1/a/x', source, { size }, signal), { kind: 'rejected', message: /1\/a\/x/ });
        t.ok(source.destroyed);
      }
      await store.put('1/a/right', Readable.from([Buffer.from('abc')]), { size: 3 }, signal);
      t.strictSame(await contents(store), { '1/a/right': 'abc' });
      if (changes) t.strictSame(changes(), [{ kind: 'created', key: '1/a/right' }]);
    });

    t.test('stores nothing of a source that fails or closes early, and keeps what was there', async (t) => {
      const { store, changes } = await open(t);
      await store.put('1/a/x', Buffer.from('old'), {}, signal);
      const failing = Readable.from(
        (async function* () {
          yield Buffer.from('half');
          throw new Error('the sender broke off');
        })(),
      );
      await t.rejects(store.put('1/a/x', failing, {}, signal), new Error('the sender broke off'));
      const closing = new Readable({ read: () => {} });
      closing.push(Buffer.from('half'));
      const put = store.put('1/a/x', closing, {}, signal);
      setImmediate(() => closing.destroy());
      await t.rejects(put, { kind: 'transient', message: /1\/a\/x/ });
      t.strictSame(await contents(store), { '1/a/x': 'old' });
      if (changes) t.strictSame(changes(), [{ kind: 'created', key: '1/a/x' }]);
    });

    fact('stores nothing of a put that is aborted', async (t, { store, changes }) => {
      const stop = new AbortController();
      const endless = new Readable({ read: () => {} });
      endless.push(Buffer.from('half'));
      const put = store.put('1/a/x', endless, {}, stop.signal);
      setImmediate(() => stop.abort(new Error('enough')));
      await t.rejects(put, new Error('enough'));
      t.ok(endless.destroyed);
      await t.rejects(store.put('1/a/x', Buffer.from('x'), {}, stop.signal), new Error('enough'));
      t.strictSame(await contents(store), {});
      if (changes) t.strictSame(changes(), []);
    });

    fact('ends a body whose signal aborts, while it is read or before', async (t, { store }) => {
      await store.put('1/a/x', Buffer.alloc(3_000_000), {}, signal);
      const stop = new AbortController();
      const reading = await store.get('1/a/x', undefined, stop.signal);
      const unread = await store.get('1/a/x', undefined, stop.signal);
      const read = buffer(reading?.body ?? Readable.from([]));
      const closed = new Promise((resolve) => unread?.body.once('close', resolve));
      stop.abort(new Error('enough'));
      await t.rejects(read);
      await closed;
      await t.rejects(buffer(unread?.body ?? Readable.from([])));
    });

    fact('lists in byte order of keys', async (t, { store }) => {
      // Between `-` and `0` stands the slash; UTF-16 would put the last two the other way round.
      const keys = [
        'a!/x',
        'a-',
        'a-b/c',
        'a/b',
        'a/b-/c',
        'a/b/c'.replace('b', 'bb'),
        'a0',
        'aä',
        'a\uffee',
        'a\u{1f600}',
      ];
      for (const key of keys.toReversed()) await store.put(key, Buffer.from(key), {}, signal);
      t.strictSame(await keysOf(store, ''), keys);
      for (const after of keys)
        t.strictSame(await keysOf(store, '', after), keys.slice(keys.indexOf(after) + 1), after);
      t.strictSame(await keysOf(store, '', 'a/'), keys.slice(3));
      t.strictSame(await keysOf(store, '', 'a/b'), keys.slice(4));
      t.strictSame(await keysOf(store, '', 'a/b0'), ['a/bb/c', ...keys.slice(6)]);
    });

    fact('lists what is below a prefix, which may end inside a name', async (t, { store }) => {
      const keys = ['1/ab/x', '1/abc/raw/y', '1/abc/x', '1/b/x', '10/abc/x'];
      for (const key of keys) await store.put(key, Buffer.from(''), {}, signal);
      t.strictSame(await keysOf(store, '1/'), keys.slice(0, 4));
      t.strictSame(await keysOf(store, '1'), keys);
      t.strictSame(await keysOf(store, '1/ab'), keys.slice(0, 3));
      t.strictSame(await keysOf(store, '1/abc/'), keys.slice(1, 3));
      t.strictSame(await keysOf(store, '1/abc/x'), ['1/abc/x']);
      t.strictSame(await keysOf(store, '1/abc/', '1/abc/raw/y'), ['1/abc/x']);
      t.strictSame(await keysOf(store, '1/abc/x/'), []);
      t.strictSame(await keysOf(store, '../'), []);
    });

    fact('removes objects, absent ones too, in the order given', async (t, { store, changes }) => {
      for (const key of ['1/a/x', '1/a/raw/y', '1/b/z']) await store.put(key, Buffer.from(key), {}, signal);
      await store.remove(['1/a/raw/y', '1/a/none', '1/a/x', '9/9/9'], signal);
      await store.remove([], signal);
      t.strictSame(await contents(store), { '1/b/z': '1/b/z' });
      if (!changes) return;
      t.strictSame(changes().slice(3), [
        { kind: 'removed', key: '1/a/raw/y' },
        { kind: 'removed', key: '1/a/x' },
      ]);
    });

    fact('ignores, in a removal, keys below an object and keys of a folder', async (t, { store }) => {
      await store.put('1/a/x', Buffer.from('x'), {}, signal);
      const absent = ['1/a', '1/a/x/y'];
      await store.remove(absent, signal);
      await store.discard(absent, signal);
      t.strictSame(await contents(store), { '1/a/x': 'x' });
    });

    fact('discards objects, absent ones too', async (t, { store }) => {
      for (const key of ['1/a/x', '1/a/raw/y', '1/b/z']) await store.put(key, Buffer.from(key), {}, signal);
      await store.discard(['1/a/raw/y', '1/a/none', '1/a/x', '9/9/9'], signal);
      await store.discard([], signal);
      t.strictSame(await contents(store), { '1/b/z': '1/b/z' });
      await t.rejects(store.discard(['1/b/z'], AbortSignal.abort(new Error('enough'))), new Error('enough'));
      t.strictSame(await contents(store), { '1/b/z': '1/b/z' });
    });

    fact('puts into a folder that is being emptied', async (t, { store }) => {
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          await store.put(`1/a/raw/${i}`, Buffer.from('x'), {}, signal);
          if (i % 2 === 0) await store.remove([`1/a/raw/${i}`], signal);
        }),
      );
      const odd = Array.from({ length: 10 }, (_, i) => `1/a/raw/${i * 2 + 1}`);
      t.strictSame(await keysOf(store, ''), odd.sort());
    });

    fact('answers a probe', async (t, { store }) => {
      await t.resolves(store.probe(signal));
    });
  });
}

async function keysOf(store: ObjectStore, prefix: string, after?: string): Promise<string[]> {
  const infos = await Array.fromAsync(store.list(prefix, after === undefined ? {} : { after }, signal));
  return infos.map((info) => info.key);
}

async function contents(store: ObjectStore): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { key } of store.list('', {}, signal)) {
    const opened = await store.get(key, undefined, signal);
    found[key] = opened ? await text(opened.body) : 'absent';
  }
  return found;
}

/** Of pages of which each is read before the next is asked for. */
async function paged(store: ObjectStore, options: { readonly after?: string }): Promise<readonly ObjectInfo[]> {
  const objects: ObjectInfo[] = [];
  for await (const page of store.pages('', options, signal)) objects.push(...page);
  return objects;
}
