import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { type DirectoryStore, openDirectoryStore } from '../../../../engine/adapters/directory/directory-store.ts';
import { openDirectoryReader } from '../../../../engine/adapters/directory/directory-store-reader.ts';
import { walkObjects } from '../../../../engine/adapters/directory/directory-store-walk.ts';
import { EARLY_SYNC_BYTES } from '../../../../engine/runtime/early-sync.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { objectStoreConformance } from '../../../conformance/object-store.ts';
import { FakeChangeJournal } from '../../../fakes/fake-change-journal.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';

const signal = new AbortController().signal;
/** The user of that name on Debian. */
const NOBODY = 65534;
const TOO_LONG = { kind: 'rejected', message: /7 bytes, but 3 bytes were announced/ };
const AWAY = { kind: 'transient', message: 'database away' };
/** Of the conformance suite. */
const journals: FakeChangeJournal[] = [];

objectStoreConformance('the directory', async (t) => {
  const { store, journal } = await setup(t);
  journals.push(journal);
  return { store, changes: () => journal.delivered };
});

t.test('whatever was put, refused or aborted, nothing stays pending in the journal', async (t) => {
  t.strictSame(
    journals.flatMap((journal) => journal.pending),
    [],
  );
});

objectStoreConformance('the fake', async () => {
  const store = new FakeObjectStore();
  return { store, changes: () => store.changes };
});

t.test('the file of an object is never changed, only replaced', async (t) => {
  const { store } = await setup(t);
  await store.put('1/a/x', Buffer.from('first'), {}, signal);
  const file = store.localFile('1/a/x');
  t.equal(await readFile(file, 'utf8'), 'first');
  await using reader = await open(file, 'r');
  await store.put('1/a/x', Buffer.from('second'), {}, signal);
  t.equal(await reader.readFile('utf8'), 'first', 'who has opened it reads on');
  t.equal(await readFile(file, 'utf8'), 'second');
  await store.remove(['1/a/x'], signal);
  await t.rejects(readFile(file), { code: 'ENOENT' });
  t.throws(() => store.localFile('../x'), { kind: 'defect', message: /"\.\.\/x"/ });
});

/** One of them replaces the object of `crashed`. */
const THREE = [
  { key: '1/a/first', source: Buffer.from('first') },
  { key: '1/a/x', source: Buffer.from('newer') },
  { key: '1/a/z', source: Buffer.from('third') },
] as const;
const STEPS = ['note', 'noted', 'release', 'released'] as const;

/** The store with an object, in which `change` came as far as the step when the process crashed; whether it happened. */
async function crashed(t: Test, at: (typeof STEPS)[number], change: (store: DirectoryStore) => Promise<unknown>) {
  const { store, journal, reopen } = await setup(t);
  await store.put('1/a/x', Buffer.from('old'), {}, signal);
  journal.delivered.length = 0;
  await haltedAt(journal, at, () => change(store));
  const found = await (await reopen()).head('1/a/x', signal);
  t.strictSame(journal.pending, []);
  return { size: found?.size, delivered: journal.delivered, happened: at === 'release' || at === 'released' };
}

t.test('a crash at any step of a put', async (t) => {
  for (const at of STEPS)
    t.test(`at '${at}' announces the new object if and only if it is there`, async (t) => {
      const put = (store: DirectoryStore) => store.put('1/a/x', Buffer.from('newer'), {}, signal);
      const { size, delivered, happened } = await crashed(t, at, put);
      t.strictSame([size, delivered], happened ? [5, [{ kind: 'created', key: '1/a/x' }]] : [3, []]);
    });
});

t.test('a crash at any step of a put of several', async (t) => {
  for (const at of STEPS)
    t.test(`at '${at}' announces the new objects if and only if they are there`, async (t) => {
      const { size, delivered, happened } = await crashed(t, at, (store) => store.putAll(THREE, {}, signal));
      const created = THREE.map(({ key }) => ({ kind: 'created', key }));
      t.strictSame([size, delivered], happened ? [5, created] : [3, []]);
    });
});

t.test('a crash between the objects of a put announces those that are there', async (t) => {
  const { store, journal, path, reopen } = await setup(t);
  await haltedAt(journal, 'noted', () => store.putAll(THREE, {}, signal));
  await mkdir(join(path, 'objects/1/a'), { recursive: true });
  for (const name of await readdir(join(path, 'staging'))) {
    const file = join(path, 'staging', name);
    if ((await readFile(file, 'utf8')) === 'first') await rename(file, join(path, 'objects/1/a/first'));
  }
  const opened = await reopen();
  t.strictSame(journal.delivered, [{ kind: 'created', key: '1/a/first' }]);
  t.strictSame([journal.pending, await keysOf(opened)], [[], ['1/a/first']]);
});

