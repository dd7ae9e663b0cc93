import t from 'tap';
import type { DatasetId } from '../../../../engine/model/ids.ts';
import { parseMetadata } from '../../../../engine/model/metadata.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { soundDetails } from '../installation.ts';
import { detailsPart, FILE, form, installerApp, NOTHING, post, remains } from '../installer-app.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

t.test('accepts an upload: everything is kept, the job is queued, the answer leads to it', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  const content = Buffer.from(Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256));
  const answer = await post(
    app,
    user,
    ['dataFile', content, 'a.txt'],
    detailsPart({ ...soundDetails(), visibility: 'controlled', name: '  Genes  ' }),
    ['docFile', 'read me', 'Ü notes.pdf'],
    ['file', 'second', 'b.csv'],
    ['url', ''],
  );
  t.equal(answer.status, 202);
  const { datasetId } = answer.body as { datasetId: DatasetId };
  t.match(datasetId, /^[0-9A-Za-z]{16}$/);
  t.equal(answer.headers.get('location'), `${app.url}/datasets/${datasetId}`);
  const prefix = `${user}/${datasetId}`;
  t.strictSame(app.store.keys(), [
    `${prefix}/documents/Ü notes.pdf`,
    `${prefix}/raw/a.txt`,
    `${prefix}/raw/b.csv`,
    `${prefix}/vdi-meta.json`,
  ]);
  const stored = await app.store.get(`${prefix}/raw/a.txt`, undefined, signal);
  t.ok(Buffer.concat((await stored?.body.toArray()) ?? []).equals(content), 'stored byte for byte');
  const metadata = parseMetadata(app.store.text(`${prefix}/vdi-meta.json`) ?? '', 'meta');
  t.match(metadata, { owner: user, name: 'Genes', visibility: 'protected', daysForApproval: 0 });
  t.strictSame(await app.uploads.source(datasetId, signal), {
    kind: 'files',
    files: [
      { name: 'a.txt', size: 70_000 },
      { name: 'b.csv', size: 6 },
    ],
  });
  const metaBytes = Buffer.byteLength(app.store.text(`${prefix}/vdi-meta.json`) ?? '');
  t.equal(await app.uploads.usage(user, signal), 70_006 + 7 + metaBytes, 'every byte that is kept');
  t.match(await app.queries.view(datasetId, signal), { state: 'live', upload: { status: 'running' }, metadata });
  t.strictSame((await app.queries.files(datasetId, signal)).documents, [{ name: 'Ü notes.pdf', size: 7 }]);
  t.strictSame(await app.jobs(datasetId), [{ lane: 'upload', owner: user, source: 'api' }]);
});

t.test('loose files that desktops add are not kept in any folder, and known to whoever tells the owner', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  const answer = await post(
    app,
    user,
    ['dataFile', 'x', '.DS_Store'],
    detailsPart(soundDetails()),
    ['docFile', 'x', 'Thumbs.db'],
    ['dataFile', '', 'desktop.ini'],
    ['docFile', 'x', '~$notes.docx'],
    FILE,
    ['file', 'x', '.DS_Store'],
  );
  t.equal(answer.status, 202);
  const { datasetId } = answer.body as { datasetId: DatasetId };
  const prefix = `${user}/${datasetId}`;
  t.strictSame(app.store.keys(), [`${prefix}/raw/${FILE[2]}`, `${prefix}/vdi-meta.json`]);
  t.match(await app.uploads.source(datasetId, signal), {
    kind: 'files',
    files: [{ name: FILE[2] }],
    leftOut: ['.DS_Store', 'Thumbs.db', 'desktop.ini', '~$notes.docx'],
  });
  const only = await post(app, newUser(), detailsPart(soundDetails()), ['dataFile', 'x', '.DS_Store']);
  t.match([only.status, only.body], [400, { message: /the only files are such as desktops add, .*'\.DS_Store'/ }]);
  const own = await post(app, newUser(), detailsPart(soundDetails()), FILE, ['dataFile', 'x', 'vdi-meta.json']);
  t.equal(own.status, 422);
  t.match(JSON.stringify(own.body), /'vdi-meta\.json' is a reserved name/);
});

