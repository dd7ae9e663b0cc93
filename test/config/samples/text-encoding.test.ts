// Every sample that reads text, given text in every encoding that people have.

import t from 'tap';
import type { SampleName } from '../../../config/samples/samples.ts';
import { biomTable } from '../../fixtures/datasets.ts';
import { sampleDatabase, sampleRun, type UploadedFile } from './sample-run.ts';

const db = await sampleDatabase(t);

/** An upload of the type that holds a text, which is no problem to any sample but the gene list. */
type Upload = (encoded: (text: string) => Uint8Array, text: string) => readonly UploadedFile[];

const SAVE = '; save it as UTF-8 (in a spreadsheet program: "CSV UTF-8"; in an editor: "Save with encoding")';
const MANIFEST = 'A\ta.txt\tsense\n';
const UPLOADS: readonly (readonly [sample: SampleName, what: string, upload: Upload])[] = [
  ['genelist', 'a list', (encoded, text) => [{ name: 'a.txt', text: encoded(`G1\n${text}\n`) }]],
  ['isasimple', 'a .csv', (encoded, text) => [{ name: 'a.csv', text: encoded(`id,name\n1,${text}\n`) }]],
  ['isasimple', 'a .txt', (encoded, text) => [{ name: 'a.txt', text: encoded(`id\tname\n1\t${text}\n`) }]],
  ['isasimple', 'a header', (encoded, text) => [{ name: 'a.tsv', text: encoded(`id\t${text}\n1\tx\n`) }]],
  ['biom', 'an id', (encoded, text) => [{ name: 'a.biom', text: encoded(biomOf(text)) }]],
  [
    'rnaseq',
    'a table',
    (encoded, text) => [
      { name: 'manifest.txt', text: MANIFEST },
      { name: 'a.txt', text: encoded(`gene_id\tTPM\n${text}\t1\n`) },
    ],
  ],
  [
    'rnaseq',
    'a manifest',
    (encoded, text) => [
      { name: 'manifest.txt', text: encoded(`${text}\ta.txt\tsense\n`) },
      { name: 'a.txt', text: 'gene_id\tTPM\nG\t1\n' },
    ],
  ],
];

const biomOf = (id: string): string =>
  JSON.stringify({
    ...JSON.parse(biomTable({ rows: 1, columns: 1, nonZero: 1, form: 'dense' })),
    rows: [{ id, metadata: null }],
  });

const hex = (bytes: string): Buffer => Buffer.from(bytes.replaceAll(' ', ''), 'hex');

/** Bytes as the encoding has them, and how they read. ASCII stands for itself. */
const LEGACY: readonly (readonly [encoding: string, text: string, bytes: Buffer])[] = [
  ['Windows-1252', 'Sjö', hex('536af6')],
  ['Windows-1252', 'Málaga', hex('4de16c616761')],
  ['Windows-1252', 'Zürich', hex('5afc72696368')],
  ['Windows-1252', 'Größe', hex('4772f6df65')],
  ['Windows-1252', 'don’t', hex('646f6e9274')],
  ['Windows-1252', '“x”', hex('937894')],
  ['Windows-1252', '5 µg', hex('3520b567')],
  ['Windows-1252', '37 °C', hex('333720b043')],
  ['Windows-1252', '1 ± 2', hex('3120b12032')],
  ['Windows-1252', 'Œuvre', hex('8c75767265')],
  ['Windows-1252', '10 €', hex('31302080')],
  ['Windows-1250', 'Łódź', hex('a3f3649f')],
  ['Windows-1251', 'Привет', hex('cff0e8e2e5f2')],
  ['Windows-1251', 'Москва', hex('cceef1eae2e0')],
  ['Shift-JIS', '日本語', hex('93fa967b8cea')],
  ['Shift-JIS', 'テスト', hex('836583588367')],
  ['EUC-JP', '日本語', hex('c6fccbdcb8ec')],
  ['GBK', '中文', hex('d6d0cec4')],
  ['GBK', '北京', hex('b1b1bea9')],
  ['Big5', '中文', hex('a4a4a4e5')],
  ['EUC-KR', '한국', hex('c7d1b1b9')],
];