t.test('an object that cannot be moved in leaves those before it, which are announced once settled', async (t) => {
  const { store, journal, path } = await setup(t);
  await store.put('1/a/x/below', Buffer.from('x'), {}, signal);
  journal.delivered.length = 0;
  const file = join(path, 'scratch-file');
  await writeFile(file, 'last');
  const last = { key: '1/a/last', source: { file } };
  await t.rejects(store.putAll([...THREE, last], {}, signal), {
    kind: 'defect',
    message: /putting 1\/a\/first, 1\/a\/x/,
  });
  t.strictSame(await keysOf(store), ['1/a/first', '1/a/x/below']);
  t.strictSame([await readdir(join(path, 'staging')), await readFile(file, 'utf8')], [[], 'last']);
  t.strictSame(journal.delivered, []);
  await store.settleOrphans(signal);
  t.strictSame([journal.delivered, journal.pending], [[{ kind: 'created', key: '1/a/first' }], []]);
});

t.test('several objects cost the journal one note and one release', async (t) => {
  const { store, journal } = await setup(t);
  const steps: string[] = [];
  journal.onStep = (step, done) => void (done || steps.push(step));
  await store.putAll(THREE, {}, signal);
  t.strictSame(steps, ['note', 'release']);
});

t.test('the journal hears nothing of what is handed over, where that is honored', async (t) => {
  const [one, two] = [await setup(t, { honorsHandOver: true }), await setup(t)];
  const created = (key: string) => ({ kind: 'created', key });
  for (const { store, journal } of [one, two]) {
    await store.put('1/a/w', Buffer.from('w'), { handedOver: true }, signal);
    const [first, ...others] = THREE;
    await store.putAll([{ ...first, options: { handedOver: true } }, ...others], {}, signal);
    t.strictSame(await keysOf(store), ['1/a/first', '1/a/w', '1/a/x', '1/a/z']);
    t.strictSame(journal.pending, []);
  }
  t.strictSame(one.journal.delivered, ['1/a/x', '1/a/z'].map(created));
  t.strictSame(two.journal.delivered, ['1/a/w', '1/a/first', '1/a/x', '1/a/z'].map(created));
});

t.test('the journal hears nothing of a removal that is handed over, where that is honored', async (t) => {
  const [one, two] = [await setup(t, { honorsHandOver: true }), await setup(t)];
  for (const { store, journal, path } of [one, two]) {
    await store.putAll(THREE, {}, signal);
    journal.delivered.splice(0);
    await store.remove(['1/a/x', '1/a/first', '1/a/z'], signal, { handedOver: true });
    t.strictSame(await readdir(join(path, 'objects')), []);
    t.strictSame(journal.pending, []);
  }
  t.strictSame(one.journal.delivered, []);
  t.strictSame(
    two.journal.delivered,
    ['1/a/x', '1/a/first', '1/a/z'].map((key) => ({ kind: 'removed', key })),
  );
});

t.test('the journal hears nothing of what is discarded', async (t) => {
  const { store, journal, path } = await setup(t);
  await store.putAll(THREE, {}, signal);
  journal.onStep = (step) => void t.fail(step);
  await store.discard(['1/a/x', '1/a/first', '1/a/z'], signal);
  t.strictSame(await readdir(join(path, 'objects')), []);
});

t.test('a crash at any step of a removal', async (t) => {
  for (const at of STEPS)
    t.test(`at '${at}' announces the removal if and only if it happened`, async (t) => {
      const { size, delivered, happened } = await crashed(t, at, (store) => store.remove(['1/a/x'], signal));
      t.strictSame([size, delivered], happened ? [undefined, [{ kind: 'removed', key: '1/a/x' }]] : [3, []]);
    });
});

t.test('a crash between two removals announces the one that happened', async (t) => {
  const { store, journal, path, reopen } = await setup(t);
  for (const key of ['1/a/x', '1/a/y']) await store.put(key, Buffer.from(key), {}, signal);
  journal.delivered.length = 0;
  await haltedAt(journal, 'noted', () => store.remove(['1/a/x', '1/a/y'], signal));
  await rm(join(path, 'objects/1/a/x'));
  await reopen();
  t.strictSame(journal.delivered, [{ kind: 'removed', key: '1/a/x' }]);
});

