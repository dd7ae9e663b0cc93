// Schemathesis sends what the OpenAPI documents allow, and what they do not, to the running program: no answer is a 5xx, and none
// is outside the document. It does this for LONGSHORE_FUZZ_SECONDS per document (default 20), with LONGSHORE_SEED, for all services
// or those of LONGSHORE_FUZZ_SERVICES, such as `installer,access`.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { SCHEMATHESIS } from './python-packages.ts';

const SECONDS = Number(process.env.LONGSHORE_FUZZ_SECONDS ?? 20);
const ONLY = process.env.LONGSHORE_FUZZ_SERVICES?.split(',');
const SEED = process.env.LONGSHORE_SEED ?? '1';
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
].join();

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const { adminToken, pid: _pid, ...services } = app.endpoints;
const bearer = await app.token('5');

/** Users and administrators may call different operations, and see different answers of the same ones. */
const CALLERS = {
  user: `[auth.openapi.bearer]\nbearer = "${bearer}"\n[auth.openapi.authKey]\napi_key = "${bearer}"\n`,
  administrator: `[auth.openapi.adminToken]\napi_key = "${adminToken}"\n`,
};

for (const [service, url] of Object.entries(services).filter(([name]) => ONLY?.includes(name) ?? true))
  for (const [caller, auth] of Object.entries(CALLERS))
    t.test(`${service}, called by a ${caller}`, async (t) => {
      const config = join(t.testdir(), 'schemathesis.toml');
      await writeFile(config, auth);
      const { code, stdout } = await run(SCHEMATHESIS.program('schemathesis'), [
        ...['--config-file', config, 'run', `${url}/api/openapi.json`, '--checks', CHECKS],
        ...['--max-time', String(SECONDS / 2), '--seed', SEED, '--continue-on-failure', '--no-color'],
        // It makes every change of the store wait for a minute.
        ...['--exclude-operation-id', 'holdObjectStore'],
        ...['--suppress-health-check', 'all', '--warnings', 'off'],
      ]);
      // Before that it draws its progress.
      const begin = Math.max(0, stdout.indexOf('= FAILURES =') - 40);
      t.equal(code, 0, stdout.slice(begin, begin + 20_000));
    });

t.test('the program is as it was', async (t) => {
  t.equal((await fetch(`${services.installer}/ready`)).status, 200);
});

async function run(program: string, args: readonly string[]): Promise<{ code: number; stdout: string }> {
  const env = { ...process.env, SCHEMATHESIS_HOOKS: 'fuzz_hooks', PYTHONPATH: join(import.meta.dirname, 'clients') };
  try {
    const { stdout } = await promisify(execFile)(program, args, { env, maxBuffer: 64 * 1024 * 1024 });
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout: stdout + stderr };
  }
}
