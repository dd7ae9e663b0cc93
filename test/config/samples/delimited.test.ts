// Ways in which people write tables, each with the rows that are meant, or with what its owner is told.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { delimitedRows } from '../../../config/samples/delimited.ts';
import { LIMITS, Refusal } from '../../../config/samples/sample.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

type Rows = readonly (readonly string[])[];

async function read(dir: string, text: string): Promise<Rows | readonly string[]> {
  const path = join(dir, 'table');
  await writeFile(path, text);
  const rows: (readonly string[])[] = [];
  try {
    for await (const { cells } of delimitedRows(path, 't.csv', LIMITS)) rows.push(cells);
    return rows;
  } catch (error) {
    if (error instanceof Refusal) return error.messages;
    throw error;
  }
}

const AB: Rows = [
  ['id', 'name'],
  ['1', 'x'],
  ['2', 'y'],
];

const READ: readonly (readonly [kind: string, text: string, rows: Rows])[] = [
  ['commas', 'id,name\n1,x\n2,y\n', AB],
  ['semicolons', 'id;name\n1;x\n2;y\n', AB],
  ['tabs', 'id\tname\n1\tx\n2\ty\n', AB],
  ['vertical bars', 'id|name\n1|x\n2|y\n', AB],
  ['CR LF', 'id,name\r\n1,x\r\n2,y\r\n', AB],
  ['CR alone', 'id,name\r1,x\r2,y\r', AB],
  ['mixed line ends', 'id,name\r\n1,x\r2,y\n', AB],
  ['no line end at the end', 'id,name\n1,x\n2,y', AB],
  ['CR alone, tabs, no line end at the end', 'id\tname\r1\tx\r2\ty', AB],
  ['blank lines', '\nid,name\n\n1,x\n\r\n2,y\n\n\n', AB],
  ['everything quoted', '"id","name"\n"1","x"\n"2","y"\n', AB],
  ['text quoted, numbers not', '"id","name"\n1,"x"\n2,"y"\n', AB],
  ['semicolons, everything quoted', '"id";"name"\r\n"1";"x"\r\n"2";"y"\r\n', AB],
  ['a line that names the separator', 'sep=;\r\nid;name\r\n1;x\r\n2;y\r\n', AB],
  ['a quoted line that names the separator', '"sep=\t"\nid\tname\n1\tx\n2\ty\n', AB],
  [
    'a separator named that settles a doubt',
    'sep=;\nid;a,b\n1;2,3\n',
    [
      ['id', 'a,b'],
      ['1', '2,3'],
    ],
  ],
  [
    'tab text of a spreadsheet with a comma',
    'id\tname\r\n1\t"Smith, J"\r\n',
    [
      ['id', 'name'],
      ['1', 'Smith, J'],
    ],
  ],
  [
    'tab text of a spreadsheet with quotes',
    'id\tname\r\n1\t"say ""hi"""\r\n',
    [
      ['id', 'name'],
      ['1', 'say "hi"'],
    ],
  ],
  [
    'tab text with a quoted tab',
    'id\tname\r\n1\t"a\tb"\r\n',
    [
      ['id', 'name'],
      ['1', 'a\tb'],
    ],
  ],
  [
    'tab text with a quoted line end',
    'id\tname\r\n1\t"a\r\nb"\r\n',
    [
      ['id', 'name'],
      ['1', 'a\r\nb'],
    ],
  ],
  [
    'a quoted CR',
    'id,name\r1,"a\rb"\r',
    [
      ['id', 'name'],
      ['1', 'a\rb'],
    ],
  ],
  [
    'a quoted line end and a comma',
    'id,name\n1,"a\nb, c"\n',
    [
      ['id', 'name'],
      ['1', 'a\nb, c'],
    ],
  ],
  [
    'an inch within a cell',
    'id\tsize\n1\t5" pipe\n',
    [
      ['id', 'size'],
      ['1', '5" pipe'],
    ],
  ],
  [
    'an apostrophe',
    "id,name\n1,O'Neil\n2,'tis\n",
    [
      ['id', 'name'],
      ['1', "O'Neil"],
      ['2', "'tis"],
    ],
  ],
  [
    'single quotes that are needed',
    "'id','name'\n'1','a, b'\n",
    [
      ['id', 'name'],
      ['1', 'a, b'],
    ],
  ],
  [
    'single quotes twice',
    "'id','name'\n'1','it''s, ok'\n",
    [
      ['id', 'name'],
      ['1', "it's, ok"],
    ],
  ],
  [
    'backslashes as escapes',
    'id,name\n1,"say \\"hi\\""\n',
    [
      ['id', 'name'],
      ['1', 'say "hi"'],
    ],
  ],
  [
    'a backslash as text',
    'id,name\n1,C:\\dir\n',
    [
      ['id', 'name'],
      ['1', 'C:\\dir'],
    ],
  ],
  [
    'semicolons and decimal commas',
    'id;conc\n1;3,5\n2;4\n',
    [
      ['id', 'conc'],
      ['1', '3,5'],
      ['2', '4'],
    ],
  ],
  [
    'semicolons and decimal commas in every row',
    'id;conc;n\n1;3,5;2,5\n2;4,5;7,5\n',
    [
      ['id', 'conc', 'n'],
      ['1', '3,5', '2,5'],
      ['2', '4,5', '7,5'],
    ],
  ],
  [
    'tabs and decimal commas',
    'id\tconc\n1\t3,5\n2\t4,5\n',
    [
      ['id', 'conc'],
      ['1', '3,5'],
      ['2', '4,5'],
    ],
  ],
  [
    'quoted decimal commas',
    'id,conc\n1,"3,5"\n',
    [
      ['id', 'conc'],
      ['1', '3,5'],
    ],
  ],
  [
    'thousands in quotes',
    'id,n\n1,"1,234,567.8"\n',
    [
      ['id', 'n'],
      ['1', '1,234,567.8'],
    ],
  ],
  [
    'two words in every row',
    'First Name,Age\nAnn Lee,30\nBob Ray,40\n',
    [
      ['First Name', 'Age'],
      ['Ann Lee', '30'],
      ['Bob Ray', '40'],
    ],
  ],
  [
    'lists in cells',
    'id,go\n1,GO:1;GO:2\n2,GO:3\n',
    [
      ['id', 'go'],
      ['1', 'GO:1;GO:2'],
      ['2', 'GO:3'],
    ],
  ],
  [
    'dates and times',
    'id,at\n1,2024-01-02 03:04:05\n',
    [
      ['id', 'at'],
      ['1', '2024-01-02 03:04:05'],
    ],
  ],
  [
    'empty cells',
    'id,a,b\n1,,\n,,\n',
    [
      ['id', 'a', 'b'],
      ['1', '', ''],
      ['', '', ''],
    ],
  ],
  [
    'empty quoted cells',
    'id,a\n"",""\n',
    [
      ['id', 'a'],
      ['', ''],
    ],
  ],
  [
    'blanks around cells',
    'id, name\n1 , x \n',
    [
      ['id', ' name'],
      ['1 ', ' x '],
    ],
  ],
  [
    'a second byte order mark',
    '\ufeff\ufeffid,name\n1,x\n',
    [
      ['\ufeffid', 'name'],
      ['1', 'x'],
    ],
  ],
  [
    'line ends of Unicode are text',
    'id,name\n1,a\u2028b\u0085c\u000bd\n',
    [
      ['id', 'name'],
      ['1', 'a\u2028b\u0085c\u000bd'],
    ],
  ],
  [
    'names that JavaScript knows',
    '__proto__,constructor\n1,x\n',
    [
      ['__proto__', 'constructor'],
      ['1', 'x'],
    ],
  ],
  [
    'names of digits',
    '10,9\n1,x\n',
    [
      ['10', '9'],
      ['1', 'x'],
    ],
  ],
];