t.test('a put that was overtaken before it was settled is not announced twice', async (t) => {
  const { store, journal, reopen } = await setup(t);
  await haltedAt(journal, 'release', () => store.put('1/a/x', Buffer.from('first'), {}, signal));
  journal.onStep = () => {};
  await store.put('1/a/x', Buffer.from('second'), {}, signal);
  await reopen();
  t.strictSame(journal.delivered, [{ kind: 'created', key: '1/a/x' }]);
});

t.test('more orphans than one call gives are all settled', async (t) => {
  const { journal, reopen } = await setup(t);
  const change = { kind: 'removed', key: '1/a/none' } as const;
  await journal.note(
    Array.from({ length: 2500 }, () => ({ change, etag: undefined })),
    signal,
  );
  await reopen();
  t.equal(journal.delivered.length, 2500);
});

t.test('a journal that is away', async (t) => {
  t.test('when noting: nothing is stored', async (t) => {
    const { store, journal, path } = await setup(t);
    journal.onStep = away('note');
    await t.rejects(store.put('1/a/x', Buffer.from('x'), {}, signal), AWAY);
    t.equal(await store.head('1/a/x', signal), undefined);
    t.strictSame(await readdir(join(path, 'staging')), []);
  });

  t.test('when releasing: the put fails, and the change is announced once the journal is back', async (t) => {
    const { store, journal } = await setup(t);
    journal.onStep = away('release');
    await t.rejects(store.put('1/a/x', Buffer.from('x'), {}, signal), AWAY);
    t.equal((await store.head('1/a/x', signal))?.size, 1);
    await t.rejects(store.settleOrphans(signal), AWAY);
    journal.onStep = () => {};
    await store.settleOrphans(signal);
    t.strictSame(journal.delivered, [{ kind: 'created', key: '1/a/x' }]);
    t.strictSame(journal.pending, []);
  });

  t.test('when dropping: the reason for dropping is what the caller sees', async (t) => {
    const { store, journal } = await setup(t);
    const stop = new AbortController();
    journal.onStep = (step, done) => {
      if (step === 'note' && done) stop.abort(new Error('enough'));
      away('drop')(step);
    };
    await t.rejects(store.put('1/a/x', Buffer.from('x'), {}, stop.signal), new Error('enough'));
    journal.onStep = () => {};
    await store.settleOrphans(signal);
    t.strictSame([journal.delivered, journal.pending], [[], []]);
  });
});

t.test('opening removes what a killed process was writing, and nothing else', async (t) => {
  const { store, path, reopen } = await setup(t);
  const child = spawnWriter(path);
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout ?? child, 'data');
  const open = new Readable({ read: () => {} });
  const put = store.put('1/a/live', open, {}, signal);
  open.push(Buffer.from('live'));
  t.equal((await readdir(join(path, 'staging'))).length, 2);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await reopen();
  t.equal((await readdir(join(path, 'staging'))).length, 1);
  open.push(null);
  t.equal((await put).size, 4);
});

t.test('staged files of other machines are removed when a day old', async (t) => {
  const { path, reopen } = await setup(t);
  const now = systemClock.now() / 1000;
  await writeFile(join(path, 'staging', 'ffffffffffff.1.1.young'), '');
  await writeFile(join(path, 'staging', 'ffffffffffff.1.1.old'), '');
  await utimes(join(path, 'staging', 'ffffffffffff.1.1.young'), now, now - 23 * 3600);
  await utimes(join(path, 'staging', 'ffffffffffff.1.1.old'), now, now - 25 * 3600);
  await reopen();
  t.strictSame(await readdir(join(path, 'staging')), ['ffffffffffff.1.1.young']);
});

t.test('every put has an etag of its own, by which settling knows it', async (t) => {
  const { store } = await setup(t);
  const etags = new Set<string>();
  for (let i = 0; i < 8; i++) {
    etags.add((await store.put('1/a/x', Buffer.from('same'), {}, signal)).etag);
    if (i % 3 === 2) await store.remove(['1/a/x'], signal);
  }
  t.equal(etags.size, 8);
});

