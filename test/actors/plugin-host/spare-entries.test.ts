import { chmod, link, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SpareEntries } from '../../../actors/plugin-host/spare-entries.ts';
import { Workspace } from '../../../actors/plugin-host/workspace.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

interface Call {
  readonly workspace: Workspace;
  readonly install: string;
  readonly metadata: string;
}

t.test('a call gets what an earlier one has used, with nothing of it', async (t) => {
  const { call, inodes } = await setup(t);
  const first = await call('of the first');
  await writeFile(join(first.install, 'data.txt'), 'private');
  await writeFile(first.workspace.path('left.txt'), 'private');
  const used = await inodes(first);
  await first.workspace[Symbol.asyncDispose]();

  const second = await call('2nd');
  t.same(await inodes(second), used);
  t.not(second.workspace.dir, first.workspace.dir, 'a path of its own');
  t.same(await readdir(second.workspace.dir, { recursive: true }), ['install', 'install/vdi-meta.json']);
  t.equal(await readFile(second.metadata, 'utf8'), '2nd');
});

t.test('files that are written at the same time all serve again', async (t) => {
  const { call, spare } = await setup(t);
  const { workspace, install } = await call('x');
  await Promise.all(['a', 'b'].map((name) => workspace.data(join(install, name), Buffer.from(name))));
  await workspace[Symbol.asyncDispose]();
  t.equal((await readdir(spare)).length, 5);
});

t.test('between calls nothing of their content is on the disk', async (t) => {
  const { call, spare } = await setup(t);
  const { workspace, install } = await call('private');
  await writeFile(join(install, 'data.txt'), 'private');
  await workspace[Symbol.asyncDispose]();
  const left = await readdir(spare, { withFileTypes: true, recursive: true });
  t.equal(left.length, 3);
  for (const entry of left.filter((one) => one.isFile()))
    t.equal(await readFile(join(spare, entry.name), 'utf8'), 'p', 'one byte');
});

t.test('a folder can be given back before the call ends', async (t) => {
  const { call, spare } = await setup(t);
  const { workspace } = await call('x');
  await workspace.remove('install');
  t.same(await readdir(workspace.dir), []);
  t.equal((await readdir(spare)).length, 2);
  await workspace[Symbol.asyncDispose]();
  t.equal((await readdir(spare)).length, 3);
});

const CHANGES: Readonly<Record<string, (call: Call, dir: string) => Promise<unknown>>> = {
  'other permissions of the folder': ({ install }) => chmod(install, 0o777),
  'other permissions of the file': ({ metadata }) => chmod(metadata, 0o666),
  'another link to the file': ({ metadata }, dir) => link(metadata, join(dir, 'mine')),
  'a link in place of the file': async ({ metadata }, dir) => {
    await writeFile(join(dir, 'mine'), 'private');
    await rm(metadata);
    await symlink(join(dir, 'mine'), metadata);
  },
  'a folder that was moved away': ({ install }, dir) => rename(install, join(dir, 'mine')),
  'a folder that nobody may write': ({ workspace }) => chmod(workspace.dir, 0o500),
};
for (const [what, change] of Object.entries(CHANGES))
  t.test(`${what}: the next call gets a new one, and nothing is left`, async (t) => {
    const { call, dir, work } = await setup(t);
    const fresh = await modesOf(await call('x'));
    const spoilt = await call('private');
    await change(spoilt, dir);
    await spoilt.workspace[Symbol.asyncDispose]();
    t.equal((await readdir(work)).length, 1, 'that of the first call');
    const mine = await readFile(join(dir, 'mine'), 'utf8').catch(() => 'private');
    t.equal(mine, 'private');
    const next = await call('y');
    t.same(await modesOf(next), fresh);
    t.equal(await readFile(next.metadata, 'utf8'), 'y');
  });

t.test('what a script keeps is left alone if a link leads to it', async (t) => {
  const { call, dir, work } = await setup(t);
  for (const folder of ['dir', 'install'] as const) {
    const { workspace, install } = await call('private');
    const path = folder === 'dir' ? workspace.dir : install;
    await rename(path, join(dir, folder));
    await symlink(join(dir, folder), path);
    await workspace[Symbol.asyncDispose]();
    t.same(await readdir(work), []);
  }
  t.equal(await readFile(join(dir, 'install', 'vdi-meta.json'), 'utf8'), 'private');
  t.equal(await readFile(join(dir, 'dir', 'install', 'vdi-meta.json'), 'utf8'), 'private');
});

