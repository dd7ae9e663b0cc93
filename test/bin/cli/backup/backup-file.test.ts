import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, open, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { BackupEntry } from '../../../../bin/cli/backup/backup-entry.ts';
import { readBackup } from '../../../../bin/cli/backup/backup-reader.ts';
import { BackupWriter, MANIFEST } from '../../../../bin/cli/backup/backup-writer.ts';
import { walk } from '../../../../bin/cli/backup/folder-walk.ts';

const signal = new AbortController().signal;
const LONG = `${'long-'.repeat(60)}name`.slice(0, 200);
const CONTENTS: Readonly<Record<string, string>> = {
  'a.txt': 'a',
  'folder/empty': '',
  [`folder/${LONG}`]: 'x'.repeat(600_000),
  'folder/ünï çödé\nline': 'names are text',
};

async function setup(t: Test) {
  const root = await mkdtemp(join(tmpdir(), 'longshore-backup-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, 'data');
  await mkdir(join(folder, 'folder'), { recursive: true });
  await mkdir(join(folder, 'bare'), { mode: 0o700 });
  for (const [path, content] of Object.entries(CONTENTS)) await writeFile(join(folder, path), content);
  await chmod(join(folder, 'a.txt'), 0o741);
  await utimes(join(folder, 'a.txt'), 1, 1_700_000_000.123_456_7);
  await symlink('../a.txt', join(folder, 'folder/link'));
  return { root, folder };
}

async function pack(folder: string, file: string): Promise<void> {
  await using writer = await BackupWriter.open(file, signal);
  for await (const { path, source } of walk(folder, () => false)) await writer.addPath(path, source);
  await writer.addContent('made', 'content', 1_000);
  await writer.finish(2_000);
}

async function read(file: string): Promise<ReadonlyMap<string, BackupEntry & { readonly content: string }>> {
  const found = new Map<string, BackupEntry & { readonly content: string }>();
  let chunks: Buffer[] = [];
  const keep = (entry: BackupEntry): unknown =>
    found.set(entry.path, { ...entry, content: Buffer.concat(chunks).toString() });
  const sink = {
    async begin(entry: BackupEntry) {
      chunks = [];
      if (entry.type !== 'file') keep(entry);
    },
    async write(chunk: Uint8Array) {
      chunks.push(Buffer.from(chunk));
    },
    async end(entry: BackupEntry) {
      keep(entry);
    },
  };
  const done = await readBackup(file, sink, signal);
  t.equal(done.files, [...found.values()].filter(({ type }) => type === 'file').length);
  return found;
}

for (const name of ['backup.tar', 'backup.tar.gz'])
  t.test(`${name} brings everything back: content, permissions, owner, times to the microsecond, links`, async (t) => {
    const { root, folder } = await setup(t);
    const file = join(root, name);
    await pack(folder, file);
    t.equal((await stat(file)).mode & 0o777, 0o600, 'it has secrets');
    const found = await read(file);
    for (const [path, content] of Object.entries(CONTENTS)) t.match(found.get(path), { type: 'file', content }, path);
    const { uid, gid, mtimeNs } = await stat(join(folder, 'a.txt'), { bigint: true });
    t.match(found.get('a.txt'), {
      mode: 0o741,
      uid: Number(uid),
      gid: Number(gid),
      modifiedMicros: Number(mtimeNs / 1_000n),
    });
    t.match(found.get('folder/link'), { type: 'link', link: '../a.txt' });
    t.match(found.get('bare'), { type: 'folder', mode: 0o700 });
    t.match(found.get('made'), { content: 'content', mode: 0o600, modifiedMicros: 1_000_000 });
    await t.rejects(BackupWriter.open(file, signal), { kind: 'rejected', message: /exists already/ });
  });

t.test('a backup is found damaged wherever a byte of it is changed, or it ends', async (t) => {
  const { root, folder } = await setup(t);
  await rm(join(folder, 'folder', LONG));
  for (const name of ['backup.tar', 'backup.tar.gz']) {
    const file = join(root, name);
    await pack(folder, file);
    const bytes = await readFile(file);
    const broken = join(root, 'broken');
    const whole = JSON.stringify([...(await read(file))]);
    const step = Math.max(1, Math.trunc(bytes.length / 400));
    for (let at = 0; at < bytes.length; at += step) {
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ 0x41;
      await writeFile(broken, other);
      // Padding and comments of the formats mean nothing: what is read must be the same then.
      const outcome = await read(broken).catch((error: unknown) => error);
      if (outcome instanceof Map) t.equal(JSON.stringify([...outcome]), whole, `${name}, byte ${at}`);
      else t.match(outcome, { kind: 'rejected' }, `${name}, byte ${at}`);
      await writeFile(broken, bytes.subarray(0, at));
      const short = await read(broken).catch((error: unknown) => error);
      // The zeros that end a tar may be missing.
      if (short instanceof Map) t.equal(JSON.stringify([...short]), whole, `${name}, cut off at ${at}`);
      else t.match(short, { kind: 'rejected' }, `${name}, cut off at ${at}`);
    }
  }
});

t.test('no entry leads out of the directory', async (t) => {
  const { root } = await setup(t);
  for (const path of ['../out', '/out', 'a/../../out', 'a//b', '.']) {
    const file = join(root, 'out.tar');
    await using writer = await BackupWriter.open(file, signal);
    await writer.addContent(path, 'x', 1);
    await writer.finish(1);
    await t.rejects(read(file), { kind: 'rejected', message: /not a backup/ }, path);
    await rm(file);
  }
});

t.test('a file that changes while it is read has the size that it had', async (t) => {
  const { root, folder } = await setup(t);
  const file = join(root, 'backup.tar');
  const source = join(folder, 'a.txt');
  await writeFile(source, 'x'.repeat(1_000_000));
  await using writer = await BackupWriter.open(file, signal);
  const adding = writer.addPath('a.txt', source);
  await using handle = await open(source, 'r+');
  await handle.truncate(10);
  await adding;
  t.equal(await writer.addPath('gone', join(folder, 'gone')), false);
  await writer.finish(1);
  const { size = -1, content = '' } = (await read(file)).get('a.txt') ?? {};
  t.equal(content.length, size);
});

t.test('a backup that is not finished leaves nothing, and neither does one that cannot be written', async (t) => {
  const { root, folder } = await setup(t);
  const file = join(root, 'backup.tar');
  {
    await using writer = await BackupWriter.open(file, signal);
    await writer.addPath('a.txt', join(folder, 'a.txt'));
  }
  for (const left of [file, `${file}.partial`, `${file}.manifest`]) await t.rejects(stat(left), { code: 'ENOENT' });
  const nowhere = join(root, 'nowhere', 'backup.tar');
  await t.rejects(BackupWriter.open(nowhere, signal), { kind: 'transient', message: /cannot be written: ENOENT/ });
});

t.test('the manifest lists each entry with its digest', async (t) => {
  const { root, folder } = await setup(t);
  const file = join(root, 'backup.tar');
  await pack(folder, file);
  const text = (await readFile(file)).toString('latin1');
  const sha256 = createHash('sha256').update('a').digest('hex');
  t.ok(text.includes(MANIFEST));
  t.ok(text.includes(`{"path":"a.txt","type":"file","size":1,"sha256":"${sha256}","mode":"741"}\n`));
});