t.test('a copy that keeps the time of a file keeps the etag of the object', async (t) => {
  const { store, path } = await setup(t);
  const put = await store.put('1/a/x', Buffer.from('same'), {}, signal);
  const file = store.localFile('1/a/x');
  const { mtimeNs } = await stat(file, { bigint: true });
  await rename(file, join(path, 'old'));
  await writeFile(file, 'same');
  // In the middle of the microsecond, as a restored backup has it: a number of seconds has no room for nanoseconds.
  const seconds = Number(mtimeNs / 1_000n) / 1e6 + 5e-7;
  await utimes(file, seconds, seconds);
  t.strictSame(await store.head('1/a/x', signal), put);
  // A file system without microseconds cannot tell two puts by their times.
  const whole = Math.trunc(seconds);
  await utimes(file, whole, whole);
  await utimes(join(path, 'old'), whole, whole);
  const copied = await store.head('1/a/x', signal);
  await rename(join(path, 'old'), file);
  t.not((await store.head('1/a/x', signal))?.etag, copied?.etag);
});

t.test('a local file is moved in, and comes back when the put fails', async (t) => {
  const { store, journal, path } = await setup(t);
  const file = join(path, 'scratch-file');
  await writeFile(file, 'content');
  const { ino } = await stat(file);
  await t.rejects(store.put('1/a/x', { file }, { size: 3 }, signal), TOO_LONG);
  journal.onStep = away('note');
  await t.rejects(store.put('1/a/x', { file }, {}, signal), AWAY);
  journal.onStep = () => {};
  await store.put('1/a/x', { file }, { size: 7 }, signal);
  t.equal((await stat(join(path, 'objects/1/a/x'))).ino, ino);
  await t.rejects(stat(file), { code: 'ENOENT' });
  await symlink(join(path, 'objects/1/a/x'), file);
  await t.rejects(store.put('1/a/y', { file }, {}, signal), { kind: 'defect', message: /not a plain file/ });
});

t.test('a local file of another file system is copied, and stays where it was', async (t) => {
  const elsewhere = await otherFileSystem(t);
  if (elsewhere === undefined) return t.comment('skipped: /dev/shm is not a separate file system');
  const { store, path } = await setup(t);
  const file = join(elsewhere, 'scratch-file');
  await writeFile(file, 'content');
  await t.rejects(store.put('1/a/x', { file }, { size: 3 }, signal), TOO_LONG);
  t.strictSame(await readdir(join(path, 'staging')), []);
  await store.put('1/a/x', { file }, { size: 7 }, signal);
  t.equal(await readFile(join(path, 'objects/1/a/x'), 'utf8'), 'content');
  t.equal(await readFile(file, 'utf8'), 'content');
});

t.test('a stream is stored whole, in chunks of any size', async (t) => {
  const { store, path } = await setup(t);
  const content = randomBytes(5 * 1024 ** 2 + 7);
  for (const bytes of [1_000, 64 * 1024, 1024 ** 2, 3_000_001]) {
    await store.put('1/a/x', Readable.from(chunksOf(content, bytes)), {}, signal);
    t.ok((await readFile(join(path, 'objects/1/a/x'))).equals(content), `chunks of ${bytes} bytes`);
  }
});

t.test('a write that fails fails the put, whichever it is, and nothing is left', async (t) => {
  const { store, path } = await setup(t);
  const content = randomBytes(4 * 1024 ** 2 + 1);
  for (let failing = 1; failing <= 5; failing++) {
    let writes = 0;
    const undo = await patchHandles('write', (write) =>
      ++writes === failing ? Promise.reject(Object.assign(new Error('EIO'), { syscall: 'write' })) : write(),
    );
    await t.rejects(store.put('1/a/x', Readable.from(chunksOf(content, 100_000)), {}, signal), {
      kind: 'transient',
      message: /EIO/,
    });
    undo();
    t.strictSame(await readdir(join(path, 'staging')), []);
    t.equal(await store.head('1/a/x', signal), undefined);
  }
});

t.test('a large stream is synced while it comes; if that fails, so does the put', async (t) => {
  const { store, path } = await setup(t);
  const block = Buffer.alloc(1024 ** 2);
  const large = (): Readable => Readable.from(Array(2 * (EARLY_SYNC_BYTES / block.length)).fill(block));
  let syncs = 0;
  let fails = false;
  const undo = await patchHandles('datasync', (sync) => {
    syncs++;
    return fails ? Promise.reject(Object.assign(new Error('EIO'), { syscall: 'fdatasync' })) : sync();
  });
  await store.put('1/a/x', large(), {}, signal);
  t.ok(syncs >= 1, 'at least once, if the disk is slow');
  fails = true;
  await t.rejects(store.put('1/a/y', large(), {}, signal), { kind: 'transient', message: /EIO/ });
  undo();
  t.strictSame(await readdir(join(path, 'staging')), []);
});

