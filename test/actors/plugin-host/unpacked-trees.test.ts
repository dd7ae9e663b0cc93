import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { UnpackedTrees } from '../../../actors/plugin-host/unpacked-trees.ts';
import { sweepWorkspaces } from '../../../actors/plugin-host/workspace.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;
const LIMITS = { maxTotalBytes: 2 ** 40, maxFileBytes: 2 ** 40, maxEntries: 1_000 };
const LARGE = Buffer.alloc(8 * 1024 ** 2, 'large');
const FILES = { 'large.txt': LARGE, 'deep/er/b.txt': Buffer.from('b') };

t.test('a folder comes to the call that would unpack the archive it was packed to', async (t) => {
  const { trees, archive, kept, target, left } = await world(t);
  await kept(archive);
  const taken = await trees.take(archive, target, LIMITS, never);
  t.same(taken?.files, entriesOf(FILES));
  t.same(await contentOf(target), FILES);
  t.equal((await stat(target)).mode & 0o7777, 0o755);
  t.equal((await stat(join(target, 'deep/er'))).mode & 0o7777, 0o755);
  t.equal((await stat(join(target, 'deep/er/b.txt'))).mode & 0o7777, 0o644);
  await taken?.[Symbol.asyncDispose]();
  t.notOk(await trees.take(archive, join(target, 'deep'), LIMITS, never), 'it is gone');
  t.same(await left(), []);
});

t.test('an archive that the store has moved into place is still known', async (t) => {
  const { trees, archive, kept, target } = await world(t);
  await kept(archive);
  await rename(archive, `${archive}-moved`);
  await utimes(`${archive}-moved`, 1, 1);
  t.ok(await trees.take(`${archive}-moved`, target, LIMITS, never));
});

t.test('another archive is unpacked: a copy on another file system, one in its place, one that is gone', async (t) => {
  const { trees, archive, kept, target } = await world(t);
  await kept(archive);
  await copyFile(archive, `${archive}-copy`);
  t.notOk(await trees.take(`${archive}-copy`, target, LIMITS, never));
  await rename(`${archive}-copy`, archive);
  t.notOk(await trees.take(archive, target, LIMITS, never));
  await rm(archive);
  t.notOk(await trees.take(archive, target, LIMITS, never));
  t.same(await readdir(target), []);
});

const TOUCHES: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  'written to': (folder) => writeFile(join(folder, 'large.txt'), 'L', { flag: 'r+' }),
  'written to, with its time set back': async (folder) => {
    const { atime, mtime } = await stat(join(folder, 'large.txt'));
    await writeFile(join(folder, 'large.txt'), 'L', { flag: 'r+' });
    await utimes(join(folder, 'large.txt'), atime, mtime);
  },
  replaced: async (folder) => {
    await copyFile(join(folder, 'large.txt'), join(folder, 'new'));
    await rename(join(folder, 'new'), join(folder, 'large.txt'));
  },
  'linked elsewhere': (folder) => link(join(folder, 'large.txt'), join(folder, '..', '..', 'elsewhere')),
  'given another mode': (folder) => chmod(join(folder, 'large.txt'), 0o600),
  'one fewer': (folder) => rm(join(folder, 'deep/er/b.txt')),
  'one more': (folder) => writeFile(join(folder, 'deep/c.txt'), ''),
  'a folder more': (folder) => mkdir(join(folder, 'empty')),
  'a folder of another mode': (folder) => chmod(join(folder, 'deep'), 0o700),
  'a link in its place': async (folder) => {
    await rename(join(folder, 'large.txt'), join(folder, '..', '..', 'elsewhere'));
    await symlink('../../elsewhere', join(folder, 'large.txt'));
  },
};
for (const [what, touch] of Object.entries(TOUCHES)) {
  t.test(`what has changed since it was packed is unpacked: ${what}`, async (t) => {
    const { trees, archive, folder, target, left } = await world(t);
    const tree = await trees.look(folder, entriesOf(FILES));
    if (!tree) throw new Error('the folder was refused');
    await touch(folder);
    await trees.keep(archive, tree);
    t.notOk(await trees.take(archive, target, LIMITS, never));
    t.same(await readdir(target), []);
    t.same(
      (await left()).filter((name) => name !== 'elsewhere'),
      [],
    );
  });

  t.test(`what a script has changed goes to no other call: ${what}`, async (t) => {
    const { trees, archive, kept, target, other, waits } = await world(t);
    await kept(archive);
    const first = await trees.take(archive, target, LIMITS, never);
    const second = trees.take(archive, other, LIMITS, never);
    await waits();
    await touch(target);
    await first?.[Symbol.asyncDispose]();
    t.notOk(await second);
    t.same(await readdir(other), []);
  });
}

