// The life of a dataset as an operator reads it in the real program: its import fails twice, is retried by an administrator and
// succeeds; it is installed, edited, deleted; and all that is told in order.

import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import type { ReportedEntry } from '../../bin/cli/client/admin-reports.ts';
import { geneList } from '../fixtures/datasets.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';

interface Configuration {
  installer: {
    plugins: Record<string, { scripts: { dataCleaning: { pathOverride: string } } }>;
    lanes?: Record<string, object>;
  };
}

t.test('history tells the whole life of a dataset in order', async (t) => {
  const dir = await tempDir(t);
  const base = ['--port-base', String(await freePortBase())];
  // Writes the configuration, which is then edited.
  await (await up(t, dir, base)).stop();
  const file = join(dir, 'config.yaml');
  const document = parse(await readFile(file, 'utf8')) as Configuration;
  const script = document.installer.plugins.genelist?.scripts.dataCleaning;
  if (!script) throw new Error('there is no plugin genelist');
  const [broken, mended] = [join(dir, 'import.sh'), join(dir, 'mended')];
  await writeFile(
    broken,
    `#!/bin/sh\n[ -e ${mended} ] && exec ${script.pathOverride} "$@"\necho 'reading genes'\necho 'no reference genome' >&2\nexit 75\n`,
    { mode: 0o755 },
  );
  script.pathOverride = broken;
  document.installer.lanes = { import: { retry: { attempts: 2, base: '10ms', max: '20ms' } } };
  await writeFile(file, stringify(document), { mode: 0o600 });
  await up(t, dir, base);

  const genes = join(dir, 'genes.txt');
  // More than is packed before the 202, so the upload has a job of its own.
  await writeFile(genes, geneList(6_000));
  const details = ['--type', 'genelist@1.0', '--target', 'AlphaDB', '--name', 'Genes', '--summary', 'Of interest'];
  const data = ['--data', dir];
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await longshore([...args, ...data]);
    t.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const failed = await longshore(['upload', genes, ...details, ...data, '--watch', '--json']);
  t.equal(failed.code, 1, 'its import fails for good');
  const { datasetId: id } = JSON.parse(failed.stdout.split('\n')[0] ?? '') as { datasetId: string };
  const { results } = JSON.parse(await run('jobs', '--state', 'dead', '--json')) as { results: { id: number }[] };
  await writeFile(mended, '');
  await run('retry', String(results[0]?.id));
  await run('watch', id, '--json');

  const read = async (...options: readonly string[]): Promise<readonly ReportedEntry[]> =>
    (await run('history', id, '--json', ...options))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ReportedEntry);
  const entries = await read();
  t.match(
    entries.map(({ job, request }) => (job ? `${job.lane} ${job.outcome}` : `${request?.method} ${request?.route}`)),
    [
      'POST /datasets',
      'upload done',
      'import retry',
      'import dead',
      'import retried',
      'POST /admin/rpc/jobs/:id/retry',
      'import done',
      'install done',
    ],
  );
  const [, , first, second, , , third, installed] = entries.map(({ job }) => job);
  const process = { host: hostname(), pid: Number, instance: Number };
  const call = { call: 'import-dataset', plugin: 'genelist', outcome: 'error', exitCode: 75 };
  const output = /reading genes\n.*no reference genome/s;
  t.match(first, { attempt: 1, process, message: /attempt 1 of 2.*exit code 75/, calls: [{ ...call, output }] });
  t.match(second, { attempt: 2, process, message: /exit code 75/, calls: [{ ...call, output }] });
  t.match(third, { attempt: 1, calls: [{ call: 'import-dataset', outcome: 'success' }] });
  t.match(installed?.calls, [
    { call: 'install-data', target: 'AlphaDB', outcome: 'success' },
    { call: 'install-meta', target: 'AlphaDB', outcome: 'success' },
  ]);
  const text = await run('history', id);
  t.match(text, /^\S+ +import +retry, attempt 1, .* s, process \d+ \(.*, pid \d+\): attempt 1 of 2/m);
  t.match(text, /^ {4}\| no reference genome$/m);
  t.strictSame(await read('--newest-first', '--limit', '2'), entries.slice(-2).reverse());

  await run('datasets', 'delete', id);
  const until = async (lane: string): Promise<readonly ReportedEntry[]> => {
    for (;;) {
      await run('prune', '--age-cutoff', '1s', '--wait');
      const found = await read();
      if (found.some(({ job }) => job?.lane === lane && job.outcome === 'done')) return found;
    }
  };
  const whole = await until('hardDelete');
  t.equal((await longshore(['datasets', 'show', id, ...data])).code, 1, 'the dataset is gone');
  t.strictSame(whole.slice(0, entries.length), entries, 'its history is not');
  t.match(whole.at(-1)?.job, { lane: 'hardDelete', message: 'dataset removed' });
  const ends = whole.slice(entries.length).map(({ job, request }) => job?.message ?? request?.method);
  for (const expected of ['DELETE', 'dataset deleted']) t.ok(ends.includes(expected), `${expected}: ${ends.join()}`);
});
