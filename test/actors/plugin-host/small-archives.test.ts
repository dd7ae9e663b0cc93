import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SmallArchives } from '../../../actors/plugin-host/small-archives.ts';
import { SpareEntries } from '../../../actors/plugin-host/spare-entries.ts';
import { Workspace } from '../../../actors/plugin-host/workspace.ts';
import { archivesHere } from '../../../actors/tasks/archives.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { zipOf } from '../../fixtures/archives.ts';

const never = new AbortController().signal;
const LIMITS = { maxTotalBytes: 2 ** 30, maxFileBytes: 2 ** 30, maxEntries: 1_000 };
const FILES = { 'a.txt': 'alpha', 'Größe.txt': '', 'b.bin': Buffer.from([0, 255, 1]) };

t.test('calls for several targets share one unpacking, and get files of their own', async (t) => {
  const { unpack, store, counted } = await setup(t);
  await store(FILES);
  const calls = await Promise.all([unpack(FILES), unpack(FILES), unpack(FILES)]);
  t.equal(counted.orders, 1);
  for (const { dir, files } of calls) {
    t.same(files, calls[0]?.files);
    t.same(await contentOf(dir), await contentOf(calls[0]?.dir ?? ''));
    t.equal((await readdir(dir)).length, 3);
    for (const name of await readdir(dir)) {
      const { mode, nlink } = await stat(join(dir, name));
      t.same({ mode: mode & 0o777, nlink }, { mode: 0o644, nlink: 1 });
    }
  }
  t.equal((await contentOf(calls[2]?.dir ?? '')).get('a.txt')?.toString(), 'alpha');
});

t.test('what a script writes into its files is in none of the others, nor in files that are used again', async (t) => {
  const { unpack, counted } = await setup(t);
  await unpack(FILES);
  const second = await unpack(FILES);
  for (const name of await readdir(second.dir)) await writeFile(join(second.dir, name), 'changed by a script');
  await second.workspace[Symbol.asyncDispose]();
  const third = await unpack(FILES);
  t.equal(counted.orders, 1);
  const content = await contentOf(third.dir);
  t.same(
    Object.fromEntries([...content].map(([name, bytes]) => [name, bytes.toString('hex')])),
    Object.fromEntries(Object.entries(FILES).map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')])),
  );
});

t.test('an archive that was replaced is unpacked', async (t) => {
  const { unpack, counted } = await setup(t);
  await unpack(FILES);
  const other = await unpack({ 'a.txt': 'other' });
  t.equal(counted.orders, 2);
  t.equal((await contentOf(other.dir)).get('a.txt')?.toString(), 'other');
});

t.test('the contents share no memory with other files that were read', async (t) => {
  const dir = t.testdir({ to: {} });
  const file = join(dir, 'archive.zip');
  await writeFile(file, await zipOf(FILES));
  const contents = { bytes: 1_000, files: 3 };
  const unpacked = await archivesHere.unpack(
    { file, kind: 'zip', dir: join(dir, 'to'), limits: LIMITS, contents },
    never,
  );
  t.same(
    unpacked.contents?.map(({ buffer }) => buffer.byteLength),
    unpacked.files.map(({ size }) => size),
  );
});

for (const [what, files] of Object.entries({
  'large files': { 'a.txt': 'a'.repeat(64 * 1024), 'b.txt': 'b' },
  'many files': Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}`, 'x'])),
  folders: { 'a/b.txt': 'x' },
}))
  t.test(`${what} are unpacked for each call`, async (t) => {
    const { unpack, counted } = await setup(t);
    const first = await unpack(files);
    const second = await unpack(files);
    t.equal(counted.orders, 2);
    t.same(second.files, first.files);
  });

t.test('when the call that unpacks fails or is ended, others unpack themselves', async (t) => {
  const { unpack, store, counted } = await setup(t);
  await store(FILES);
  counted.fault = new Error('the disk of the first is full');
  const calls = await Promise.allSettled([unpack(FILES), unpack(FILES)]);
  t.match(
    calls.sort((a, b) => (a.status < b.status ? -1 : 1)),
    [{ status: 'fulfilled' }, { status: 'rejected', reason: { message: 'the disk of the first is full' } }],
  );
  await store(FILES);
  const { orders } = counted;
  await t.rejects(unpack(FILES, AbortSignal.abort(new Error('enough'))), { message: 'enough' });
  await unpack(FILES);
  await unpack(FILES);
  t.equal(counted.orders, orders + 2, 'the last two shared one');
});

async function setup(t: Test) {
  const dir = t.testdir({ work: {} });
  const spares = new SpareEntries(join(dir, 'work'), join(dir, 'spare'), systemClock);
  await spares.open();
  const counted = { orders: 0, fault: undefined as Error | undefined };
  const small = new SmallArchives({
    ...archivesHere,
    unpack: (order, signal) => {
      counted.orders++;
      const { fault } = counted;
      counted.fault = undefined;
      return fault ? Promise.reject(fault) : archivesHere.unpack(order, signal);
    },
  });
  let stored: unknown;
  const archive = join(dir, 'archive.zip');
  type Content = Readonly<Record<string, string | Buffer>>;
  const store = async (files: Content): Promise<void> => {
    stored = files;
    await writeFile(`${archive}.new`, await zipOf(files));
    await rename(`${archive}.new`, archive);
  };
  return {
    ...{ counted, store },
    unpack: async (files: Content, signal = never) => {
      if (stored !== files) await store(files);
      const workspace = await Workspace.make(spares, silentLogger());
      const into = await workspace.folder('install');
      const unpacked = await small.unpack(archive, { workspace, dir: into, limits: LIMITS }, signal);
      return { workspace, dir: into, files: unpacked.files };
    },
  };
}

async function contentOf(dir: string): Promise<ReadonlyMap<string, Buffer>> {
  const names = (await readdir(dir)).sort();
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name))] as const)));
}
