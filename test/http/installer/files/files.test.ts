import t from 'tap';
import { OldFileListing } from '../../../../http/installer/files/files.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App, installerApp } from '../installer-app.ts';
import { responseFaults, schemaOf } from '../response-check.ts';
import { add, imported } from '../stored-datasets.ts';

const db = await cacheDatabase(t);

const statusOf = async (app: App, user: string | undefined, path: string): Promise<number> =>
  (await app.call(user, 'GET', path)).status;

t.test('the file listing has sizes from the import on, in both versions', async (t) => {
  const app = await installerApp(t, db);
  const me = newUser();
  const waiting = await add(app, db, me);
  const early = await app.call(me, 'GET', `/datasets/${waiting.dataset}/files`);
  t.strictSame(early.body, {
    upload: { zipSize: -1, contents: [] },
    documents: [{ fileName: 'notes.pdf', fileSize: 5 }],
    datasetProperties: [{ fileName: 'p.tsv', fileSize: 6 }],
  });
  const done = await imported(app, db, me);
  const late = await app.call(me, 'GET', `/datasets/${done.dataset}/files`);
  t.strictSame(responseFaults(schemaOf(app.routes, 'listDatasetFiles', 200), late.text), []);
  t.match(late.body, {
    upload: { zipSize: 10, contents: [{ fileName: 'a/genes.txt', fileSize: 7 }] },
    install: { zipSize: 17, contents: [{ fileName: 'genes.txt', fileSize: 8 }] },
  });
  const old = await app.call(me, 'GET', `/datasets/${done.dataset}/files`, { headers: { 'api-version': '1.7.0' } });
  t.strictSame(responseFaults(OldFileListing, old.text), []);
});

t.test('both archives can be downloaded once they exist', async (t) => {
  const app = await installerApp(t, db);
  const me = newUser();
  const waiting = await add(app, db, me);
  const { dataset } = await imported(app, db, me);
  for (const [path, name, content] of [
    ['upload', 'upload', 'the upload'],
    ['install', 'data', 'the install files'],
  ] as const) {
    const answer = await app.call(me, 'GET', `/datasets/${dataset}/files/${path}`);
    t.strictSame(
      [
        answer.status,
        answer.text,
        answer.headers.get('content-type'),
        answer.headers.get('content-length'),
        answer.headers.get('content-disposition')?.replaceAll('"', ''),
      ],
      [200, content, 'application/zip', String(content.length), `attachment; filename=${dataset}-${name}.zip`],
    );
    t.match(await app.call(me, 'GET', `/datasets/${waiting.dataset}/files/${path}`), {
      status: 404,
      body: { status: 'not-found' },
    });
    t.equal(await statusOf(app, undefined, `/datasets/${dataset}/files/${path}?access_token=${me}`), 200);
  }
  const admin = { 'admin-token': ADMIN_TOKEN };
  for (const path of ['', '/upload', '/install'])
    t.equal((await app.call(undefined, 'GET', `/datasets/${dataset}/files${path}`, { headers: admin })).status, 200);
});
