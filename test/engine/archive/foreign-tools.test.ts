// Archives of random trees, written by us and read by the usual programs, and the other way round.

import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { openPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import type { ArchiveSource } from '../../../engine/archive/archive-entry.ts';
import { readTarGz } from '../../../engine/archive/tar-reader.ts';
import { writeTarGz } from '../../../engine/archive/tar-writer.ts';
import { unpackTo } from '../../../engine/archive/unpack.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import { WHOLE_BYTES, writeZip } from '../../../engine/archive/zip-writer.ts';

const signal = new AbortController().signal;
const run = promisify(execFile);
const UNZIP = '/usr/bin/unzip';
const ZIP = '/usr/bin/zip';

type Tree = Readonly<Record<string, Buffer>>;

/** Unicode names, folders, empty files, files larger than what is held whole, bytes that do and that do not shrink. */
const trees: fc.Arbitrary<Tree> = fc
  .uniqueArray(
    fc.record({
      path: fc.array(fc.stringMatching(/^[a-zäß☃ -]{1,30}x$/), { minLength: 1, maxLength: 9 }),
      size: fc.oneof(fc.nat(3_000), fc.nat(100_000), fc.integer({ min: WHOLE_BYTES - 1, max: WHOLE_BYTES * 3 })),
      shrinks: fc.boolean(),
      seed: fc.nat(),
    }),
    { minLength: 1, maxLength: 6, selector: ({ path: [first] }) => first },
  )
  .map((files) => Object.fromEntries(files.map((file) => [file.path.join('/'), contentOf(file)])));

t.test('a zip is read by yauzl', (t) => isRead(t, async (zip, tree) => t.ok(same(await readByYauzl(zip), tree))));
t.test('a zip is whole to unzip', { skip: existsSync(UNZIP) ? false : 'unzip is missing' }, (t) =>
  isRead(t, (zip) => run(UNZIP, ['-tqq', zip])),
);

async function isRead(t: Test, read: (zip: string, tree: Tree) => Promise<unknown>): Promise<void> {
  const dir = t.testdir();
  const zip = join(dir, 'a.zip');
  await fc.assert(
    fc.asyncProperty(trees, fc.constantFrom(0, 1, 6), fc.boolean(), fc.boolean(), async (tree, level, zip64, local) => {
      await writeZip(zip, await sources(dir, tree, local), { level, forceZip64: zip64 }, signal);
      await read(zip, tree);
    }),
    { numRuns: 8 },
  );
}

t.test('a tar.gz is read by tar', async (t) => {
  const dir = t.testdir();
  const tarGz = join(dir, 'a.tgz');
  await fc.assert(
    fc.asyncProperty(trees, fc.constantFrom(1, 6), fc.boolean(), async (tree, level, local) => {
      await writeTarGz(tarGz, await sources(dir, tree, local), { level }, signal);
      const out = join(dir, 'out');
      await mkdir(out);
      await run('tar', ['-xzf', tarGz, '-C', out]);
      t.ok(same(await readTree(out), tree));
      await rm(out, { recursive: true });
    }),
    { numRuns: 8 },
  );
});

t.test('what yazl and GNU tar pack is unpacked as it was', (t) => unpacksAll(t, packedByYazlAndTar));
t.test('what zip packs is unpacked as it was', { skip: existsSync(ZIP) ? false : 'zip is missing' }, (t) =>
  unpacksAll(t, packedByZip),
);

type Pack = (dir: string, from: string, tree: Tree) => Promise<readonly string[]>;

async function unpacksAll(t: Test, pack: Pack): Promise<void> {
  const dir = t.testdir();
  await fc.assert(
    fc.asyncProperty(trees, async (tree) => {
      const from = join(dir, 'from');
      for (const [path, content] of Object.entries(tree)) {
        await mkdir(join(from, path, '..'), { recursive: true });
        await writeFile(join(from, path), content);
      }
      const archives = await pack(dir, from, tree);
      for (const archive of archives) {
        const out = join(dir, 'out');
        await mkdir(out);
        const options = { limits: { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 1000 } };
        const read = archive.endsWith('.tgz') ? readTarGz : readZip;
        const files = await unpackTo(out, read(archive, options, signal), signal);
        t.equal(files.length, Object.keys(tree).length);
        t.ok(same(await readTree(out), tree), archive);
        await rm(out, { recursive: true });
        await rm(archive);
      }
      await rm(from, { recursive: true });
    }),
    { numRuns: 8 },
  );
}

/** By yazl without known sizes, which makes it write data descriptors. */
async function packedByYazlAndTar(dir: string, from: string, tree: Tree): Promise<readonly string[]> {
  const [yazl, tarGz] = [join(dir, 'yazl.zip'), join(dir, 'tar.tgz')];
  const written = new ZipFile();
  for (const path of Object.keys(tree)) written.addReadStream(createReadStream(join(from, path)), path);
  written.end();
  await pipeline(written.outputStream as Readable, createWriteStream(yazl));
  await run('tar', ['-C', from, '-czf', tarGz, '.']);
  return [yazl, tarGz];
}

async function packedByZip(dir: string, from: string): Promise<readonly string[]> {
  const zip = join(dir, 'zip.zip');
  await run(ZIP, ['-qr', zip, '.'], { cwd: from });
  return [zip];
}

/** As files on disk, or as streams of odd chunks. */
async function sources(dir: string, tree: Tree, local: boolean): Promise<readonly ArchiveSource[]> {
  const made: ArchiveSource[] = [];
  for (const [path, content] of Object.entries(tree)) {
    const file = join(dir, `source-${made.length}`);
    if (local) await writeFile(file, content);
    made.push({ path, size: content.length, body: local ? { file } : chunks(content) });
  }
  return made;
}

async function* chunks(content: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += 70_001) yield content.subarray(at, at + 70_001);
}

function contentOf({ size, shrinks, seed }: { size: number; shrinks: boolean; seed: number }): Buffer {
  const content = Buffer.alloc(size);
  let state = seed + 1;
  for (let at = 0; at < size; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    content[at] = shrinks ? 97 + (state >>> 30) : state >>> 24;
  }
  return content;
}

function same(found: Tree, expected: Tree): boolean {
  const names = Object.keys(expected);
  return (
    Object.keys(found).length === names.length && names.every((name) => found[name]?.equals(expected[name] as Buffer))
  );
}

async function readByYauzl(file: string): Promise<Tree> {
  const found: Record<string, Buffer> = {};
  const zip = await openPromise(file);
  for await (const entry of zip.eachEntry())
    found[entry.fileName] = await buffer(await zip.openReadStreamPromise(entry));
  return found;
}

async function readTree(dir: string): Promise<Tree> {
  const files = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const found: Record<string, Buffer> = {};
  for (const { parentPath, name } of files) {
    const file = join(parentPath, name);
    found[relative(dir, file)] = await readFile(file);
  }
  return found;
}
