// Documents and property files of an installed dataset in the real program, byte by byte; a change of the property files
// reaches the sites.

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { SITES } from '../support/places.ts';
import { settled, wholeState } from '../support/site-state.ts';
import { queryTarget } from '../support/sites.ts';

const OWNER = '9007199254740993';
const TYPE = 'lightweight';

const dir = await tempDir(t);
const base = String(await freePortBase());
await (await up(t, dir, ['--port-base', base])).stop();
await useProperties();
const app = await up(t, dir, ['--port-base', base]);
const token = await app.token(OWNER);
const api = new Api(app.endpoints.installer, token);
const id = await api.upload(detailsOf(TYPE), [{ name: 'any.bin', content: 'anything' }]);
await settled(dir);

/** None of the samples uses property files: one of them does from here on. */
async function useProperties(): Promise<void> {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as {
    installer: { plugins: Record<string, { dataTypes: { usesDataProperties: boolean }[] }> };
  };
  for (const type of config.installer.plugins[TYPE]?.dataTypes ?? []) type.usesDataProperties = true;
  await writeFile(file, stringify(config));
}

const call = (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer | ReadableStream) =>
  fetch(`${app.endpoints.installer}/datasets/${id}/files/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  });
const bytesOf = async (response: Awaited<ReturnType<typeof call>>): Promise<Buffer> =>
  Buffer.from(await response.arrayBuffer());

/** What the sites' own tables say about the property files. */
const onSites = () =>
  Promise.all(
    SITES.map(async (site) => {
      const [row] = await queryTarget<{ properties: readonly string[] }>(
        dir,
        site,
        'dataDb',
        'select properties from dataset_meta where dataset_id = $1',
        [id],
      );
      return row?.properties;
    }),
  );
/** When the sites' metadata were installed, and how that ended. */
const installs = () =>
  Promise.all(
    SITES.map(async (site) => {
      const [row] = await queryTarget<{ status: string; updated: Date }>(
        dir,
        site,
        'controlDb',
        `select status, updated from dataset_install_message
         where dataset_id = $1 and target_id = $2 and install_type = 'meta'`,
        [id, site],
      );
      return { status: row?.status, at: row?.updated.getTime() ?? 0 };
    }),
  );

t.test('a document comes back byte by byte, whole and in part', async (t) => {
  const content = randomBytes(3 * 1024 * 1024 + 17);
  const name = encodeURIComponent('Read me – первый.pdf');
  const pieces = new Blob([content]).stream();
  const put = await call('PUT', `documents/${name}`, { 'content-type': 'application/octet-stream' }, pieces);
  t.equal(put.status, 204, await put.text());
  t.match(await api.json(`/datasets/${id}/files`), {
    documents: [{ fileName: 'Read me – первый.pdf', fileSize: content.length }],
    datasetProperties: [],
  });
  const whole = await call('GET', `documents/${name}`);
  t.ok((await bytesOf(whole)).equals(content));
  t.match(whole.headers.get('content-disposition'), `filename*=UTF-8''${name}`);
  const from = content.length - 1_000;
  const part = await call('GET', `documents/${name}`, { range: `bytes=${from}-` });
  t.equal(part.status, 206);
  t.ok((await bytesOf(part)).equals(content.subarray(from)));
  const out = join(dir, 'out.pdf');
  const command = ['datasets', 'download', id, '--document', 'Read me – первый.pdf', '--out', out];
  t.match(await longshore([...command, '--data', dir, '--user', OWNER]), { code: 0, stdout: `${out}\n` });
  t.ok((await readFile(out)).equals(content));
  await settled(dir);
  t.strictSame(await onSites(), [[], []], 'sites know nothing of documents');

  t.equal((await call('DELETE', `documents/${name}`)).status, 204);
  t.equal((await call('GET', `documents/${name}`)).status, 404);
  t.match(await api.json(`/datasets/${id}/files`), { documents: [] });
});

t.test('every change of a property file installs the metadata again on both sites', async (t) => {
  const tsv = { 'content-type': 'text/tab-separated-values' };
  let before = await installs();
  const changed = async (properties: readonly string[]): Promise<void> => {
    await settled(dir);
    const now = await installs();
    t.strictSame(
      now.map(({ status, at }, i) => ({ status, later: at > (before[i]?.at ?? 0) })),
      SITES.map(() => ({ status: 'complete', later: true })),
    );
    t.strictSame(await onSites(), [properties, properties]);
    before = now;
  };
  t.strictSame(await onSites(), [[], []]);
  const path = 'dataset-properties/map.tsv';
  t.equal((await call('PUT', path, tsv, Buffer.from('id\tname\n'))).status, 202);
  await changed(['map.tsv']);
  t.equal((await call('PUT', 'variable-properties/map.tsv', tsv, Buffer.from('id\tname\n1\tα\n'))).status, 202);
  await changed(['map.tsv']);
  const shown = await call('GET', `${path}?download=false`, { range: 'bytes=8-' });
  t.equal(await shown.text(), '1\tα\n');
  t.equal((await call('DELETE', path)).status, 204);
  await changed([]);
  const { cache, objects, leftovers } = await wholeState(dir, OWNER, id, 'dataset_meta');
  t.notOk(cache?.files.some((file) => /^(document|property) /.test(file)));
  t.strictSame(objects, ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']);
  t.strictSame(leftovers, { jobs: 0, leases: 0, attempts: 0, uploads: 0 });
});

t.test('the stored metadata can be read, and other types take no property files', async (t) => {
  t.match(await api.json(`/datasets/${id}/files/vdi-meta.json`), { name: `A ${TYPE} dataset`, type: { name: TYPE } });
  t.equal((await call('GET', 'upload-error.json')).status, 404);
  const genes = await api.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: 'PF3D7_0100100\n' }]);
  const refused = await fetch(`${app.endpoints.installer}/datasets/${genes}/files/dataset-properties/map.tsv`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/tab-separated-values' },
    body: 'id\n',
  });
  t.match([refused.status, await refused.json()], [403, { message: 'genelist:1.0 does not use data property files' }]);
  const watched = await longshore(['watch', genes, '--data', dir, '--user', OWNER]);
  t.equal(watched.stdout, 'installed\n', watched.stderr);
});
