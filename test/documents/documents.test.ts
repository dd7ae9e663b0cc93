// What the world's own tools say of the OpenAPI documents: linters, and a generator of types whose result is compiled.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { documentOf, FRONT_ENDS, type FrontEnd } from '../http/documents.ts';
import { CLIENT_DOCUMENTS, typesOf } from './client-types.ts';

const run = promisify(execFile);
const program = (name: string): string => join(import.meta.dirname, 'node_modules', '.bin', name);
const folder = await mkdtemp(join(tmpdir(), 'longshore-documents-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const offline = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

async function written(t: Test, name: FrontEnd): Promise<string> {
  const file = join(folder, `${name}.json`);
  await writeFile(file, JSON.stringify(await documentOf(t, name), null, 1));
  return file;
}

interface Finding {
  readonly code?: unknown;
  readonly ruleId?: unknown;
  readonly message: string;
}

/** The linters exit with 1 when they find something, and print what it is. */
async function findings(command: string, args: readonly string[]): Promise<string> {
  try {
    return (await run(command, args, { cwd: folder, env: offline, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    return String((error as { readonly stdout?: unknown }).stdout);
  }
}

await writeFile(join(folder, 'spectral.yaml'), 'extends: ["spectral:oas"]\n');

for (const name of Object.keys(FRONT_ENDS) as FrontEnd[])
  t.test(`linters find nothing in the document of ${name}`, async (t) => {
    const file = await written(t, name);
    const redocly = JSON.parse(
      await findings(program('redocly'), ['lint', file, '--extends', 'recommended', '--format', 'json']),
    ) as { readonly totals: { readonly errors: number; readonly warnings: number }; readonly problems: Finding[] };
    t.strictSame(
      redocly.problems.map(({ ruleId, message }) => `${ruleId}: ${message}`),
      [],
      'Redocly, recommended rules',
    );
    const spectral = JSON.parse(
      await findings(program('spectral'), ['lint', '-q', '-f', 'json', '-r', join(folder, 'spectral.yaml'), file]),
    ) as readonly Finding[];
    t.strictSame(
      spectral.map(({ code, message }) => `${code}: ${message}`),
      [],
      'Spectral, spectral:oas',
    );
  });

t.test('a linter that finds something says so', async (t) => {
  const file = join(folder, 'bad.json');
  const bad = { ...(await documentOf(t, 'pluginHost')), tags: [] };
  await writeFile(file, JSON.stringify({ ...bad, info: { title: 'x', version: '1' } }));
  t.match(await findings(program('redocly'), ['lint', file, '--format', 'json']), /info-license/);
  t.match(
    await findings(program('spectral'), ['lint', '-q', '-f', 'json', '-r', join(folder, 'spectral.yaml'), file]),
    /operation-tag-defined/,
  );
});

for (const name of CLIENT_DOCUMENTS)
  t.test(`clients/typescript has the types of the document of ${name}`, async (t) => {
    const file = join(import.meta.dirname, '..', '..', 'clients', 'typescript', 'src', `${name}.ts`);
    t.ok((await readFile(file, 'utf8')) === (await typesOf(t, name)), 'npm run clients:types');
  });