t.test('a put syncs the object, its folder, and the ancestors that may be new', async (t) => {
  const { store, path } = await setup(t);
  const synced = await syncedPaths(t, path);
  await store.put('1/a/raw/x', Buffer.from('x'), {}, signal);
  t.strictSame(synced(), ['a file', '1/a/raw', '1/a', '1', '']);
  await store.put('1/a/raw/y', Buffer.from('y'), {}, signal);
  t.strictSame(synced(), ['a file', '1/a/raw']);
  await store.put('1/b/x', Buffer.from('x'), {}, signal);
  t.strictSame(synced(), ['a file', '1/b', '1']);
});

t.test('a folder that another process removed and created again is synced like a new one', async (t) => {
  const { store, path, reopen } = await setup(t);
  const synced = await syncedPaths(t, path);
  await store.put('1/a/x', Buffer.from('x'), {}, signal);
  await (await reopen()).remove(['1/a/x'], signal);
  await mkdir(join(path, 'objects/1/a'), { recursive: true });
  synced();
  await store.put('1/a/x', Buffer.from('x'), {}, signal);
  t.strictSame(synced(), ['a file', '1/a', '1', '']);
});

t.test('several objects sync each folder once', async (t) => {
  const { store, path } = await setup(t);
  const synced = await syncedPaths(t, path);
  await store.putAll([{ key: '1/a/raw/x', source: Buffer.from('x') }, ...THREE], {}, signal);
  t.strictSame(synced(), [...Array(4).fill('a file'), '1/a/raw', '1/a', '1', '']);
  await store.putAll(THREE, {}, signal);
  t.strictSame(synced(), [...Array(3).fill('a file'), '1/a']);
});

t.test('the folder of an object that need not be durable is synced by the put that makes it durable', async (t) => {
  const { store, path } = await setup(t);
  const synced = await syncedPaths(t, path);
  for (const name of ['x', 'y']) await store.put(`1/a/raw/${name}`, Buffer.from('x'), { durable: false }, signal);
  t.strictSame(synced(), ['a file', 'a file']);
  await store.putAll(THREE, { alsoDurable: ['1/a/raw/x', '1/a/raw/y'] }, signal);
  t.strictSame(synced(), [...Array(3).fill('a file'), '1/a/raw', '1/a', '1', '']);
});

t.test('a removal syncs each folder that remains once, and a discard none', async (t) => {
  const { store, path } = await setup(t);
  const keys = ['1/a/raw/x', '1/a/raw/y', '1/a/z', '1/a/zz'];
  for (const key of keys) await store.put(key, Buffer.from('x'), {}, signal);
  const synced = await syncedPaths(t, path);
  await store.remove(['1/a/raw/x', '1/a/raw/y', '1/a/zz', '1/b/none'], signal);
  t.strictSame(synced(), ['1/a']);
  await store.discard(['1/a/z'], signal);
  t.strictSame(synced(), []);
  t.strictSame(await readdir(join(path, 'objects')), []);
});

t.test('the folders of a store that is created are synced', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(base, { recursive: true }));
  const path = join(base, 'some/store');
  const synced = await syncedPaths(t, path);
  const options = { path, journal: new FakeChangeJournal(), clock: systemClock, log: silentLogger() };
  await openDirectoryStore(options, signal);
  t.strictSame(synced(), ['..', '../..', '../../..']);
  await openDirectoryStore(options, signal);
  t.strictSame(synced(), []);
});

t.test('folders go with their last object', async (t) => {
  const { store, path } = await setup(t);
  for (const key of ['1/a/raw/x', '1/a/y']) await store.put(key, Buffer.from('x'), {}, signal);
  await store.remove(['1/a/raw/x'], signal);
  t.strictSame(await readdir(join(path, 'objects/1/a')), ['y']);
  await store.remove(['1/a/y'], signal);
  t.strictSame(await readdir(join(path, 'objects')), []);
});