const STRANGE: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  'a file that has another link': (folder) => link(join(folder, 'large.txt'), join(folder, '..', 'other-link')),
  'an empty folder': (folder) => mkdir(join(folder, 'empty')),
  'a link': (folder) => symlink('large.txt', join(folder, 'link')),
  'a file that was not packed': (folder) => writeFile(join(folder, '.DS_Store'), ''),
};
for (const [what, make] of Object.entries(STRANGE))
  t.test(`a folder with ${what} is not kept, and left alone`, async (t) => {
    const { trees, folder } = await world(t);
    await chmod(join(folder, 'large.txt'), 0o600);
    await make(folder);
    t.notOk(await trees.look(folder, entriesOf(FILES)));
    const { nlink, mode } = await lstat(join(folder, 'large.txt'));
    if (nlink > 1) t.equal(mode & 0o7777, 0o600, 'its mode belongs to others, too');
  });

t.test('small files are unpacked, and so are names that unpacking would change', async (t) => {
  const { trees, folder } = await world(t);
  const size = LARGE.length;
  for (const files of [
    [{ name: 'large.txt', size: size - 1 }],
    [{ name: 'vdi-meta.json', size }],
    [{ name: 'Gro\u0308ße', size }],
    [{ name: 'a\\b', size }],
    Array.from({ length: 1_001 }, (_, n) => ({ name: `${n}`, size })),
  ])
    t.notOk(await trees.look(folder, files));
});

t.test('a call waits for the folder of another one, about as long as unpacking would take', async (t) => {
  const { trees, archive, kept, target, other, clock, left, waits } = await world(t);
  await kept(archive);
  const first = await trees.take(archive, target, LIMITS, never);
  const second = trees.take(archive, other, LIMITS, never);
  await waits();
  await writeFile(join(target, 'vdi-meta.json'), '{}');
  await first?.[Symbol.asyncDispose]();
  const taken = await second;
  t.same(taken?.files, entriesOf(FILES));
  t.same(await contentOf(other), FILES, 'without the metadata of the first call');
  const third = trees.take(archive, target, LIMITS, never);
  await waits();
  await clock.advance((LARGE.length + 1) / 100_000);
  t.notOk(await third, 'the script of the second runs longer');
  const signal = AbortSignal.abort(new Error('enough'));
  await t.rejects(trees.take(archive, target, LIMITS, signal), { message: 'enough' });
  await taken?.[Symbol.asyncDispose]();
  t.equal(clock.pending, 0);
  t.same(await left(), []);
});

t.test('limits of the caller that the archive exceeds are left to the unpacking', async (t) => {
  const { trees, archive, kept, target } = await world(t);
  await kept(archive);
  for (const limit of [{ maxTotalBytes: LARGE.length }, { maxFileBytes: LARGE.length - 1 }, { maxEntries: 1 }])
    t.notOk(await trees.take(archive, target, { ...LIMITS, ...limit }, never));
  t.ok(await trees.take(archive, target, LIMITS, never));
});

t.test('nothing is kept for more than two minutes, nor more than four folders', async (t) => {
  const { trees, dir, folder, archive, kept, target, clock, left } = await world(t);
  await kept(archive);
  await clock.advance(120_000);
  t.notOk(await trees.take(archive, target, LIMITS, never));
  for (let n = 0; n < 5; n++) {
    await write(folder, FILES);
    await writeFile(join(dir, `${n}.zip`), `${n}`);
    await kept(join(dir, `${n}.zip`));
  }
  t.notOk(await trees.take(join(dir, '0.zip'), target, LIMITS, never), 'the oldest is gone');
  t.ok(await trees.take(join(dir, '1.zip'), target, LIMITS, never));
  await clock.advance(120_000);
  while ((await left()).length > 0);
  t.equal(clock.pending, 0);
});