for (const [sample, what, upload] of UPLOADS)
  t.test(`${sample}: ${what} in an old encoding is refused with its reading, its place and what to do`, async (t) => {
    const run = await sampleRun(t, sample, db);
    for (const [encoding, text, bytes] of LEGACY) {
      const { exit, said } = await run.import(upload((whole) => replaced(whole, text, bytes), text));
      t.equal(exit, 99, `${encoding} ${text}`);
      t.equal(said.length, 1);
      const [message = ''] = said;
      t.match(message, /^'[^']+' is not a text file in UTF-8: line \d+, column \d+: the byte [0-9A-F]{2}; it may be /);
      t.ok(message.includes(encoding) && message.includes(text), `${encoding} ${text}: ${message}`);
      t.ok(message.endsWith(SAVE), message);
    }
  });

t.test('the last byte of a file is looked at, too', async (t) => {
  const run = await sampleRun(t, 'genelist', db);
  // No character of UTF-8 begins with F5.
  const { exit, said } = await run.import([{ name: 'genes.txt', text: hex('47310a4a6ff5') }]);
  t.equal(exit, 99);
  t.match(said, [/^'genes.txt' is not a text file in UTF-8: line 2, column 3: the byte F5; it may be .*Joõ/]);
});

const ENCODERS: readonly (readonly [name: string, encoded: (text: string) => Uint8Array, converted: boolean])[] = [
  ['UTF-8 with a mark', (text) => Buffer.from(`\ufeff${text}`), false],
  ['UTF-16, low byte first', (text) => Buffer.from(`\ufeff${text}`, 'utf16le'), true],
  ['UTF-16, high byte first', (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), true],
];
const TEXTS = ['G1', 'Größe', '日本語', 'x\ufffdy', '😀', 'e\u0301', 'a b', 'Łódź', '\u200bz'];

for (const [sample, what, upload] of UPLOADS)
  t.test(`${sample}: ${what} with a byte order mark is read as without, and a conversion is told`, async (t) => {
    const run = await sampleRun(t, sample, db);
    for (const text of sample === 'genelist' ? ['G1', 'G2'] : TEXTS) {
      const plain = await run.import(upload((whole) => Buffer.from(whole), text));
      for (const [name, encoded, converted] of ENCODERS) {
        const { exit, said, output } = await run.import(upload(encoded, text));
        t.equal(exit, 0, `${name} ${text} ${said}`);
        const told = said.filter((line) => /^'[^']+' is in UTF-16; it was converted to UTF-8$/.test(line));
        t.equal(told.length, converted ? 1 : 0, name);
        t.same([...told, ...plain.said].sort(), [...said].sort());
        // Files that are kept as they are keep their mark, too.
        const unmarked = Object.entries(output).map(([file, kept]) => [file, kept.replace(/^\ufeff/, '')]);
        t.same(Object.fromEntries(unmarked), plain.output, `${name} ${text}`);
      }
    }
  });

t.test('U+FFFD that is in the text is text', async (t) => {
  for (const [sample, what, upload] of UPLOADS.filter(([sample]) => sample !== 'genelist')) {
    const run = await sampleRun(t, sample, db);
    const { exit, output } = await run.import(upload((whole) => Buffer.from(whole), 'S\ufffd'));
    t.equal(exit, 0, what);
    t.ok(Object.values(output).join('').includes('S\ufffd'), what);
  }
  const list = await sampleRun(t, 'genelist', db);
  const ID = 'is not a gene id: 1 to 80 of the characters A-Z a-z 0-9 ( ) . : _ -';
  await list.refuses([{ name: 'a.txt', text: 'G1\nS\ufffd\n' }], [`line 2: 'S\ufffd' ${ID}`]);
});

t.test('two ids that differ in a byte that is no UTF-8 are never taken for one', async (t) => {
  const run = await sampleRun(t, 'biom', db);
  const document = JSON.parse(biomTable({ rows: 1, columns: 2, nonZero: 2, form: 'dense' }));
  const text = JSON.stringify({ ...document, columns: [{ id: 'S\u00e9' }, { id: 'S\u00e8' }] });
  await run.refuses(
    [{ name: 'a.biom', text: Buffer.from(text, 'latin1') }],
    [/^'a\.biom' is not a text file in UTF-8/],
  );
});

