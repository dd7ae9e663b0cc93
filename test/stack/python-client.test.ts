// clients/python: against the running program, under mypy, and with the types of the documents of today.

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { documentOf } from '../http/documents.ts';
import { detailsOf } from '../support/api.ts';
import { freePortBase, ROOT, tempDir, up } from '../support/longshore.ts';
import { PYTHON_CLIENT } from './python-packages.ts';

const run = promisify(execFile);
const CLIENT = join(ROOT, 'clients', 'python');
const env = { ...process.env, PYTHONPATH: join(CLIENT, 'src'), PYTHONDONTWRITEBYTECODE: '1' };

t.test('uploads, waits, lists, downloads, deletes, and says what was refused', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const files = join(dir, 'files');
  await mkdir(files);
  const script = join(import.meta.dirname, 'clients', 'python-client.py');
  const details = { ...detailsOf('genelist'), name: 'Genes by Python' };
  const args = [script, app.endpoints.installer, await app.token('5'), files, JSON.stringify(details)];
  const { stdout } = await run(PYTHON_CLIENT.python, args, { env });
  t.match(JSON.parse(stdout), {
    name: 'Genes by Python',
    repeated: true,
    lost: [2, 1],
    listed: true,
    verified: true,
    files: ['genes.txt'],
    text: 'PF3D7_0100100\nPF3D7_0100200\n',
    told: ['accepted', 'import-ended', 'installed'],
    paged: true,
    found: true,
    community: [],
    refused: /^dataset \w+ refused: \S/,
    deleted: [410, 'gone', true],
    missing: [404, false],
    half: [],
    nobody: 401,
    large: [4, true],
  });
});

t.test('waits as long as a service asks for, and over what passes', async (t) => {
  const script = join(import.meta.dirname, 'clients', 'python-waits.py');
  const file = join(t.testdir({ 'genes.txt': 'PF3D7_0100100' }), 'genes.txt');
  const { stdout } = await run(PYTHON_CLIENT.python, [script, file], { env });
  t.strictSame(JSON.parse(stdout), {
    // The first look, the stream, and a look at each of its four parts.
    waited: ['d', 6],
    gone: 410,
    failed: 'dataset d failed: ',
    streamed: ['installed', [7, 2]],
    uploaded: ['d', [1, 5, 40]],
    conflict: [409, 1],
    hour: [429, 1],
    sent: ['1', ['POST', 'POST', 'PATCH', 'HEAD', 'PATCH'], 1, false],
  });
});

t.test('mypy finds nothing, in strict mode', async (t) => {
  const { stdout } = await run(PYTHON_CLIENT.program('mypy'), ['--cache-dir', join(t.testdir(), 'cache'), 'src'], {
    cwd: CLIENT,
    env,
  }).catch((error: { stdout: string }) => error);
  t.match(stdout, /^Success: no issues found/);
});

t.test('its models are those of the document', async (t) => {
  const folder = t.testdir();
  const [document, models] = [join(folder, 'installer.json'), join(folder, 'models.py')];
  await writeFile(document, JSON.stringify(await documentOf(t, 'installer')));
  await run(PYTHON_CLIENT.program('datamodel-codegen'), [
    ...['--input', document, '--input-file-type', 'openapi', '--output', models],
    ...['--output-model-type', 'typing.TypedDict', '--target-python-version', '3.10', '--disable-timestamp'],
  ]);
  const committed = join(CLIENT, 'src', 'longshore', 'models.py');
  const text = await readFile(models, 'utf8');
  if (process.env.LONGSHORE_WRITE_MODELS) await writeFile(committed, text);
  t.ok(text === (await readFile(committed, 'utf8')), 'npm run clients:models');
});