t.test('the JSON part may be a file, be named meta and come first', async (t) => {
  const app = await installerApp(t, db);
  const answer = await post(app, newUser(), ['meta', JSON.stringify(soundDetails()), 'meta.json'], FILE);
  t.equal(answer.status, 202);
});

t.test('both interface versions speak of the same metadata', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  for (const version of ['1.7.0', '1.8.0'])
    for (const field of ['studyCharacteristics', 'datasetCharacteristics']) {
      const body = form(detailsPart({ ...soundDetails(), [field]: { studyType: 'x' } }), FILE);
      const answer = await app.call(user, 'POST', '/datasets', { body, headers: { 'api-version': version } });
      t.equal(answer.status, 202);
      const { datasetId } = answer.body as { datasetId: DatasetId };
      const view = await app.queries.view(datasetId, signal);
      t.strictSame(view?.metadata.datasetCharacteristics, { studyType: 'x' });
    }
});

t.test('metadata that comes first is judged before any file is kept', async (t) => {
  const app = await installerApp(t, db);
  const answer = await post(app, newUser(), detailsPart({ ...soundDetails(), name: '' }), FILE);
  t.equal(answer.status, 422);
  t.strictSame(app.store.changes, []);
});

t.test('a target’s own schema is asked last, in the caller’s spelling', async (t) => {
  const metaValidation = { properties: { datasetCharacteristics: { required: ['studyDesign'] } } };
  const app = await installerApp(t, db, {
    settings: {
      installTargets: [{ id: 'PlainSite' as never, name: 'Plain', enabled: true, category: 'other', metaValidation }],
    },
  });
  const user = newUser();
  const answer = await post(
    app,
    user,
    detailsPart({ ...soundDetails(), studyCharacteristics: { studyType: 'x' } }),
    FILE,
  );
  t.equal(answer.status, 422);
  t.strictSame((answer.body as { errors: object }).errors, {
    general: [],
    byKey: { 'studyCharacteristics.studyDesign': ['is missing; a value is required (by install target PlainSite)'] },
  });
  t.strictSame(await remains(app, db, user), NOTHING);
});

t.test('property files are kept where the type uses them, and required of a public dataset', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  const details = detailsPart({ ...soundDetails(), type: { name: 'RNASeq', version: '1.0' }, visibility: 'public' });
  const refused = await post(app, user, details, ['dataFile', 'x', 'a.bam']);
  t.strictSame((refused.body as { errors: object }).errors, {
    general: [],
    byKey: { dataPropertiesFile: ['is missing; a public dataset of rnaseq:1.0 needs one'] },
  });
  t.strictSame(await remains(app, db, user), NOTHING);
  const taken = await post(app, user, details, ['dataFile', 'x', 'a.bam'], ['dataPropertiesFile', 'id\n', 'p.tsv']);
  t.equal(taken.status, 202);
  const { datasetId } = taken.body as { datasetId: DatasetId };
  t.equal(app.store.text(`${user}/${datasetId}/datasetProperties/p.tsv`), 'id\n');
  t.strictSame((await app.queries.files(datasetId, signal)).properties, [{ name: 'p.tsv', size: 3 }]);
});

t.test(
  'while too many jobs of a user wait, further uploads are 429 with Retry-After, and those of others are taken',
  async (t) => {
    const app = await installerApp(t, db, { settings: { waitingPerUser: 2 } });
    const [user, other] = [newUser(), newUser()];
    const wait = (lane: string, state: string, runAt: string) =>
      db.query(
        `insert into job (lane, dataset_id, rank, owner, event_id, source, state, run_at, failure)
       values ($1, $2, 1, $3::numeric, 1, 'api', $4, $5::timestamptz, case $4 when 'dead' then 'defect' end)`,
        [lane, `${user}-${lane}-${state}`, user, state, runAt],
      );
    await wait('upload', 'queued', 'now');
    await wait('install', 'dead', 'infinity');
    t.equal((await post(app, user, detailsPart(soundDetails()), FILE)).status, 202, 'what is dead does not count');
    await wait('import', 'delayed', 'tomorrow');
    const refused = await post(app, user, detailsPart(soundDetails()), FILE);
    t.match(refused, {
      status: 429,
      body: { status: 'bad-request', message: /^2 of your uploads, imports and installs wait/ },
    });
    t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/);
    t.equal((await post(app, other, detailsPart(soundDetails()), FILE)).status, 202);
  },
);
