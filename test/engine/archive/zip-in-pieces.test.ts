import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { openPromise } from 'yauzl';
import type { PackedFile } from '../../../engine/archive/archive-entry.ts';
import { type PieceThreads, worthPieces, zipInPieces } from '../../../engine/archive/zip-in-pieces.ts';
import { copyPieces, cutPieces, writeRecords } from '../../../engine/archive/zip-pieces.ts';
import { writeZip } from '../../../engine/archive/zip-writer.ts';

const signal = new AbortController().signal;
const [KiB, MiB, GiB] = [2 ** 10, 2 ** 20, 2 ** 30];

/** The steps in this thread, one after the other. */
const here: PieceThreads = {
  copy: async (order) => copyPieces(order),
  records: async (order) => writeRecords(order),
};

t.test('a zip in pieces is byte by byte the one that is written in one go', async (t) => {
  const dir = await tempDir(t);
  const path = fc.array(fc.stringMatching(/^[a-zäß☃ -]{1,20}x$/), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.record({ path, size: fc.oneof(fc.nat(200), fc.nat(700 * KiB)) }), {
        selector: ({ path: [first] }) => first,
        maxLength: 6,
      }),
      fc.oneof(fc.integer({ min: 1 * KiB, max: 20 * KiB }), fc.constant(300 * KiB), fc.constant(64 * MiB)),
      async (wanted, pieceBytes) => {
        const files = await filesIn(
          dir,
          wanted.map(({ path, size }) => ({ path: path.join('/'), size })),
        );
        const [pieces, whole] = [join(dir, 'pieces.zip'), join(dir, 'whole.zip')];
        const written = await zipInPieces(pieces, files, here, signal, pieceBytes);
        t.strictSame(written, await writeZip(whole, sources(files), { level: 0 }, signal));
        t.ok((await readFile(pieces)).equals(await readFile(whole)));
      },
    ),
    { numRuns: 40 },
  );
});

t.test('pieces and lists of them are as long as was asked for, and lie one behind the other', async (t) => {
  const files = [
    { path: 'large', file: '/a', size: 25 },
    { path: 'empty', file: '/b', size: 0 },
    { path: 'small', file: '/c', size: 4 },
  ];
  const lists = [...cutPieces(files, 10)].map((list) =>
    list.map(({ path, from, bytes, at }) => [path, from, bytes, at]),
  );
  t.strictSame(lists, [
    [['large', 0, 10, 35]],
    [['large', 10, 10, 45]],
    [
      ['large', 20, 5, 55],
      ['empty', 0, 0, 95],
      ['small', 0, 4, 130],
    ],
  ]);
});

t.test('at most two threads copy at once, and records are written after the last piece', async (t) => {
  const dir = await tempDir(t);
  const files = await filesIn(dir, [{ path: 'a', size: 100 * KiB }]);
  let [copying, most] = [0, 0];
  const threads: PieceThreads = {
    async copy(order) {
      most = Math.max(most, ++copying);
      await new Promise(setImmediate);
      copying--;
      return copyPieces(order);
    },
    async records(order) {
      t.equal(copying, 0);
      return writeRecords(order);
    },
  };
  await zipInPieces(join(dir, 'a.zip'), files, threads, signal, 10 * KiB);
  t.equal(most, 2);
});

t.test('entries beyond 4 GiB are in zip64 form', async (t) => {
  const dir = await tempDir(t);
  const target = join(dir, 'a.zip');
  await writeFile(target, '');
  const files = [5 * GiB, 3, 7].map((size, n) => ({ path: `${n}`, file: '/not/read', size }));
  // The bodies are holes of the file.
  const { bytes } = writeRecords({ target, files, crcs: [1, 2, 3], pieceBytes: 8 * GiB });
  t.equal((await stat(target)).size, bytes);
  const zip = await openPromise(target, { autoClose: false });
  const found = [];
  for await (const entry of zip.eachEntry())
    found.push([entry.fileName, entry.crc32, entry.uncompressedSize, entry.relativeOffsetOfLocalHeader]);
  zip.close();
  const second = 5 * GiB + 31 + 20;
  t.strictSame(found, [
    ['0', 1, 5 * GiB, 0],
    ['1', 2, 3, second],
    ['2', 3, 7, second + 3 + 31 + 20],
  ]);
});

