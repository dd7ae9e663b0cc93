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

/** By file. */
const NO_LOSS: Readonly<Record<string, string>> = {
  'engine/runtime/program-files.ts': 'files of the program itself',
  'engine/archive/tar-writer.ts': 'written: ASCII fields of a header',
  'engine/archive/tar-entries.ts': 'numbers, keys and the magic of a record; names stay bytes',
  'engine/adapters/blast/blast-database.ts': 'alias files of BLAST: names of databases, looked for and reported',
  'engine/adapters/scripts/child-process-output.ts':
    'what scripts say to people; U+FFFD shows that something could not be shown',
  'engine/adapters/scripts/child-process-records.ts': 'records of our own: ids and times',
  'engine/adapters/scripts/child-process-table.ts': 'the tables of the kernel in /proc: numbers and our own variables',
  'engine/adapters/directory/directory-store-staging.ts': 'a line of /proc: numbers',
  'engine/adapters/directory/directory-store-walk.ts':
    'bytes as Latin-1 in both directions, to compare them; keys are made by us from text',
  'engine/adapters/embedded-postgres/embedded-postgres.ts': 'the version, the process id and the output of PostgreSQL',
  'engine/adapters/mail/mail-directory.ts': 'mails that we wrote',
  'engine/adapters/events/plain-event.ts': 'ASCII of an event, matched whole; anything else takes the strict way',
  'engine/adapters/embedded-postgres/postgres-account.ts':
    'the list of accounts of the machine, looked through for a name of ours',
  'engine/adapters/embedded-postgres/postgres-package.ts': 'a document of the package of PostgreSQL',
  'engine/adapters/remote/remote-file-name.ts':
    'a header, whose bytes are Latin-1 to Node, on its way to the strict decoder',
  'engine/adapters/s3/s3-connection.ts': 'XML of the object store: codes of errors',
  'engine/adapters/s3/s3-listing.ts': 'XML of the object store: keys that we made from text',
  'http/kernel/bodies/multipart-reading.ts': 'looked through for the name of a header, and thrown away',
  'http/kernel/bodies/part-head.ts':
    'headers, whose bytes are Latin-1 to the parser, on their way to the strict decoder',
  'actors/plugin-host/install-folder.ts': 'the name of a plugin, written by us',
  'actors/plugin-host/workspace.ts': 'names as Latin-1 on their way to the strict decoder',
  'bin/compose/access-catalogue-file.ts': 'a file of the operator, who reads what is imported',
  'bin/commands/up.ts': 'a port and a password that we wrote',
  'bin/cli/client/upload-inputs.ts': 'a file of whoever runs the command, sent to a service that checks it',
  'bin/compose/data-dir.ts': 'addresses that we wrote',
  'bin/cli/doctor/http-answer.ts': 'the answer of a service to a check of its health',
  'bin/cli/doctor/machine-check.ts': 'limits in /proc: numbers',
  'bin/compose/front-end.ts': 'keys and certificates: ASCII',
  'bin/compose/group-number.ts': 'names of groups of the machine, compared with one of the configuration',
  'bin/compose/hidden-environment.ts': 'variables that we wrote, as JSON',
  'bin/cli/local-token.ts': 'a key: ASCII',
  'bin/cli/terminal/keyboard.ts': 'what is typed',
  'bin/compose/verification.ts': 'certificates: ASCII',
};

const found = SOURCES.flatMap((folder) =>
  globSync(`${folder}/**/*.ts`, { cwd: ROOT }).filter(
    (file) => !/^(?:config\/samples|bin\/build)\//.test(file) && file !== 'engine/model/utf8.ts',
  ),
);

const lossyLines = (text: string): readonly string[] =>
  text.split('\n').filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line) && LOSSY.some((way) => way.test(line)));

t.test('nothing decodes text with loss but what is listed, with its reason', async (t) => {
  t.ok(found.length > 500);
  const lossy = found.filter((file) => lossyLines(readFileSync(join(ROOT, file), 'utf8')).length > 0);
  t.strictSame(
    lossy.filter((file) => NO_LOSS[file] === undefined),
    [],
    'use decodeUtf8 or decodeDocument of engine/model/utf8.ts',
  );
  t.strictSame(
    Object.keys(NO_LOSS).filter((file) => !lossy.includes(file)),
    [],
    'the list holds nothing that is over',
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