t.test('keys that could leave the store are refused', async (t) => {
  const { store } = await setup(t);
  const keys = ['', '/a', 'a/', 'a//b', '.', 'a/./b', '../a', 'a/../b', 'a\0b', '\ud800', 'x'.repeat(1025)];
  for (const key of keys) {
    const refused = { kind: 'defect', message: /object key .* is not allowed/ };
    const source = Readable.from([Buffer.from('x')]);
    await t.rejects(store.put(key, source, {}, signal), refused, key);
    t.ok(source.destroyed);
    await t.rejects(store.get(key, undefined, signal), refused, key);
    await t.rejects(store.head(key, signal), refused, key);
    await t.rejects(store.remove([key], signal), refused, key);
  }
  await store.put('a\\..\\b', Buffer.from('x'), {}, signal);
  t.strictSame(await keysOf(store), ['a\\..\\b']);
});

t.test('a key below another object is a defect that names it', async (t) => {
  const { store, path } = await setup(t);
  await store.put('1/a', Buffer.from('x'), {}, signal);
  await t.rejects(store.put('1/a/b', Buffer.from('x'), {}, signal), { kind: 'defect', message: /putting 1\/a\/b/ });
  await store.put('1/c/d', Buffer.from('x'), {}, signal);
  await t.rejects(store.put('1/c', Buffer.from('x'), {}, signal), { kind: 'defect', message: /putting 1\/c/ });
  t.strictSame(await readdir(join(path, 'staging')), []);
});

t.test('links and special files in the store are no objects', async (t) => {
  const { store, path } = await setup(t);
  await store.put('1/a/x', Buffer.from('x'), {}, signal);
  await symlink(join(path, 'objects/1'), join(path, 'objects/2'));
  t.strictSame(await keysOf(store), ['1/a/x']);
});

t.test('a reader without a journal reads the same store, even before it exists', async (t) => {
  const { store, path } = await setup(t);
  const reader = openDirectoryReader(path);
  const put = await store.put('1/a/x', Buffer.from('x'), {}, signal);
  t.strictSame(await reader.head('1/a/x', signal), put);
  t.strictSame(await Array.fromAsync(reader.list('', {}, signal)), [put]);
  const early = openDirectoryReader(join(path, 'nowhere'));
  t.equal(await early.get('1/a/x', undefined, signal), undefined);
  await t.rejects(Array.fromAsync(early.list('', {}, signal)), { kind: 'transient', message: /nowhere/ });
});

t.test('the journal hears only of changes that are announced, and the others are made all the same', async (t) => {
  const { store, journal, reopen } = await setup(t, { announces: ({ key }) => !key.includes('/raw/') });
  for (const key of ['1/a/raw/x', '1/a/raw/y', '1/a/z']) await store.put(key, Buffer.from(key), {}, signal);
  t.strictSame(journal.delivered, [{ kind: 'created', key: '1/a/z' }]);
  await store.remove(['1/a/raw/x', '1/a/z'], signal);
  t.strictSame(journal.delivered.slice(1), [{ kind: 'removed', key: '1/a/z' }]);
  t.strictSame(await keysOf(store), ['1/a/raw/y']);

  await reopen();
  t.strictSame([journal.pending, journal.delivered.length], [[], 2]);
});

t.test('an object in a directory is read directly as its stream has it', async (t) => {
  const { store } = await setup(t);
  for (const size of [0, 1, 10_000, 200_000]) {
    const content = Buffer.from(Array.from({ length: size }, (_, n) => n % 251));
    await store.put('1/a/x', content, {}, signal);
    for (const range of [undefined, { from: Math.min(3, size) }, { from: 0, to: Math.max(size - 2, 0) }]) {
      const about = `${size}: ${JSON.stringify(range)}`;
      const streamed = await store.get('1/a/x', range, signal);
      const expected = Buffer.concat(await Array.fromAsync(streamed?.body ?? []));
      const opened = await store.get('1/a/x', range, signal);
      const { bytes = -1, fill } = opened?.direct ?? {};
      t.equal(bytes, expected.length, about);
      const target = Buffer.alloc(bytes);
      const half = bytes >> 1;
      await Promise.all([fill?.(target.subarray(half), half), fill?.(target.subarray(0, half), 0)]);
      t.ok(target.equals(expected), about);
      opened?.body.destroy();
      await once(opened?.body as Readable, 'close');
      await t.rejects(fill?.(Buffer.alloc(1), 0) as Promise<void>, { kind: 'transient', message: /1\/a\/x/ });
    }
  }
});