t.test('a file that is not as long as announced is a defect, and nothing is left', async (t) => {
  const dir = await tempDir(t);
  const [file] = await filesIn(dir, [{ path: 'a', size: 100 * KiB }]);
  const target = join(dir, 'a.zip');
  const of = (size: number): Promise<unknown> =>
    zipInPieces(target, [{ ...(file as PackedFile), size }], here, signal, 8 * KiB);
  const message = `entry 'a' has ${100 * KiB} bytes, not the ${130 * KiB} announced`;
  await t.rejects(of(130 * KiB), { kind: 'defect', message });
  await t.rejects(of(100 * KiB - 1), { kind: 'defect', message: /entry 'a' has more than the \d+ bytes announced/ });
  await t.rejects(of(0), { kind: 'defect', message: /entry 'a' has more than the 0 bytes/ });
  t.strictSame(await readdir(dir), ['0']);
});

t.test('a folder that is not there, a file that is gone and an abort leave nothing either', async (t) => {
  const dir = await tempDir(t);
  const files = await filesIn(dir, [{ path: 'a', size: 100 * KiB }]);
  const target = join(dir, 'a.zip');
  await t.rejects(zipInPieces('/nowhere/a.zip', files, here, signal), {
    kind: 'transient',
    message: /writing \/nowhere\/a\.zip/,
  });
  await t.rejects(zipInPieces(dir, files, here, signal), { kind: 'transient', message: /EISDIR/ });
  const gone = [...files, { path: 'b', file: join(dir, 'gone'), size: 1 }];
  await t.rejects(zipInPieces(target, gone, here, signal), { kind: 'transient', message: /ENOENT/ });
  const stop = new AbortController();
  const aborting: PieceThreads = {
    ...here,
    async copy(order, given) {
      stop.abort(new Error('enough'));
      given.throwIfAborted();
      return copyPieces(order);
    },
  };
  await t.rejects(zipInPieces(target, files, aborting, stop.signal), new Error('enough'));
  await t.rejects(zipInPieces(target, files, here, stop.signal), new Error('enough'));
  t.strictSame(await readdir(dir), ['0']);
});

t.test('after a failure no further piece is begun, and the file is removed once none is being copied', async (t) => {
  const dir = await tempDir(t);
  const files = await filesIn(dir, [{ path: 'a', size: 100 * KiB }]);
  const target = join(dir, 'a.zip');
  let begun = 0;
  let there: readonly string[] = [];
  const threads: PieceThreads = {
    ...here,
    async copy() {
      if (begun++ === 0) throw new Error('the first one broke');
      await new Promise(setImmediate);
      there = await readdir(dir);
      return [0];
    },
  };
  await t.rejects(zipInPieces(target, files, threads, signal, 10 * KiB), new Error('the first one broke'));
  t.ok(begun <= 2);
  if (begun === 2) t.strictSame(there, ['0', 'a.zip']);
  t.strictSame(await readdir(dir), ['0']);
});

t.test('two threads are worth it for much content in files that are not small', async (t) => {
  const files = (count: number, size: number): PackedFile[] =>
    Array.from({ length: count }, (_, n) => ({ path: `${n}`, file: `/${n}`, size }));
  t.ok(worthPieces(files(1, 32 * MiB)));
  t.ok(worthPieces(files(1_000, 64 * KiB)));
  t.notOk(worthPieces(files(1, 32 * MiB - 1)));
  t.notOk(worthPieces(files(100_000, 4 * KiB)));
  t.notOk(worthPieces([]));
});

async function filesIn(
  dir: string,
  wanted: readonly { readonly path: string; readonly size: number }[],
): Promise<readonly PackedFile[]> {
  const files = wanted.map(({ path, size }, n) => ({ path, size, file: join(dir, `${n}`) }));
  for (const { file, path, size } of files) await writeFile(file, Buffer.alloc(size, `${path} ${size} `));
  return files;
}

function* sources(files: readonly PackedFile[]) {
  for (const { path, size, file } of files) yield { path, size, body: { file } };
}

async function tempDir(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}