t.test('bytes that are no text are refused by name and place', async (t) => {
  const head = Buffer.from('id,name\n1,ab');
  const faults: readonly (readonly [what: string, tail: Buffer, said: RegExp])[] = [
    ['an overlong form', hex('c0af0a'), /line 2, column 5: the byte C0/],
    ['a half of a pair as three bytes', hex('eda0800a'), /line 2, column 5: the byte ED/],
    ['beyond Unicode', hex('f58080800a'), /line 2, column 5: the byte F5/],
    ['never in UTF-8', hex('ff0a'), /line 2, column 5: the byte FF/],
    ['a lone continuation', hex('800a'), /line 2, column 5: the byte 80/],
    ['a character that is cut by a line end', hex('e2820a'), /line 2, column 5: the byte E2/],
    ['an end within a character', hex('e282'), /line 2, column 5: the file ends within a character/],
    ['a NUL', hex('000a'), /^'a\.csv' is not a text file: line 2, column 5 has a NUL character$/],
  ];
  const run = await sampleRun(t, 'isasimple', db);
  for (const [what, tail, said] of faults) {
    t.comment(what);
    await run.refuses([{ name: 'a.csv', text: Buffer.concat([head, tail]) }], [said]);
  }
});

t.test('a fault is found at its line and column wherever the file is cut into pieces', async (t) => {
  const run = await sampleRun(t, 'isasimple', db);
  for (let at = 65_530; at < 65_542; at++) {
    const rows = `id,name\n${'1,ä\n'.repeat(20_000)}`;
    const bytes = Buffer.from(rows).subarray(0, at);
    const text = new TextDecoder().decode(bytes).replace(/\ufffd$/, '');
    const last = text.slice(text.lastIndexOf('\n') + 1);
    const place = `line ${text.split('\n').length}, column ${Array.from(last).length + 1}`;
    await run.refuses(
      [{ name: 'a.csv', text: Buffer.concat([bytes, hex('ff')]) }],
      [new RegExp(`: ${place}: the byte `)],
    );
  }
});

t.test('damaged or unmarked UTF-16 and UTF-32 are refused', async (t) => {
  const text = 'id,name\r\n1,alpha\r\n';
  const wide = Buffer.from(`\ufeff${text}`, 'utf16le');
  const utf32 = Buffer.concat(Array.from(`\ufeff${text}`, (c) => Buffer.from([c.codePointAt(0) ?? 0, 0, 0, 0])));
  utf32.set([0xff, 0xfe, 0, 0]);
  const DAMAGED = `'a.csv' is damaged: half of a UTF-16 character stands alone, or the end is cut${SAVE}`;
  const run = await sampleRun(t, 'isasimple', db);
  for (const [bytes, said] of [
    [Buffer.concat([wide, hex('00d8 4100')]), DAMAGED],
    [Buffer.concat([wide, hex('00dc')]), DAMAGED],
    [wide.subarray(0, wide.length - 1), DAMAGED],
    [wide.subarray(2), `'a.csv' looks like UTF-16 without its byte order mark${SAVE}`],
    [Buffer.from(wide.subarray(2)).swap16(), `'a.csv' looks like UTF-16 without its byte order mark${SAVE}`],
    [utf32, `'a.csv' is text in UTF-32${SAVE}`],
  ] as const)
    await run.refuses([{ name: 'a.csv', text: bytes }], [said]);
});

t.test('files that are no text are called what they are', async (t) => {
  const formats: readonly (readonly [bytes: string, said: RegExp])[] = [
    ['1f8b0800', /is compressed with gzip; unpack it first$/],
    ['425a6839', /is compressed with bzip2; unpack it first$/],
    ['fd377a585a00', /is compressed with xz; unpack it first$/],
    ['28b52ffd', /is compressed with Zstandard; unpack it first$/],
    [
      '504b030414',
      /is a zip archive or a workbook \(\.xlsx, \.ods\); save the sheet as text \(CSV UTF-8\), or unpack it$/,
    ],
    ['d0cf11e0a1b1', /is a workbook or document of old Office programs; save the sheet as text \(CSV UTF-8\)$/],
    [
      '894844460d0a',
      /is HDF5, not text; a BIOM 2 file is converted with: biom convert --to-json \(it may round decimals\)$/,
    ],
    ['255044462d', /is a PDF document, not text$/],
    ['7b5c72746631', /is a document in rich text \(RTF\); save it as plain text in UTF-8$/],
  ];
  for (const [sample, what, upload] of UPLOADS) {
    const run = await sampleRun(t, sample, db);
    t.comment(what);
    for (const [bytes, said] of formats)
      await run.refuses(
        upload(() => hex(bytes), 'x'),
        [said],
      );
  }
});

/** The text in UTF-8, but the given part of it in other bytes. */
function replaced(whole: string, part: string, bytes: Buffer): Uint8Array {
  const at = whole.indexOf(part);
  return Buffer.concat([Buffer.from(whole.slice(0, at)), bytes, Buffer.from(whole.slice(at + part.length))]);
}