t.test('a table is read as it is meant, however it is written', async (t) => {
  const dir = t.testdir();
  for (const [kind, text, rows] of READ) t.strictSame(await read(dir, text), rows, kind);
  t.ok(READ.length >= 26);
});

const REFUSED: readonly (readonly [kind: string, text: string, said: RegExp])[] = [
  [
    'decimal commas in the header, too',
    'id;conc 0,5;conc 1,5\n1;3,5;2,5\n2;4,5;7,5\n',
    /^'t\.csv', line 1, can be read in two ways: separated by commas \(3 cells: 'id;conc 0' '5;conc 1' '5'\), or separated by semicolons \(3 cells: 'id' 'conc 0,5' 'conc 1,5'\)\. Put double quotes around/,
  ],
  [
    'tabs or commas',
    'a,b\tc,d\n1,5\t2,5\n',
    /line 1, can be read in two ways: separated by commas \(3 cells: 'a' 'b\\tc' 'd'\), or separated by tabs/,
  ],
  [
    'bars or commas',
    'a,b|c\n1,2|3\n',
    /separated by commas \(2 cells: 'a' 'b\|c'\), or separated by vertical bars \(2 cells: 'a,b' 'c'\)/,
  ],
  ['bars or semicolons', 'a;b|c\n1;2|3\n', /separated by semicolons .*, or separated by vertical bars/],
  ['tabs or semicolons', 'a;b\tc\n1;2\t3\n', /separated by semicolons .*, or separated by tabs/],
  [
    'single quotes that may be text',
    "id,name\n1,'x'\n",
    /line 2, can be read in two ways: separated by commas \(2 cells: \.\.\. ''x''\), or separated by commas with single quotes as quotes \(2 cells: \.\.\. 'x'\)/,
  ],
  [
    'colons, and commas in every cell of a column',
    'x:a,b:y\n1:2,5:3\n',
    /separated by commas \(2 cells: 'x:a' 'b:y'\), or separated by colons \(3 cells: 'x' 'a,b' 'y'\)/,
  ],
  [
    'blanks, and commas in every cell of a column',
    'x a,b y\n1 2,5 3\n',
    /separated by commas \(2 cells: 'x a' 'b y'\), or separated by blanks \(3 cells: 'x' 'a,b' 'y'\)/,
  ],
  [
    'escaped blanks, and commas in every row',
    'id\\ 1,5 name\n1 2,5\n3 4,5\n',
    /separated by commas \(2 cells: 'id\\ 1' '5 name'\), or separated by blanks with backslashes as escapes/,
  ],
  [
    'backslashes that may be escapes of single quotes',
    "id,name\n1,\\'x\\'\n",
    /separated by commas \(2 cells: \.\.\. '\\'x\\''\), or separated by commas with single quotes as quotes with backslashes as escapes/,
  ],
  [
    'backslashes that may be escapes',
    'id,path\n1,a\\\\b\n',
    /separated by commas \(2 cells: \.\.\. 'a\\\\b'\), or separated by commas with backslashes as escapes \(2 cells: ... 'a\\b'\)/,
  ],
  [
    'text behind a quoted cell',
    'id,name\n1,"x" y\n',
    /line 2: ' y' after the closing quote of 'x'; a separator or a line end must follow/,
  ],
  ['a quote within quotes', 'id,name\n1,"say "hi""\n', /line 2: 'hi' after the closing quote of 'say '/],
  ['a quote that is not closed', 'id,name\n1,"x\n2,y\n', /line 2: the quoted cell 'x\\n2,y\\n' is not closed/],
  ['a blank before a quote', 'id, "a, b"\n1,2\n', /line 1: cell 2 has a blank before its quote; remove the blank/],
];

