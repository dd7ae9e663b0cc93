// The commands of docs/resumable-uploads.md, as they are printed.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { commandBlock, runCommands } from '../../../support/command-blocks.ts';
import { livingProcess } from '../../../support/database.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { soundDetails } from '../installation.ts';
import { installerApp } from '../installer-app.ts';

const db = await cacheDatabase(t);

t.test('a file is uploaded and becomes a dataset as the page says', async (t) => {
  const { instance } = await livingProcess(t, db);
  const app = await installerApp(t, db, { instance });
  const cwd = t.testdir();
  await writeFile(join(cwd, 'genes.txt'), 'PF3D7_0100100\n');
  await writeFile(join(cwd, 'details.json'), JSON.stringify(soundDetails()));
  const user = newUser();
  const printed = await runCommands(commandBlock('resumable'), { cwd, env: { SERVER: app.url, TOKEN: user } });
  const { datasetId } = JSON.parse(printed) as { readonly datasetId: string };
  t.equal(app.store.text(`${user}/${datasetId}/raw/genes.txt`), 'PF3D7_0100100\n');
});
