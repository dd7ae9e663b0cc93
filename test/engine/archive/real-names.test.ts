// Archives as people really send them: names in other code pages, backslashes, junk of desktops, folders of old programs.
// Each is unpacked with the names that its owner sees, saying what was changed, or refused in words that say what to do.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { type ArchiveEntry, ArchiveNotes, type ReadOptions } from '../../../engine/archive/archive-entry.ts';
import { readTarGz } from '../../../engine/archive/tar-reader.ts';
import { tarHeader } from '../../../engine/archive/tar-writer.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import { type RawTarEntry, rawTarGz, rawZip } from '../../fixtures/archives.ts';

const signal = new AbortController().signal;
const limits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 1_000 };
const bytes = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

interface Outcome {
  readonly names?: readonly string[];
  readonly notes?: readonly string[];
  readonly refusal?: string;
}

async function outcomeOf(t: Test, archive: Buffer): Promise<Outcome> {
  const file = join(t.testdir(), 'a');
  await writeFile(file, archive);
  const notes = new ArchiveNotes();
  const options: ReadOptions = { limits, notes };
  const read = archive[0] === 0x1f ? readTarGz : readZip;
  const names: string[] = [];
  try {
    for await (const entry of read(file, options, signal) as AsyncIterable<ArchiveEntry>) names.push(entry.path);
  } catch (error) {
    return { refusal: (error as Error).message };
  }
  return { names, notes: notes.lines() };
}

const UTF8 = 'have the name written as UTF-8';

t.test(
  'names of zips that are not UTF-8 are read in code page 437 where only that makes sense, and it is said',
  async (t) => {
    const said = (name: string): Outcome => ({
      names: [name],
      notes: [
        `names that are not UTF-8 were read in code page 437: '${name}'; if they look wrong, pack again with names in UTF-8`,
      ],
    });
    const german: readonly [Buffer, string][] = [
      [bytes('Gr', [0x94, 0xe1], 'e.txt'), 'Größe.txt'],
      [bytes([0x81], 'bung.csv'), 'übung.csv'],
      [bytes('caf', [0x82], '.txt'), 'café.txt'],
      [bytes('a', [0xa4], 'o.txt'), 'año.txt'],
      [bytes('Sj', [0x94], '.biom'), 'Sjö.biom'],
      [bytes([0x8f], 'rhus.txt'), 'Århus.txt'],
    ];
    for (const [name, expected] of german)
      t.strictSame(await outcomeOf(t, rawZip([{ name, flags: 0 }])), said(expected), expected);
  },
);

t.test('other names that are not UTF-8 are refused, with what they may read and what to do', async (t) => {
  const names: readonly [Buffer, RegExp][] = [
    [bytes('Gr', [0xf6, 0xdf], 'e.txt'), /'Größe\.txt' in Windows-1252/],
    [bytes([0x83, 0x65, 0x83, 0x58, 0x83, 0x67], '.txt'), /'テスト\.txt' in Shift-JIS/],
    [bytes([0x95, 0x5c, 0x83, 0x66, 0x81, 0x5b, 0x83, 0x5e], '.txt'), /'表データ\.txt' in Shift-JIS/],
    [bytes([0xb2, 0xe2, 0xca, 0xd4], '.txt'), /'测试\.txt' in GBK/],
    [bytes([0xca, 0xfd, 0xbe, 0xdd], '.csv'), /'数据\.csv' in GBK/],
    [bytes([0xfe, 0xff], '.txt'), /is not UTF-8/],
    [bytes('a', [0xc3]), /is not UTF-8/],
    [bytes([0xed, 0xa0, 0x80], '.txt'), /is not UTF-8/],
    [bytes([0xc0, 0xaf], 'x'), /is not UTF-8/],
  ];
  for (const [name, reading] of names) {
    for (const archive of [rawZip([{ name, flags: 0 }]), tarOf(name), paxOf(name), longOf(name)]) {
      const { refusal = 'accepted' } = await outcomeOf(t, archive);
      t.match(refusal, reading);
      t.ok(refusal.startsWith("entry '") && refusal.includes(UTF8) && !refusal.includes('\ufffd'), refusal);
    }
    t.match((await outcomeOf(t, rawZip([{ name }]))).refusal, /is not UTF-8/, 'marked as UTF-8');
  }
});

t.test('U+FFFD that is in a name is text, and so is every other character', async (t) => {
  for (const name of [
    '\ufffd.txt',
    'S\ufffd.biom',
    '表データ.txt',
    '测试.txt',
    'Größe.txt',
    'данные.csv',
    'بيانات.csv',
    '🧬.txt',
  ]) {
    const kept = { names: [name], notes: [] };
    for (const archive of [rawZip([{ name }]), rawZip([{ name, flags: 0 }]), tarOf(bytes(name)), paxOf(bytes(name))])
      t.strictSame(await outcomeOf(t, archive), kept, name);
  }
});