t.test('files of the store are kept once they are removed there, not before', async (t) => {
  const { trees, dir, archive, target, other, left } = await world(t);
  const store = join(dir, 'store');
  await write(store, FILES, 0o640);
  const files = entriesOf(FILES).map((entry) => ({ ...entry, file: join(store, entry.name) }));
  const early = await trees.link(archive, files);
  await early?.keep();
  t.notOk(await trees.take(archive, target, LIMITS, never), 'the store has them still');
  t.equal((await stat(join(store, 'large.txt'))).mode & 0o777, 0o640);
  const dropped = await trees.link(archive, files);
  await dropped?.drop();
  t.same(await left(), []);
  const linked = await trees.link(archive, files);
  await rm(store, { recursive: true });
  await linked?.keep();
  t.ok(await trees.take(archive, other, LIMITS, never));
  t.same(await contentOf(other), FILES);
});

t.test('files of another file system are not kept', async (t) => {
  const { trees, dir, archive, left } = await world(t);
  const elsewhere = await mkdtemp('/dev/shm/longshore-test-');
  t.teardown(() => rm(elsewhere, { recursive: true }));
  t.not((await stat(elsewhere)).dev, (await stat(dir)).dev);
  await write(elsewhere, FILES);
  const files = entriesOf(FILES).map((entry) => ({ ...entry, file: join(elsewhere, entry.name) }));
  t.equal(await trees.link(archive, files), undefined);
  t.same(await left(), []);
  t.same(await contentOf(elsewhere), FILES);
});

t.test('a folder on another file system stays where it is, and its archive is unpacked', async (t) => {
  const { trees, archive, target, left } = await world(t);
  const elsewhere = await mkdtemp('/dev/shm/longshore-test-');
  t.teardown(() => rm(elsewhere, { recursive: true }));
  await write(elsewhere, FILES);
  const tree = await trees.look(elsewhere, entriesOf(FILES));
  if (!tree) throw new Error('the folder was refused');
  await trees.keep(archive, tree);
  t.notOk(await trees.take(archive, target, LIMITS, never));
  t.same(await contentOf(elsewhere), FILES);
  t.same(await left(), []);
});

t.test('the next start removes what a killed process has kept', async (t) => {
  const { archive, kept, dir, left } = await world(t);
  await kept(archive);
  t.equal((await left()).length, 1);
  await sweepWorkspaces(join(dir, 'work'), silentLogger());
  t.same(await left(), []);
});

async function world(t: Test) {
  const dir = t.testdir({ work: {}, 'archive.zip': 'packed' });
  const [work, folder] = [join(dir, 'work'), join(dir, 'work', 'call-1', 'output')];
  const [target, other] = [join(work, 'call-2', 'install'), join(work, 'call-3', 'install')];
  for (const empty of [target, other]) await mkdir(empty, { recursive: true });
  await write(folder, FILES);
  const clock = new VirtualClock();
  const trees = new UnpackedTrees(work, clock, silentLogger());
  return {
    ...{ dir, trees, clock, folder, target, other, archive: join(dir, 'archive.zip') },
    kept: async (archive: string) => {
      const tree = await trees.look(folder, entriesOf(FILES));
      if (!tree) throw new Error('the folder was refused');
      await trees.keep(archive, tree);
    },
    /** Until a call waits: its time limit is set beside that of the folder. */
    waits: async () => {
      while (clock.pending < 2) await clock.settle();
    },
    /** In the scratch space, beside the workspaces of three calls. */
    left: async () => (await readdir(work)).filter((name) => !/^call-\d$/.test(name)),
  };
}

async function write(folder: string, files: Readonly<Record<string, Buffer>>, mode = 0o600): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content, { mode });
  }
}

const entriesOf = (files: Readonly<Record<string, Buffer>>): readonly FileEntry[] =>
  Object.entries(files).map(([name, { length: size }]) => ({ name, size }));

async function contentOf(folder: string): Promise<Record<string, Buffer>> {
  const found: Record<string, Buffer> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (!entry.isDirectory()) {
      const path = join(entry.parentPath, entry.name);
      found[path.slice(folder.length + 1)] = await readFile(path);
    }
  return found;
}
