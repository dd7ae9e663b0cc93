import t from 'tap';
import { studyTable } from '../../fixtures/datasets.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const db = await sampleDatabase(t);

t.test('a study table of 1,000 rows is installed row by row', async (t) => {
  const sample = await sampleRun(t, 'isasimple', db);
  const text = studyTable(1_000);
  t.same(await sample.import([{ name: 'study.csv', text }]), { exit: 0, said: [], output: { 'study.csv': text } });
  for (let time = 0; time < 2; time++)
    t.same(await sample.run('install-data', ['study', sample.dataDir]), { exit: 0, said: [] });
  const [count] = await db.query<{ n: number }>("select count(*)::int as n from isasimple where dataset_id = 'study'");
  t.equal(count?.n, 1_000);
  const [row] = await db.query<{ cells: object }>(
    "select cells from isasimple where dataset_id = 'study' and row_number = 2",
  );
  t.same(row?.cells, {
    ...{ SID: '2', age: '18', town: 'Town D', date: '2022-02-02', education: 'Secondary', occupation: 'Farmer' },
    ...{ sex_rad: '1', temperature_fu: '36.7', blood_smear_fu_rad: 'Positive', flu_rad: 'Positive' },
  });
  t.same(await sample.run('uninstall', ['study']), { exit: 0, said: [] });
  t.same(await db.query('select * from isasimple'), []);
});

t.test('tabs and quotes are read as they are meant', async (t) => {
  const sample = await sampleRun(t, 'isasimple', db);
  const csv = '\ufeffid,note\r\n1,"a ""quoted"", two\nline cell"\r\n2,"x"\r\n\r\n3,plain "inner"';
  t.same((await sample.import([{ name: 'a.CSV', text: csv }])).output, {
    'study.csv': 'id,note\n1,"a ""quoted"", two\nline cell"\n2,x\n3,"plain ""inner"""\n',
  });
  t.same((await sample.import([{ name: 'a.tsv', text: 'id\tnote\n1\t"Smith, J"\n' }])).output, {
    'study.csv': 'id,note\n1,"Smith, J"\n',
  });
});

t.test('a table that does not hold together is refused with file, line and reason', async (t) => {
  const sample = await sampleRun(t, 'isasimple', db);
  const R_NAMES = '(if the first cell is the name of the row, as R writes it, give that column a name, too)';
  const LONG = 'more than 1000 bytes in UTF-8';
  const AFTER = 'a separator or a line end must follow, and a quote within quotes is written twice';
  const refusals: readonly (readonly [name: string, text: string, ...said: readonly (string | RegExp)[]])[] = [
    [
      ...(['a.csv', 'a,b\n1,2,3\n4\n5,6\n'] as const),
      ...[
        `'a.csv', line 2: 3 cells ('1' '2' '3'); the header has 2 ${R_NAMES}`,
        "'a.csv', line 3: 1 cells ('4'); the header has 2",
      ],
    ],
    ['a.csv', 'a,b\n', "'a.csv' has a header but no data row"],
    ['a.csv', '\n\n', "'a.csv' is empty; it must begin with a header line"],
    ['a.tsv', 'a b\n1 2\n', /^'a\.tsv', line 1: the header 'a b' has 1 column; 2 to 999 are needed/],
    ['a.csv', 'a,,a\n1,2,3\n', "'a.csv', line 1: column 2 has no name", "'a.csv', line 1: two columns are named 'a'"],
    ['a.csv', 'a,b\n1,"open\n2,3\n', "'a.csv', line 2: the quoted cell 'open\\n2,3\\n' is not closed"],
    ['a.csv', 'a,b\n1,"x"y\n', `'a.csv', line 2: 'y' after the closing quote of 'x'; ${AFTER}`],
    ['a.csv', 'a,b\n1, "x"\n', "'a.csv', line 2: cell 2 has a blank before its quote; remove the blank"],
    ['a.csv', `a,b\n1,${'x'.repeat(1_001)}\n`, `'a.csv', line 2: cell 2, '${'x'.repeat(30)}...', has ${LONG}`],
    ['a.csv', `a,b\n1,${'ß'.repeat(501)}\n`, `'a.csv', line 2: cell 2, '${'ß'.repeat(30)}...', has ${LONG}`],
    [
      'a.csv',
      `a,b\n1,"x\n${'y'.repeat(1_001)}\n`,
      `'a.csv', line 2: cell 2, 'x\\n${'y'.repeat(28)}...', has ${LONG}; is its quote closed?`,
    ],
    ['a.csv', `${'x,'.repeat(999)}x\n`, "'a.csv', line 1: column 'x' is number 1000; at most 999 are taken"],
    ['a.xlsx', 'PK', "'a.xlsx': a study table must end with .csv, .tsv or .txt"],
  ];
  for (const [name, text, ...said] of refusals) await sample.refuses([{ name, text }], said);
});

t.test('a cell of exactly 1,000 bytes and a row of 999 columns pass', async (t) => {
  const sample = await sampleRun(t, 'isasimple', db);
  const line = (cell: (i: number) => string) => Array.from({ length: 999 }, (_, i) => cell(i)).join(',');
  const text = `${line((i) => `c${i}`)}\r\n${line(() => 'x')}\r\n`;
  t.equal((await sample.import([{ name: 'a.csv', text }])).exit, 0);
  t.equal((await sample.import([{ name: 'a.csv', text: `a,b\r\n1,${'x'.repeat(1_000)}\r\n` }])).exit, 0);
});
