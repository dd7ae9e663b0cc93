// What operators and users are told when something is really broken: a full disk below the object store, and a script that
// fails. The store of `up` is a small file system in memory.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { callAt, uploadAt } from '../attack/support/calls.ts';
import { linesOf } from '../support/log-lines.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

interface Written {
  containerCore: { disk?: object };
  installer: { plugins: Record<string, { scripts?: object }> };
}

const run = promisify(execFile);
const MIB = 1024 * 1024;
const options = process.getuid?.() === 0 ? {} : { skip: 'only root may mount a file system' };

t.test('a full store and a failed script are told as what they are', options, async (t) => {
  const dir = await tempDir(t);
  const args = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, args)).stop();
  const store = join(dir, 'objects');
  await run('mount', ['-t', 'tmpfs', '-o', `size=${2 * MIB}`, 'tmpfs', store]);
  t.teardown(() => run('umount', ['-l', store]));
  const script = join(dir, 'broken-import');
  await writeFile(script, `#!/bin/sh\necho "cannot open ${dir}/table" >&2\nexit 7\n`, { mode: 0o755 });
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Written;
  // Nothing is kept free, so the disk is really full.
  config.containerCore.disk = { floor: 0, floorSize: 0 };
  for (const plugin of Object.values(config.installer.plugins))
    plugin.scripts = { ...plugin.scripts, dataCleaning: { pathOverride: encodeURI(script) } };
  await writeFile(file, stringify(config));
  const app = await up(t, dir, args);
  const { installer } = app.endpoints;
  const authorization = `Bearer ${await app.token('4711')}`;
  const lines = () => linesOf(join(dir, 'longshore.log'));

  const { status, body } = await uploadAt(installer, authorization, 'large.txt', Buffer.alloc(4 * MIB));
  t.match([status, body], [503, { status: 'server-error', message: /^the disk of the service is full/ }]);
  const { requestId } = body as { requestId: string };
  t.match(
    lines().filter(({ request, msg }) => request === requestId && msg === 'request failed'),
    [{ level: 'warn', err: { message: /ENOSPC/ } }],
  );
  t.equal((await callAt(`${installer}/ready`, 'GET')).status, 200, 'it serves all that does not write');

  const health = async () => (await callAt(`${installer}/health`, 'GET')).body;
  t.match(await health(), { status: 'degraded' });

  const small = await uploadAt(installer, authorization, 'small.txt', Buffer.from('x'));
  t.equal(small.status, 202, JSON.stringify(small.body));
  const { datasetId } = small.body as { datasetId: string };
  const details = async () => (await callAt(`${installer}/datasets/${datasetId}`, 'GET', { authorization })).body;
  const imported = async () =>
    ((await details()) as { status: { import?: { status: string; messages?: string[] } } }).status.import;
  while ((await imported())?.status !== 'failed');
  t.match(await imported(), { messages: ['the import script of the plugin failed; an administrator has the details'] });
  t.notMatch(JSON.stringify(await details()), dir);
  const about = lines().filter(({ msg }) => msg === 'job failed' || msg === 'script ended');
  t.match(about, [
    { level: 'warn', msg: 'script ended', status: 'failed', exitCode: 7 },
    { level: 'warn', msg: 'job failed', lane: 'import', outcome: 'failed', exitCode: 7, reason: /exit code 7$/ },
  ]);
  t.match(
    (await callAt(`${installer}/metrics`, 'GET')).body,
    /^longshore_lane_jobs_total\{lane="import",outcome="failed"\} 1$/m,
  );
});
