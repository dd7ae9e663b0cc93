// The resident process for the scripts of the sample plugins, in the real program.

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, tempDir, up } from '../support/longshore.ts';

t.test('datasets are installed with the resident process, and without it when it crashed', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const residents = (): readonly number[] =>
    processesBelow(dir).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0sample-scripts\0'));
  const api = new Api(app.endpoints.installer, await app.token('5'));
  const installed = async (): Promise<void> => {
    const id = await api.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(10) }]);
    const watched = await longshore(['watch', id, '--data', dir, '--user', '5']);
    t.equal(watched.stdout, 'installed\n', watched.stderr);
  };
  t.same(residents(), [], 'not before it is needed');
  await installed();
  const [pid = 0, ...more] = residents();
  t.same([pid > 0, more], [true, []]);
  const log = await readFile(join(dir, 'longshore.log'), 'utf8');
  t.match(log, /"msg":"script says"/);
  t.notMatch(log, /as (a process|processes) of (its|their) own/);

  process.kill(pid, 'SIGKILL');
  await installed();
  t.match(await readFile(join(dir, 'longshore.log'), 'utf8'), /resident process of the sample scripts crashed/);
  t.equal(await app.stop(), 0);
  t.same(processesBelow(dir), []);
  t.notOk(existsSync(join(dir, 'sample-calls', 'reader')));
});