t.test('an object in a directory that ends before its size is read no further', async (t) => {
  const { store, path } = await setup(t);
  await store.put('1/a/x', Buffer.alloc(100), {}, signal);
  const opened = await store.get('1/a/x', undefined, signal);
  await truncate(join(path, 'objects', '1/a/x'), 60);
  await t.rejects(opened?.direct?.fill(Buffer.alloc(100), 0) as Promise<void>, {
    kind: 'transient',
    message: 'reading 1/a/x: it ended at byte 60',
  });
  opened?.body.destroy();
});

t.test('a directory that is away, or no directory, is no empty store', async (t) => {
  const { store, path } = await setup(t);
  await store.put('1/a/x', Buffer.from('x'), {}, signal);
  const objects = join(path, 'objects');
  await rename(objects, join(path, 'aside'));
  const listing = () => Array.fromAsync(store.list('', {}, signal));
  await t.rejects(listing(), { kind: 'transient', message: /objects/ });
  await writeFile(objects, '');
  await t.rejects(listing(), { kind: 'transient', message: /objects is not a directory/ });
  await t.rejects(store.probe(signal), { kind: 'transient', message: /objects is not a directory/ });
  await rm(objects);
  await rename(join(path, 'aside'), objects);
  t.match(await listing(), [{ key: '1/a/x' }]);
});

t.test('a probe names the directory that is gone', async (t) => {
  const { store, path } = await setup(t);
  await rm(path, { recursive: true });
  await t.rejects(store.probe(signal), { kind: 'transient', message: new RegExp(path) });
  await mkdir(path);
});

t.test('a store that may not be written fails transient and says where', async (t) => {
  const { store, path } = await setup(t);
  await chmod(join(path, 'objects'), 0o500);
  // Root may write everywhere: for the time of the test it is nobody.
  if (process.getuid?.() === 0) {
    process.seteuid?.(NOBODY);
    t.teardown(() => process.seteuid?.(0));
  }
  await t.rejects(store.put('1/a/x', Buffer.from('x'), {}, signal), { kind: 'transient', message: /putting 1\/a\/x/ });
});

t.test('a put into a folder that cannot be synced fails, and is announced once settled', async (t) => {
  const { store, journal, path } = await setup(t);
  const folder = join(path, 'objects/1/a');
  await mkdir(folder, { recursive: true });
  // Files can be made in it, but it cannot be opened.
  await chmod(folder, 0o333);
  for (const open of [path, join(path, 'staging')]) await chmod(open, 0o777);
  // Root may read every folder: for the time of the put it is nobody.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  const put = await store.put('1/a/x', Buffer.from('x'), {}, signal).catch((error: unknown) => error);
  if (isRoot) process.seteuid?.(0);
  await chmod(folder, 0o777);
  t.match(put, { kind: 'transient', message: /putting 1\/a\/x: EACCES/ });
  t.strictSame(journal.delivered, []);
  await store.settleOrphans(signal);
  t.strictSame(journal.delivered, [{ kind: 'created', key: '1/a/x' }]);
  t.strictSame(journal.pending, []);
});

t.test('a folder with more names than the window is listed whole, in order', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const keys: string[] = [];
  for (let i = 0; i < 300; i++) {
    const name = (i * 7919).toString(36);
    if (i % 3 === 0) {
      await mkdir(join(dir, name));
      await writeFile(join(dir, name, 'f'), '');
      keys.push(`${name}/f`);
    } else {
      await writeFile(join(dir, name), '');
      keys.push(name);
    }
  }
  keys.sort();
  for (const window of [1, 7, 299, 300, 1000]) {
    const found = await Array.fromAsync(walkObjects(dir, { prefix: '', batch: 5, window, smallBytes: 0 }, signal));
    t.strictSame(found.flat(), keys, `window of ${window}`);
    t.ok(found.every((batch) => batch.length <= 5));
  }
  const read = await Array.fromAsync(walkObjects(dir, { prefix: '', batch: 5 }, signal));
  t.strictSame(read.flat(), keys, 'as a small folder');
  const after = keys[100] ?? '';
  const rest = await Array.fromAsync(
    walkObjects(dir, { prefix: '', after, batch: 5, window: 10, smallBytes: 0 }, signal),
  );
  t.strictSame(rest.flat(), keys.slice(101));
});

/** An empty folder to which nothing can be renamed from where stores are; undefined when this machine has none. */
async function otherFileSystem(t: Test): Promise<string | undefined> {
  const shared = await stat('/dev/shm').catch(() => undefined);
  if (!shared?.isDirectory() || shared.dev === (await stat(tmpdir())).dev) return undefined;
  const path = await mkdtemp('/dev/shm/longshore-test-');
  t.teardown(() => rm(path, { recursive: true }));
  return path;
}

