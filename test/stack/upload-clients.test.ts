// The same files, uploaded to the real program by the clients that people use: the same names are stored and installed.

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { browser } from '../browser/browser.ts';
import { CLIENT_NAMES, REFUSED_CLIENT_NAMES } from '../fixtures/client-forms.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { settled } from '../support/site-state.ts';
import { type Sent, uploads } from './clients/clients.ts';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const token = await app.token('77');
const api = new Api(app.endpoints.installer, token);
const sent: Omit<Sent, 'files'> = {
  base: app.endpoints.installer,
  token,
  details: JSON.stringify(detailsOf('lightweight')),
};
const CLIENTS = uploads(await browser(t));
const folder = t.testdir();
const CONTENT = 'x';
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

async function paths(names: readonly string[]): Promise<readonly string[]> {
  const files = names.map((name) => join(folder, name));
  for (const file of files) await writeFile(file, CONTENT);
  return files;
}

interface Files {
  readonly upload: {
    readonly contents: readonly { readonly fileName: string; readonly fileSize: number; readonly sha256: string }[];
  };
  readonly install: Files['upload'];
}

t.test('every client that people use brings a name to the same file, in any script', async (t) => {
  const files = await paths(CLIENT_NAMES);
  const ids: Record<string, string> = {};
  for (const [client, upload] of Object.entries(CLIENTS)) {
    const { status, body } = await upload({ ...sent, files });
    if (t.equal(status, 202, `${client}: ${body}`)) ids[client] = (JSON.parse(body) as { datasetId: string }).datasetId;
  }
  await settled(dir);
  const expected = [...CLIENT_NAMES].sort().map((fileName) => ({ fileName, fileSize: 1, sha256: SHA256 }));
  const sorted = ({ contents }: Files['upload']) => contents.toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1));
  for (const [client, id] of Object.entries(ids)) {
    const { upload, install } = (await api.json(`/datasets/${id}/files`)) as Files;
    t.strictSame(sorted(upload), expected, `${client}: uploaded`);
    t.strictSame(sorted(install), expected, `${client}: installed`);
  }
});

t.test('a name that we do not take is refused by name, whoever sends it', async (t) => {
  const files = await paths([...REFUSED_CLIENT_NAMES]);
  for (const [client, upload] of Object.entries(CLIENTS))
    for (const file of files) {
      const { status, body } = await upload({ ...sent, files: [file] });
      t.match([status, body], [400, /part 'dataFile': the file name .* must not hold \/ or /], `${client}: ${file}`);
    }
});