t.test('nothing is used again of a call whose script did not end as it should', async (t) => {
  const { call, work, spare } = await setup(t);
  const { workspace } = await call('x');
  workspace.spoil();
  await workspace[Symbol.asyncDispose]();
  t.same(await readdir(work), []);
  t.same(await readdir(spare), []);
});

t.test('a mark that is removed serves again, and has a time of its own', async (t) => {
  const { spares, dir, clock, spare } = await setup(t);
  const [mark, other] = [join(dir, 'mark'), join(dir, 'other')];
  await spares.mark(mark);
  const { ino } = await stat(mark);
  await spares.unmark(mark);
  await spares.unmark(mark);
  t.equal((await readdir(spare)).length, 1);
  await t.rejects(stat(mark), { code: 'ENOENT' });
  await clock.advance(86_400_000);
  await spares.mark(other);
  const made = await stat(other);
  t.same({ ino: made.ino, mtimeMs: made.mtimeMs }, { ino, mtimeMs: clock.now() });
  await t.rejects(spares.mark(join(dir, 'none', 'mark')), { code: 'ENOENT' });
});

t.test('marks on another file system are made and removed there', async (t) => {
  const { spares, dir, spare } = await setup(t);
  await spares.mark(join(dir, 'mark'));
  await spares.unmark(join(dir, 'mark'));
  const elsewhere = await mkdtemp('/dev/shm/longshore-test-');
  t.teardown(() => rm(elsewhere, { recursive: true }));
  const mark = join(elsewhere, 'mark');
  await spares.mark(mark);
  t.same(await readdir(elsewhere), ['mark']);
  await spares.unmark(mark);
  t.same(await readdir(elsewhere), []);
  t.equal((await readdir(spare)).length, 1, 'the spare one is still there');
});

t.test('a mark is removed even if it cannot be moved away', async (t) => {
  const { spares, dir, spare } = await setup(t);
  const mark = join(dir, 'mark');
  await spares.mark(mark);
  await rm(spare, { recursive: true });
  await spares.unmark(mark);
  await t.rejects(stat(mark), { code: 'ENOENT' });
});

t.test('when something has cleaned up, new ones are made', async (t) => {
  const { call, spare, work } = await setup(t);
  for (const gone of [spare, work]) {
    await (await call('x')).workspace[Symbol.asyncDispose]();
    await rm(gone, { recursive: true });
    const { workspace, metadata } = await call('y');
    t.equal(await readFile(metadata, 'utf8'), 'y');
    await workspace[Symbol.asyncDispose]();
    t.same(await readdir(work), []);
    await (await call('z')).workspace[Symbol.asyncDispose]();
    t.equal((await readdir(spare)).length, 3);
  }
});

t.test('at most 32 of a kind are kept, and none over a restart', async (t) => {
  const { call, spare, spares } = await setup(t);
  const calls = await Promise.all(Array.from({ length: 34 }, () => call('x')));
  for (const { workspace } of calls) await workspace[Symbol.asyncDispose]();
  t.equal((await readdir(spare)).length, 3 * 32);
  await spares.open();
  t.same(await readdir(spare), []);
});

async function setup(t: Test) {
  const dir = t.testdir({ work: {} });
  const [work, spare] = [join(dir, 'work'), join(dir, 'spare')];
  const clock = new VirtualClock();
  const spares = new SpareEntries(work, spare, clock);
  await spares.open();
  return {
    ...{ dir, work, spare, clock, spares },
    call: async (text: string): Promise<Call> => {
      const workspace = await Workspace.make(spares, silentLogger());
      const install = await workspace.folder('install');
      return { workspace, install, metadata: await workspace.metadata(install, text) };
    },
    inodes: (call: Call) => ofEach(call, async (path) => (await stat(path)).ino),
  };
}

const modesOf = (call: Call) => ofEach(call, async (path) => (await stat(path)).mode);

const ofEach = <T>({ workspace, install, metadata }: Call, of: (path: string) => Promise<T>) =>
  Promise.all([workspace.dir, install, metadata].map(of));