function* chunksOf(content: Buffer, bytes: number): Generator<Buffer> {
  for (let at = 0; at < content.length; at += bytes) yield content.subarray(at, at + bytes);
}

/** Calls `act` in place of a method of every open file, until the returned function is called. */
async function patchHandles(
  method: 'write' | 'datasync',
  act: (original: () => Promise<unknown>) => Promise<unknown>,
): Promise<() => void> {
  const handle = await open(tmpdir());
  const handles = Object.getPrototypeOf(handle) as Record<typeof method, (...args: unknown[]) => Promise<unknown>>;
  await handle.close();
  const original = handles[method];
  handles[method] = function (...args) {
    return act(() => original.apply(this, args));
  };
  return () => {
    handles[method] = original;
  };
}

/** What was synced since the last call, relative to the objects. */
async function syncedPaths(t: Test, path: string): Promise<() => readonly string[]> {
  let paths: string[] = [];
  const handle = await open(tmpdir());
  const handles = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const { sync } = handles;
  t.teardown(() => {
    handles.sync = sync;
  });
  handles.sync = async function (this: typeof handle) {
    const at = await readlink(`/proc/self/fd/${this.fd}`);
    paths.push(at.startsWith(join(path, 'staging')) ? 'a file' : relative(join(path, 'objects'), at));
    return sync.call(this);
  };
  return () => {
    const synced = paths;
    paths = [];
    return synced;
  };
}

interface Setup {
  readonly store: DirectoryStore;
  readonly journal: FakeChangeJournal;
  readonly path: string;
  /** Opens the store as the next process would: what is pending belongs to a dead one. */
  readonly reopen: () => Promise<DirectoryStore>;
}

type Options = Partial<Pick<Parameters<typeof openDirectoryStore>[0], 'announces' | 'honorsHandOver'>>;

async function setup(t: Test, options: Options = {}): Promise<Setup> {
  const path = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  const journal = new FakeChangeJournal();
  const open = (): Promise<DirectoryStore> =>
    openDirectoryStore({ path, journal, ...options, clock: systemClock, log: silentLogger() }, signal);
  const store = await open();
  const reopen = (): Promise<DirectoryStore> => {
    journal.crash();
    return open();
  };
  return { store, journal, path, reopen };
}

/** Starts the change and returns when it has stopped for ever at the step. */
async function haltedAt(
  journal: FakeChangeJournal,
  at: 'note' | 'noted' | 'release' | 'released',
  change: () => Promise<unknown>,
): Promise<void> {
  const reached = Promise.withResolvers<void>();
  journal.onStep = (step, done) => {
    if (at !== (step === 'note' ? (done ? 'noted' : 'note') : done ? 'released' : 'release')) return;
    reached.resolve();
    return new Promise(() => {});
  };
  change().then(
    () => reached.reject(new Error(`went past '${at}'`)),
    (error: unknown) => reached.reject(error),
  );
  await reached.promise;
}

const keysOf = async (store: DirectoryStore): Promise<string[]> =>
  Array.fromAsync(store.list('', {}, signal), ({ key }) => key);

function away(broken: string): (step: string) => void {
  return (step) => {
    if (step === broken) throw transient('database away');
  };
}

/** A process that says so when it is in the middle of a put. */
function spawnWriter(path: string): ChildProcess {
  const root = join(import.meta.dirname, '..', '..', '..', '..');
  const script = `
    const { openDirectoryStore } = await import(${JSON.stringify(join(root, 'engine/adapters/directory/directory-store.ts'))});
    const { FakeChangeJournal } = await import(${JSON.stringify(join(root, 'test/fakes/fake-change-journal.ts'))});
    const { silentLogger } = await import(${JSON.stringify(join(root, 'engine/runtime/log.ts'))});
    const { systemClock } = await import(${JSON.stringify(join(root, 'engine/runtime/time.ts'))});
    const { Readable } = await import('node:stream');
    const signal = new AbortController().signal;
    const options = { path: ${JSON.stringify(path)}, journal: new FakeChangeJournal(), clock: systemClock, log: silentLogger() };
    const store = await openDirectoryStore(options, signal);
    async function* halfAnObject() {
      yield Buffer.from('half');
      process.stdout.write('writing');
      await new Promise(() => setInterval(() => {}, 60_000));
    }
    await store.put('1/a/dead', Readable.from(halfAnObject()), {}, signal);`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}
