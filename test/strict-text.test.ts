// Text that comes from outside goes through engine/model/utf8.ts, which replaces nothing. Whatever else could decode with
// loss is listed here, with the reason why no loss can come of it. The sample plugins have a strict reader of their own.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = ['engine', 'http', 'actors', 'config', 'bin'];
/** Ways to make text of bytes without a fault where the bytes are none. */
const LOSSY = [
  /\.toString\(['"](?:utf-?8|ascii)['"]/i,
  /\.utf8Slice\(|StringDecoder|setEncoding\(/,
  /new TextDecoder\((?![^)]*fatal: true)/,
  /import \{[^}]*\b(?:text|json)\b[^}]*\} from 'node:stream\/consumers'/,
  /readFile(?:Sync)?\(.*['"]utf-?8['"]|encoding: ['"]utf-?8['"]/i,
  /Buffer\.concat\([^)]*\)\.toString\(\)/,
  /\blatin1\b|(?:toString\(|, )['"]binary['"]\)/i,
];

/** By file: in how many lines, and why it loses nothing. */
const NO_LOSS: Readonly<Record<string, readonly [lines: number, why: string]>> = {
  'engine/runtime/program-files.ts': [2, 'files of the program itself'],
  'engine/archive/tar-writer.ts': [10, 'written: ASCII fields of a header'],
  'engine/archive/tar-entries.ts': [5, 'numbers, keys and the magic of a record; names stay bytes'],
  'engine/adapters/blast/blast-database.ts': [1, 'alias files of BLAST: names of databases, looked for and reported'],
  'engine/adapters/scripts/child-process-run.ts': [
    2,
    'what scripts say to people; U+FFFD shows that something could not be shown',
  ],
  'engine/adapters/scripts/child-process-records.ts': [1, 'records of script runs, written by us'],
  'engine/adapters/scripts/process-facts.ts': [4, 'files of /proc, read for numbers and for text that we wrote'],
  'engine/adapters/directory/directory-store-staging.ts': [1, 'a line of /proc: numbers'],
  'engine/adapters/directory/directory-store-walk.ts': [
    4,
    'bytes as Latin-1 in both directions, to compare them; keys are made by us from text',
  ],
  'engine/adapters/embedded-postgres/embedded-postgres.ts': [2, 'the version and the output of PostgreSQL'],
  'engine/adapters/embedded-postgres/postgres-orphan.ts': [2, 'what PostgreSQL and the kernel say of its processes'],
  'engine/adapters/mail/mail-directory.ts': [1, 'mails that we wrote'],
  'engine/adapters/kafka/kafka-publisher.ts': [
    1,
    'ASCII of an event, matched whole; anything else takes the strict way',
  ],
  'engine/adapters/embedded-postgres/postgres-binaries.ts': [
    2,
    'a document of the package of PostgreSQL; the list of accounts of the machine, looked through for a name of ours',
  ],
  'engine/adapters/remote/remote-file-name.ts': [
    1,
    'a header, whose bytes are Latin-1 to Node, on its way to the strict decoder',
  ],
  'engine/adapters/s3/s3-connection.ts': [1, 'XML of the object store: codes of errors'],
  'engine/adapters/s3/s3-listing.ts': [1, 'XML of the object store: keys that we made from text'],
  'http/kernel/bodies/multipart-reading.ts': [2, 'looked through for the name of a header, and thrown away'],
  'http/kernel/bodies/part-head.ts': [
    3,
    'headers, whose bytes are Latin-1 to the parser, on their way to the strict decoder',
  ],
  'actors/plugin-host/install-folder.ts': [1, 'the name of a plugin, written by us'],
  'actors/plugin-host/workspace.ts': [2, 'names as Latin-1 on their way to the strict decoder'],
  'bin/compose/access-database.ts': [1, 'a file of the operator, who reads what is imported'],
  'bin/cli/backup/backup-entry.ts': [1, 'numbers of a tar; paths take the strict way'],
  'bin/cli/backup/backup-head.ts': [1, 'the version of PostgreSQL'],
  'bin/cli/support-bundle/bundle-parts.ts': [1, 'facts in /etc, /proc and /sys'],
  'bin/commands/backup.ts': [2, 'a port and a password that we wrote'],
  'bin/commands/support-bundle.ts': [1, 'a password that we wrote'],
  'bin/commands/up.ts': [2, 'a port and a password that we wrote'],
  'bin/cli/client/transfer.ts': [1, 'a file of whoever runs the command, sent to a service that checks it'],
  'bin/compose/data-dir.ts': [1, 'addresses that we wrote'],
  'bin/cli/doctor/server-checks.ts': [1, 'the answer of a service to a check of its health'],
  'bin/cli/doctor/machine-check.ts': [1, 'limits in /proc: numbers'],
  'bin/compose/front-end.ts': [3, 'keys and certificates: ASCII'],
  'bin/compose/plugin-host.ts': [1, 'names of groups of the machine, compared with one of the configuration'],
  'bin/compose/hidden-environment.ts': [1, 'variables that we wrote, as JSON'],
  'bin/cli/local-token.ts': [1, 'a key: ASCII'],
  'bin/cli/terminal/terminal.ts': [2, 'what is typed'],
  'bin/compose/resident-samples.ts': [1, 'process ids'],
  'bin/compose/sample-calls.ts': [1, 'process ids'],
  'bin/compose/verification.ts': [1, 'certificates: ASCII'],
};

const found = SOURCES.flatMap((folder) =>
  globSync(`${folder}/**/*.ts`, { cwd: ROOT }).filter(
    (file) => !/^(?:config\/samples|bin\/build)\//.test(file) && file !== 'engine/model/utf8.ts',
  ),
);

const lossyLines = (text: string): readonly string[] =>
  text.split('\n').filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line) && LOSSY.some((way) => way.test(line)));

t.test('nothing decodes text with loss but what is listed, with its reason', async (t) => {
  t.ok(found.length > 300);
  const lossy = found.flatMap((file) => {
    const lines = lossyLines(readFileSync(join(ROOT, file), 'utf8')).length;
    return lines > 0 ? [[file, lines] as const] : [];
  });
  t.strictSame(
    Object.fromEntries(lossy),
    Object.fromEntries(Object.entries(NO_LOSS).map(([file, [lines]]) => [file, lines])),
    'use decodeUtf8 or decodeDocument of engine/model/utf8.ts; the list holds nothing that is over',
  );
});

t.test('each way to lose text is found', async (t) => {
  const lines = [
    "bytes.toString('utf8')",
    "bytes.toString('utf-8', 0, 3)",
    'Buffer.concat(chunks).toString()',
    "new TextDecoder('utf-8').decode(bytes)",
    'new TextDecoder()',
    "import { text } from 'node:stream/consumers';",
    "await readFile(file, 'utf8')",
    "readFileSync(file, { encoding: 'utf8' })",
    "Buffer.from(text, 'latin1')",
    "bytes.toString('binary')",
    "stream.setEncoding('utf8')",
  ];
  for (const line of lines) t.strictSame(lossyLines(line), [line]);
  t.strictSame(lossyLines("new TextDecoder('utf-8', { fatal: true })\n// 'latin1'\nid.toString()\nn.toString(16)"), []);
});
