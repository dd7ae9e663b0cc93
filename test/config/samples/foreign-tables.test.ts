// Tables made at random and written by Python's csv module: each is installed row by row as that module reads it with the
// settings that made it, or refused with a message that names the doubt. None is read in another way.
//   LONGSHORE_FOREIGN_TABLES=500 node test/run/suite.ts --sample 1 --seed 7 test/config/samples/foreign-tables.test.ts

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type RandomTable, randomTable } from './foreign/random-tables.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const PYTHON = '/usr/bin/python3';
const { LONGSHORE_FOREIGN_TABLES: count = '80', LONGSHORE_TEST_SEED: seed = '1' } = process.env;

type Written = { readonly bytes: string; readonly rows: readonly (readonly string[])[] } | { readonly error: string };

/** What a refusal may say of a table that was written without a fault: what is in doubt, or what is not taken. */
const DOUBTS = [
  /, can be read in two ways: separated by /,
  / is not a text file in UTF-8: line \d+, column \d+: the byte [0-9A-F]{2}(?:; it may be | fits no encoding that is known here; )/,
  / looks like UTF-16 without its byte order mark; /,
  / is damaged: half of a UTF-16 character stands alone/,
  /: the header '.*' has 1 column; /s,
  /: column \d+ has no name$/,
  /: two columns are named '/,
  /: '.*' after the closing quote of '/s,
  /: the quoted cell '.*' is not closed$/s,
  /: cell \d+ has a blank before its quote; /,
  /: \d+ cells \(.*\); the header has \d+/s,
  /, has more than 1000 bytes in UTF-8/,
  /: '.*' is no escape$/s,
  /^and \d+ more faults of this kind$/,
];

t.test(
  'a table of any make is installed as Python reads it, or refused',
  { skip: existsSync(PYTHON) ? false : `${PYTHON} is missing` },
  async (t) => {
    const db = await sampleDatabase(t);
    const sample = await sampleRun(t, 'isasimple', db);
    const tables = Array.from({ length: Number(count) }, (_, i) => randomTable(Number(seed), i));
    const script = join(import.meta.dirname, 'foreign', 'tables.py');
    const input = JSON.stringify(tables);
    const written = JSON.parse(
      execFileSync(PYTHON, [script], { input, encoding: 'utf8', maxBuffer: 1024 ** 3 }),
    ) as readonly Written[];
    const tally = { installed: 0, refused: 0, unwritable: 0, usual: 0, usualInstalled: 0 };
    for (const [i, made] of written.entries()) {
      const table = tables[i] as RandomTable;
      if ('error' in made) {
        tally.unwritable++;
        continue;
      }
      const name = `seed ${seed}, table ${i}: ${JSON.stringify(table.settings)}`;
      if (isUsual(table)) tally.usual++;
      const { exit, said } = await sample.import([
        { name: table.settings.file, text: Buffer.from(made.bytes, 'base64') },
      ]);
      if (exit !== 0) {
        tally.refused++;
        t.equal(exit, 99, name);
        const unclear = said.filter((message) => !DOUBTS.some((doubt) => doubt.test(message)));
        t.strictSame(unclear, [], name);
        continue;
      }
      tally.installed++;
      if (isUsual(table)) tally.usualInstalled++;
      t.same(await sample.run('install-data', ['foreign', sample.dataDir]), { exit: 0, said: [] }, name);
      const [header = [], ...rows] = made.rows;
      const found = await db.query<{ cells: Record<string, string> }>(
        "select cells from isasimple where dataset_id = 'foreign' order by row_number",
      );
      t.strictSame(
        found.map(({ cells }) => Object.entries(cells).sort()),
        rows.map((cells) => Object.entries(Object.fromEntries(header.map((column, j) => [column, cells[j]]))).sort()),
        name,
      );
    }
    t.comment(JSON.stringify(tally));
    t.ok(tally.installed > Number(count) / 4, JSON.stringify(tally));
    t.equal(tally.usualInstalled, tally.usual, 'tables without anything odd are all installed');
    t.ok(tally.usual > Number(count) / 4);
  },
);

/** Separators and quotes that everybody uses, in an encoding that is certain, and plain names of columns. */
function isUsual({ settings, rows }: RandomTable): boolean {
  const { delimiter, doublequote, encoding, quotechar } = settings;
  const [header = [], ...data] = rows;
  return (
    [',', ';', '\t', '|'].includes(delimiter) &&
    doublequote &&
    quotechar === '"' &&
    ['utf-8', 'utf-8-sig', 'utf-16'].includes(encoding) &&
    header.length > 1 &&
    header.every((name) => /^[\p{L}_() ]+\d+$/u.test(name)) &&
    !data.flat().some((cell) => /^\s|^'|\\|\r/.test(cell))
  );
}