t.test('a name in the field for Unicode counts as long as it belongs to the name', async (t) => {
  const raw = bytes([0xb2, 0xe2], '.txt');
  const field = (crc: number): Buffer => {
    const name = bytes('测.txt');
    const head = Buffer.alloc(9);
    head.writeUInt16LE(0x7075, 0);
    head.writeUInt16LE(5 + name.length, 2);
    head.writeUInt8(1, 4);
    head.writeUInt32LE(crc, 5);
    return Buffer.concat([head, name]);
  };
  t.strictSame((await outcomeOf(t, rawZip([{ name: raw, flags: 0, extra: field(crc32(raw)) }]))).names, ['测.txt']);
  t.match((await outcomeOf(t, rawZip([{ name: raw, flags: 0, extra: field(1) }]))).refusal, /is not UTF-8/);
});

t.test('backslashes are read as folders, and it is said', async (t) => {
  const notes = ["backslashes in names were read as folders: 'p\\a.txt', 'p\\q\\b.txt'"];
  const entries = [{ name: 'p\\' }, { name: 'p\\a.txt' }, { name: 'p\\q\\b.txt' }];
  const folder = { ...entries[0], name: 'p\\', content: '' };
  t.strictSame(await outcomeOf(t, rawZip([folder, ...entries.slice(1)])), {
    names: ['p/a.txt', 'p/q/b.txt'],
    notes: ["backslashes in names were read as folders: 'p\\', 'p\\a.txt', 'p\\q\\b.txt'"],
  });
  t.strictSame(await outcomeOf(t, await rawTarGz(entries.slice(1))), { names: ['p/a.txt', 'p/q/b.txt'], notes });
  for (const name of ['..\\a', 'C:\\a', '\\a', '\\\\server\\share\\a'])
    t.match((await outcomeOf(t, rawZip([{ name }]))).refusal, /'\.\.' in its path|drive letter|absolute path/, name);
});

t.test('what desktops add is left out and named once, few names of many', async (t) => {
  const junk = [
    '.DS_Store',
    'p/.DS_Store',
    '__MACOSX/p/._a.txt',
    'p/Thumbs.db',
    'desktop.ini',
    'p/~$a.xlsx',
    '.~lock.a#',
  ];
  const entries = [...junk, 'p/a.txt'].map((name) => ({ name }));
  for (const archive of [rawZip(entries), await rawTarGz(entries)])
    t.strictSame(await outcomeOf(t, archive), {
      names: ['p/a.txt'],
      notes: [
        "left out, as files that desktops and office programs add: '.DS_Store', 'p/.DS_Store', '__MACOSX/p/._a.txt', " +
          "'p/Thumbs.db', 'desktop.ini', 'p/~$a.xlsx' and 1 more",
      ],
    });
  t.match((await outcomeOf(t, rawZip([{ name: '.DS_Store' }]))).refusal, /holds no files/);
});

t.test('a folder of an old tar is a folder, and one with content is refused', async (t) => {
  const names = async (...entries: readonly RawTarEntry[]): Promise<Outcome> => outcomeOf(t, await rawTarGz(entries));
  const folder = { name: 'd/', type: 'file', content: '' } as const;
  t.strictSame((await names(folder, { name: 'd/a.txt' })).names, ['d/a.txt']);
  t.match((await names(folder)).refusal, /holds no files/);
  t.match((await names({ ...folder, content: 'x' })).refusal, /entry 'd\/' is a folder but has content/);
  t.match((await names({ name: 'd\\', content: 'x' })).refusal, /entry 'd\\\\' is a folder but has content/);
});

t.test('bytes behind the end of an archive are refused, zeros and further members are not', async (t) => {
  const tgz = await rawTarGz([{ name: 'a' }]);
  const more = await rawTarGz([{ name: 'b' }]);
  const { names: one } = await outcomeOf(t, Buffer.concat([tgz, Buffer.alloc(10_000)]));
  t.strictSame(one, ['a']);
  t.strictSame((await outcomeOf(t, Buffer.concat([tgz, more]))).names, ['a', 'b']);
  for (const tail of ['garbage', '\0\0garbage'])
    t.match((await outcomeOf(t, Buffer.concat([tgz, bytes(tail)]))).refusal, /damaged|goes on after its end/, tail);
  t.match((await outcomeOf(t, Buffer.concat([tgz, Buffer.alloc(512), more]))).refusal, /goes on after its end/);
  const zip = rawZip([{ name: 'a' }]);
  t.match((await outcomeOf(t, Buffer.concat([zip, bytes('garbage')]))).refusal, /damaged/);
});

const record = (size: number): Buffer => tarHeader({ path: 'x', size, modified: new Date(0) });

/** With the name or type of a record set and its sum made right. */
function altered(head: Buffer, name: Buffer, type = '0'): Buffer {
  head.fill(0, 0, 100).fill(' ', 148, 156).write(type, 156);
  name.copy(head, 0);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return head;
}

const tarGz = (...records: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...records, Buffer.alloc(1024)]));
const padded = (content: Buffer): Buffer => Buffer.concat([content, Buffer.alloc(512 - content.length)]);
const tarOf = (name: Buffer): Buffer => tarGz(altered(record(0), name));

function paxOf(name: Buffer): Buffer {
  const length = name.length + ' path=\n'.length + 2;
  const line = bytes(`${length} path=`, [...name], '\n');
  return tarGz(altered(record(line.length), bytes('PaxHeader'), 'x'), padded(line), record(0));
}

const longOf = (name: Buffer): Buffer =>
  tarGz(altered(record(name.length + 1), bytes('././@LongLink'), 'L'), padded(bytes([...name], '\0')), record(0));