t.test('a table in doubt is refused with both readings, and a broken one with its line and text', async (t) => {
  const dir = t.testdir();
  for (const [kind, text, said] of REFUSED) t.match(await read(dir, text), [said], kind);
});

t.test(
  'lines are counted as an editor counts them, whatever ends them and wherever pieces of the file end',
  async (t) => {
    const dir = t.testdir();
    for (const end of ['\n', '\r\n', '\r'])
      for (const before of [10_921, 10_922, 10_923, 10_924]) {
        const text = `id,name${end}${`1,abc${end}`.repeat(before)}${end}2,"a${end}b"${end}3,"x"y${end}`;
        // Header, rows, a blank line, and a row of two lines come before it.
        t.match(await read(dir, text), [new RegExp(`^'t\\.csv', line ${before + 5}: 'y' after`)], JSON.stringify(end));
      }
  },
);

const db = await sampleDatabase(t);

t.test('a study table of any kind is installed row by row', async (t) => {
  const sample = await sampleRun(t, 'isasimple', db);
  for (const [kind, text, [header = [], ...rows]] of READ) {
    t.equal((await sample.import([{ name: 't.csv', text }])).exit, 0, kind);
    t.same(await sample.run('install-data', ['kinds', sample.dataDir]), { exit: 0, said: [] });
    const installed = await db.query<{ cells: object }>(
      "select cells from isasimple where dataset_id = 'kinds' order by row_number",
    );
    const expected = rows.map((cells) => Object.fromEntries(header.map((name, i) => [name, cells[i]])));
    t.strictSame(
      installed.map(({ cells }) => Object.entries(cells).sort()),
      expected.map((cells) => Object.entries(cells).sort()),
      kind,
    );
  }
});

t.test('an expression table of any kind gives the same values', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  for (const delimiter of [',', ';', '\t', '|'])
    for (const end of ['\n', '\r\n', '\r'])
      for (const quote of ['', '"', "'"]) {
        const line = (...cells: readonly string[]): string =>
          cells.map((cell) => `${quote}${cell}${quote}`).join(delimiter) + end;
        const kind = JSON.stringify([delimiter, end, quote]);
        const table = line('gene_id', 'TPM') + line('G1', '1.5') + line('G2', '0');
        const manifest = `S1\t"a.txt"\tsense${end}`;
        const { exit, said } = await sample.import([
          { name: 'manifest.txt', text: manifest },
          { name: 'a.txt', text: table },
        ]);
        // Single quotes around everything may be text: then nothing is a gene_id.
        t.equal(exit, quote === "'" ? 99 : 0, `${kind} ${said}`);
        if (exit !== 0) {
          t.match(said, [/^'a\.txt', line 1, can be read in two ways: /]);
          continue;
        }
        await sample.run('install-data', ['kinds', sample.dataDir]);
        t.strictSame(
          await db.query("select sample, gene_id, value from rnaseq where dataset_id = 'kinds' order by gene_id"),
          [
            { sample: 'S1', gene_id: 'G1', value: 1.5 },
            { sample: 'S1', gene_id: 'G2', value: 0 },
          ],
          kind,
        );
        t.equal(await readFile(join(sample.dataDir, 'a.txt'), 'utf8'), table, 'the file is kept as it is');
      }
});

t.test('a value that may be read in two ways is refused', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  const COMMA =
    'is not a number of 0 or more: a comma may be a decimal mark or part thousands; write a point before decimals';
  for (const value of ['1,5', '1,234', '0,001', '1.234,5'])
    await sample.refuses(
      [
        { name: 'manifest.txt', text: 'A\ta.txt\tsense\n' },
        { name: 'a.txt', text: `gene_id\tTPM\nG\t${value}\n` },
      ],
      [`'a.txt', line 2: '${value}' ${COMMA}`],
    );
});
