import t from 'tap';
import { fileKey } from '../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { type App, installerApp } from './installer-app.ts';
import { type Added, imported, owned } from './stored-datasets.ts';

const db = await cacheDatabase(t);

const TSV = { 'content-type': 'text/tab-separated-values' };
const RNASEQ = { type: { name: 'rnaseq', version: '1.0' } };
const SEGMENTS = ['dataset-properties', 'variable-properties'] as const;
const pathOf = (at: Added, name: string, segment: string = SEGMENTS[0]): string =>
  `/datasets/${at.dataset}/files/${segment}/${name}`;
const put = (app: App, user: string | undefined, at: Added, name: string, body: string, segment?: string) =>
  app.call(user, 'PUT', pathOf(at, name, segment), { body, headers: TSV });

const changes = (app: App) => app.store.changes.filter(({ key }) => key.includes('/datasetProperties/'));

t.test('property files are stored, listed, shown and removed at both paths, in both versions', async (t) => {
  const app = await installerApp(t, db);
  const me = newUser();
  for (const segment of SEGMENTS)
    for (const version of ['1.7.0', '1.8.0']) {
      const at = await imported(app, db, me, RNASEQ);
      const headers = { ...TSV, 'api-version': version };
      const [path, before] = [pathOf(at, 'map.tsv', segment), changes(app).length];
      const listing = async () => {
        const answer = await app.call(me, 'GET', `/datasets/${at.dataset}/files`, { headers });
        const { datasetProperties, variableProperties } = answer.body as Record<string, unknown>;
        return { datasetProperties, variableProperties };
      };
      const inListing = (files: unknown) =>
        version === '1.7.0'
          ? { datasetProperties: undefined, variableProperties: files }
          : { datasetProperties: files, variableProperties: undefined };

      const created = await app.call(me, 'PUT', path, { body: 'a\tb\n', headers });
      t.strictSame([created.status, created.text], [202, ''], `${segment} ${version}`);
      t.strictSame(await listing(), inListing([{ fileName: 'map.tsv', fileSize: 4 }]));
      const saved = await app.call(me, 'GET', path, { headers });
      t.strictSame(
        [
          saved.status,
          saved.text,
          saved.headers.get('content-type'),
          saved.headers.get('content-disposition')?.replaceAll('"', ''),
        ],
        [200, 'a\tb\n', 'text/tab-separated-values', 'attachment; filename=map.tsv'],
      );
      const shown = await app.call(me, 'GET', `${path}?download=false`, { headers });
      t.strictSame(
        [shown.status, shown.text, shown.headers.get('content-disposition')?.split(';')[0]],
        [200, 'a\tb\n', 'inline'],
      );
      const part = await app.call(me, 'GET', path, { headers: { ...headers, range: 'bytes=2-' } });
      t.strictSame([part.status, part.text], [206, 'b\n']);
      t.equal((await app.call(undefined, 'GET', `${path}?access_token=${me}`)).status, 200);
      t.equal((await app.call(me, 'DELETE', path, { headers })).status, 204);
      t.equal((await app.call(me, 'GET', path, { headers })).status, 404);
      t.strictSame(await listing(), inListing([]));
      const key = fileKey(at, 'datasetProperties', 'map.tsv');
      t.strictSame(changes(app).slice(before), [
        { kind: 'created', key },
        { kind: 'removed', key },
      ]);
    }
});

t.test('both paths lead to the same files', async (t) => {
  const { app, owner: me, at } = await owned(t, db, RNASEQ);
  await put(app, me, at, 'map.tsv', 'old', 'variable-properties');
  await put(app, me, at, 'map.tsv', 'newer', 'dataset-properties');
  t.equal((await app.call(me, 'GET', pathOf(at, 'map.tsv', 'variable-properties'))).text, 'newer');
  t.equal((await put(app, me, at, 'Map.tsv', 'x', 'variable-properties')).status, 400);
});

t.test(
  'only a type that uses property files takes them, and what is there can be taken away all the same',
  async (t) => {
    const app = await installerApp(t, db);
    const me = newUser();
    for (const name of ['genelist', 'unknown']) {
      const at = await imported(app, db, me, { type: { name, version: '1.0' } });
      const refused = await put(app, me, at, 'map.tsv', 'a');
      t.strictSame(
        [refused.status, refused.body],
        [403, { status: 'forbidden', message: `${name}:1.0 does not use data property files` }],
      );
      t.equal((await app.call(me, 'DELETE', pathOf(at, 'p.tsv'))).status, 204);
    }
    t.strictSame(changes(app), []);
  },
);

t.test('property files are put as text separated by tabs, into a dataset that is not deleted', async (t) => {
  const { app, owner, at } = await owned(t, db, RNASEQ);
  const typed = async (type: string) =>
    (await app.call(owner, 'PUT', pathOf(at, 'map.tsv'), { body: 'a', headers: { 'content-type': type } })).status;
  t.equal(await typed('application/json'), 415);
  t.equal(await typed('Text/Tab-Separated-Values; charset=utf-8'), 202);
  await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [at.dataset]);
  t.equal(await typed('text/tab-separated-values'), 410);
  for (const method of ['GET', 'DELETE'])
    t.equal((await app.call(owner, method, pathOf(at, 'map.tsv'))).status, 410, method);
});
