// How the web console reads single files of archives by ranges, and the first rows of tables.

import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { ZipFile } from 'yazl';
import { contentsOf, type ReadRange, textOf, UnreadableZip, zipEntries } from '../clients/console/src/api/zip.ts';
import { tableStart } from '../clients/console/src/components/table-text.ts';

interface Archive {
  readonly read: ReadRange;
  readonly size: number;
  /** How many bytes were asked for. */
  asked(): number;
}

async function archive(files: Readonly<Record<string, Buffer>>, options: object = {}): Promise<Archive> {
  const zip = new ZipFile();
  for (const [name, contents] of Object.entries(files)) zip.addBuffer(contents, name, options);
  zip.end(options as never);
  return archiveOf(await buffer(zip.outputStream));
}

function archiveOf(bytes: Buffer): Archive {
  let asked = 0;
  return {
    size: bytes.length,
    asked: () => asked,
    // In chunks of an odd length, so that headers are cut.
    read: async (first, last) => {
      asked += last + 1 - first;
      const wanted = bytes.subarray(first, last + 1);
      const chunks = Array.from({ length: Math.ceil(wanted.length / 17) }, (_, i) =>
        wanted.subarray(17 * i, 17 * i + 17),
      );
      return ReadableStream.from(chunks.map((chunk) => new Uint8Array(chunk))) as ReadableStream<Uint8Array>;
    },
  };
}

async function contents({ read, size }: Archive, name: string): Promise<string> {
  const entry = (await zipEntries(read, size)).find((one) => one.name === name);
  if (!entry) throw new Error(`no ${name}`);
  return textOf(await contentsOf(read, entry, size), 1_000_000);
}

const FILES = {
  'a.txt': Buffer.from('first\n'),
  'folder/ü.txt': Buffer.from('second\n'.repeat(500)),
  empty: Buffer.alloc(0),
};

async function readsAll(t: Test, made: Archive): Promise<void> {
  const entries = await zipEntries(made.read, made.size);
  t.strictSame(
    entries.map(({ name, size }) => [name, size]),
    Object.entries(FILES).map(([name, { length }]) => [name, length]),
  );
  for (const [name, expected] of Object.entries(FILES)) t.equal(await contents(made, name), expected.toString(), name);
}

t.test('reads packed files', async (t) => readsAll(t, await archive(FILES)));
t.test('reads stored files', async (t) => readsAll(t, await archive(FILES, { compress: false })));
t.test('reads archives with numbers of 64 bits', async (t) =>
  readsAll(t, await archive(FILES, { forceZip64Format: true })),
);

t.test('reads the beginning of a large file, and no more of it', async (t) => {
  const rows = Array.from({ length: 200_000 }, (_, i) => `row ${i}\t${(i * 2_654_435_761) % 4_294_967_296}\n`).join('');
  const made = await archive({ 'large.tsv': Buffer.from(rows) });
  const [entry] = await zipEntries(made.read, made.size);
  if (!entry) throw new Error('no entry');
  const text = await textOf(await contentsOf(made.read, entry, made.size, 20_000), 1_000_000);
  t.ok(rows.startsWith(text));
  t.ok(text.length > 20_000 && text.length < rows.length / 2);
  t.ok(made.asked() < made.size / 2, `${made.asked()} of ${made.size} bytes`);
});

t.test('refuses what is no archive', async (t) => {
  const made = archiveOf(Buffer.from('not an archive, but longer than its end record would be'));
  await t.rejects(zipEntries(made.read, made.size), UnreadableZip);
});

t.test('shows the first rows of tables', async (t) => {
  t.strictSame(tableStart('a\tb\r\n1\t2\r\n', false), {
    rows: [
      ['a', 'b'],
      ['1', '2'],
    ],
    isCut: false,
  });
  t.strictSame(tableStart('a,"b ""c"", d"\n"two\nlines",e', false).rows, [
    ['a', 'b "c", d'],
    ['two\nlines', 'e'],
  ]);
  t.strictSame(tableStart('whole\nhal', true), { rows: [['whole']], isCut: true }, 'a row that is cut is left out');
  const many = tableStart('x\n'.repeat(150), false);
  t.equal(many.rows.length, 100);
  t.equal(many.isCut, true);
  t.strictSame(tableStart('', false), { rows: [], isCut: false });
});
