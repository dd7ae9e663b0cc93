// The commands of docs/idempotency.md, as they are printed.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { commandBlock, runCommands } from '../../../support/command-blocks.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { soundDetails } from '../installation.ts';
import { installerApp } from '../installer-app.ts';

const db = await cacheDatabase(t);

t.test('a dataset is created as the page says, and its second request creates nothing', async (t) => {
  const app = await installerApp(t, db);
  const cwd = t.testdir();
  await writeFile(join(cwd, 'genes.txt'), 'PF3D7_0100100\n');
  await writeFile(join(cwd, 'details.json'), JSON.stringify(soundDetails()));
  const user = newUser();
  const block = commandBlock('idempotency');
  const again = block.slice(block.indexOf('curl'));
  const printed = await runCommands(`${block}\n${again}`, { cwd, env: { SERVER: app.url, TOKEN: user } });
  const [first, second, ...others] = [...printed.matchAll(/\{[^}]*\}/g)].map(([text]) => text);
  t.match(first, '"datasetId"');
  t.strictSame([second, others], [first, []]);
});
