// Listing, details, files and downloads, as different people see them.

import t, { type Test } from 'tap';
import { type DatasetId, revisionOf, targetId, type UserId } from '../../../engine/model/ids.ts';
import { type DatasetMetadata, serialiseMetadata } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { OldDatasetDetails } from '../../../http/installer/schema/dataset-details.ts';
import { OldFileListing } from '../../../http/installer/schema/file-listing.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { fullMetadataOf, metadataOf, newDataset, newUser } from '../../support/dataset-samples.ts';
import { SETTINGS } from './installation.ts';
import { ADMIN_TOKEN, type App, type AppOptions, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
/** The targets that the sample metadata names, beside the usual ones. */
const installTargets = [
  ...SETTINGS,
  ...['PlasmoSite', 'ToxoSite'].map((id) => ({
    id: targetId(id),
    name: `The ${id}`,
    enabled: true,
    category: 'other' as const,
  })),
];
const setup = (t: Test, options: AppOptions = {}) =>
  installerApp(t, db, { ...options, settings: { installTargets, ...options.settings } });

interface Added {
  readonly owner: UserId;
  readonly dataset: DatasetId;
}

/** A dataset that was accepted; then imported, when `columns` say so. */
async function add(
  app: App,
  owner: UserId,
  metadata: Partial<DatasetMetadata> = {},
  columns: Readonly<Record<string, string>> = {},
  dataset = newDataset(),
): Promise<Added> {
  const at = { owner, dataset };
  await app.uploads.begin(at, 0, 1e9, signal);
  const stored = metadataOf(owner, metadata);
  const key = objectKey(at, 'vdi-meta.json');
  const { modified, etag } = await app.store.put(key, Buffer.from(serialiseMetadata(stored)), {}, signal);
  await app.uploads.accept(
    {
      ...at,
      metadata: stored,
      metaVersion: { modified, etag },
      source: { kind: 'files', files: [] },
      documents: [{ name: 'notes.pdf', size: 5 }],
      properties: [{ name: 'p.tsv', size: 6 }],
      eventId: 1,
    },
    signal,
  );
  for (const [column, value] of Object.entries(columns))
    await db.query(`update dataset set ${column} = $2 where dataset_id = $1`, [dataset, value]);
  return at;
}

const IMPORTED = { upload_status: 'success', import_status: 'complete' };

/** What the import left behind. */
async function imported(app: App, owner: UserId, metadata: Partial<DatasetMetadata> = {}): Promise<Added> {
  const at = await add(app, owner, metadata, IMPORTED);
  await db.query(
    `insert into dataset_file (dataset_id, folder, name, size)
     values ($1, 'upload', 'a/genes.txt', 7), ($1, 'install', 'genes.txt', 8)`,
    [at.dataset],
  );
  await db.query('update dataset set upload_file_count = 1, upload_file_bytes = 7 where dataset_id = $1', [at.dataset]);
  await app.store.put(objectKey(at, 'import-ready.zip'), Buffer.from('the upload'), {}, signal);
  await app.store.put(objectKey(at, 'install-ready.zip'), Buffer.from('the install files'), {}, signal);
  return at;
}

async function share(at: Added, recipient: UserId, offer: string, receipt: string | null): Promise<void> {
  await db.query(
    `insert into dataset_share (dataset_id, recipient_id, offer, receipt) values ($1, $2::numeric, $3, $4)
     on conflict (dataset_id, recipient_id) do update set offer = excluded.offer, receipt = excluded.receipt`,
    [at.dataset, recipient, offer, receipt],
  );
}

const statusOf = async (app: App, user: string | undefined, path: string): Promise<number> =>
  (await app.call(user, 'GET', path)).status;

t.test('the listing shows own and accepted datasets, newest first, as the schema says', async (t) => {
  const app = await setup(t);
  const [me, friend] = [newUser(), newUser()];
  await app.accounts.remember(
    { userId: friend, firstName: 'Fay', lastName: 'Doe', email: 'f@x.org', affiliation: 'X' },
    signal,
  );
  const old = await imported(app, me, { created: '2026-01-01T00:00:00.000Z' });
  await share(old, friend, 'grant', 'accept');
  const recent = await add(app, me, {
    created: '2026-03-01T00:00:00.000Z',
    visibility: 'protected',
    daysForApproval: 0,
    installTargets: [targetId('ToxoSite')],
  });
  const theirs = await add(app, friend, { created: '2026-02-01T00:00:00.000Z' });
  await share(theirs, me, 'grant', 'accept');
  const offered = await add(app, friend);
  await share(offered, me, 'grant', null);

  const ids = async (query: string) => {
    const answer = await app.call(me, 'GET', `/datasets${query}`);
    t.strictSame(responseFaults(schemaOf(app.routes, 'listDatasets', 200), answer.text), [], query);
    return (answer.body as { datasetId: string }[]).map((item) => item.datasetId);
  };
  t.strictSame(await ids(''), [recent.dataset, theirs.dataset, old.dataset]);
  t.strictSame(await ids('?ownership=owned'), [recent.dataset, old.dataset]);
  t.strictSame(await ids('?ownership=shared'), [theirs.dataset]);
  t.strictSame(await ids('?limit=1&offset=1'), [theirs.dataset]);
  t.strictSame(await ids('?limit=-1&offset=2'), [old.dataset]);
  t.strictSame(await ids('?limit=0'), []);
  t.strictSame(await ids('?install_target=ToxoSite'), [recent.dataset]);

  const { body, text } = await app.call(me, 'GET', '/datasets');
  t.match(text, `"userId":${me},`, 'every digit of a large user id');
  t.match(body, [
    { visibility: 'controlled', status: { upload: { status: 'running' }, import: { status: 'queued' }, install: [] } },
    { owner: { firstName: 'Fay', email: 'f@x.org' }, shares: [] },
    {
      fileCount: 1,
      fileSizeTotal: 7,
      shares: [{ firstName: 'Fay', lastName: 'Doe', affiliation: 'X', accepted: true }],
      status: {
        import: { status: 'complete' },
        install: [{ installTarget: 'PlasmoSite', meta: { status: 'queued' }, data: { status: 'queued' } }],
      },
    },
  ]);
});

t.test('an empty listing is an empty array', async (t) => {
  const app = await setup(t);
  const answer = await app.call(newUser(), 'GET', '/datasets');
  t.strictSame([answer.status, answer.body], [200, []]);
});

t.test('a wrong query parameter of the listing is 400 and named', async (t) => {
  const app = await setup(t);
  const user = newUser();
  for (const [query, message] of [
    ['install_target=Nowhere', /^query parameter 'install_target' is 'Nowhere'; install targets are PlainSite, /],
    ['install_target=abc', /^query parameter 'install_target' is 'abc': /],
    ['ownership=mine', /^query parameter 'ownership' is 'mine': one of any, owned, shared$/],
    ['limit=-2', /^query parameter 'limit' is '-2': /],
    ['offset=x', /^query parameter 'offset' is 'x': /],
    ['page=1', /^query parameter 'page' is unknown; known: install_target, ownership, limit, offset$/],
  ] as const) {
    const answer = await app.call(user, 'GET', `/datasets?${query}`);
    t.match([answer.status, answer.body], [400, { status: 'bad-request', message }], query);
  }
});

t.test('details show everything in both versions, as the schemas say', async (t) => {
  const app = await setup(t);
  const [me, friend] = [newUser(), newUser()];
  const dataset = newDataset();
  const at = await add(app, me, fullMetadataOf(me, dataset), IMPORTED, dataset);
  await share(at, friend, 'revoke', 'accept');
  await add(app, me, { projectName: 'Project P', name: 'Related' });
  const answer = await app.call(me, 'GET', `/datasets/${dataset}`);
  t.equal(answer.status, 200);
  t.strictSame(responseFaults(schemaOf(app.routes, 'getDataset', 200), answer.text), []);
  const version = (await app.store.head(objectKey(at, 'vdi-meta.json'), signal))?.etag;
  const etag = answer.headers.get('etag') ?? '';
  t.match(etag, new RegExp(`^"${version}\\.[\\w-]{27}"$`));
  t.equal(answer.headers.get('api-version'), '1.8.0');
  t.match(answer.body, {
    datasetId: dataset,
    datasetCharacteristics: { studyDesign: 'cohort' },
    shares: [{ status: 'revoke' }],
    revisionHistory: { revisions: [{ fileListUrl: `${app.url}/datasets/${dataset}/files` }] },
    relatedDatasets: [{ name: 'Related', relatedBy: { relationType: 'project-name', identifier: 'Project P' } }],
    files: { upload: { zipSize: -1 }, documents: [{ fileName: 'notes.pdf', fileSize: 5 }] },
  });
  t.notOk('firstPublished' in (answer.body as object));

  const old = await app.call(me, 'GET', `/datasets/${dataset}`, { headers: { 'api-version': '1.7.0' } });
  t.strictSame(responseFaults(OldDatasetDetails, old.text), []);
  t.match(old.body, {
    studyCharacteristics: { studyDesign: 'cohort' },
    files: { variableProperties: [{ fileName: 'p.tsv', fileSize: 6 }] },
  });
});

t.test('the tag of the details changes with the status, its first part only with the metadata', async (t) => {
  const app = await setup(t);
  const me = newUser();
  const { dataset } = await add(app, me);
  const get = (headers: Record<string, string> = {}) => app.call(me, 'GET', `/datasets/${dataset}`, { headers });
  const before = (await get()).headers.get('etag') ?? '';
  t.equal((await get({ 'if-none-match': before })).status, 304);
  await db.query(`update dataset set import_status = 'failed', upload_status = 'success' where dataset_id = $1`, [
    dataset,
  ]);
  const after = await get({ 'if-none-match': before });
  t.equal(after.status, 200);
  t.not(after.headers.get('etag'), before);
  t.equal(after.headers.get('etag')?.split('.')[0], before.split('.')[0]);
});

t.test('live install statuses replace the mirror where they are wired in', async (t) => {
  const live = { target: targetId('PlasmoSite'), kind: 'data', status: 'complete', messages: ['fine'] } as const;
  const app = await setup(t, { installStatus: async () => [live] });
  const me = newUser();
  const { dataset } = await imported(app, me);
  const answer = await app.call(me, 'GET', `/datasets/${dataset}`);
  t.strictSame((answer.body as { status: { install: unknown } }).status.install, [
    { installTarget: 'PlasmoSite', meta: { status: 'queued' }, data: { status: 'complete', messages: ['fine'] } },
  ]);
});

t.test('who may see what', async (t) => {
  const app = await setup(t);
  const [owner, friend, invited, revoked, stranger] = Array.from({ length: 5 }, newUser) as [
    UserId,
    UserId,
    UserId,
    UserId,
    UserId,
  ];
  const shareWithAll = async (at: Added): Promise<Added> => {
    await share(at, friend, 'grant', 'accept');
    await share(at, invited, 'grant', null);
    await share(at, revoked, 'revoke', 'accept');
    return at;
  };
  const people = { owner, friend, invited, revoked, stranger };
  const seen = async (path: string) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(people).map(async ([name, user]) => [name, await statusOf(app, user, path)] as const),
      ),
    );
  const hidden = await shareWithAll(await imported(app, owner));
  const open = await shareWithAll(await imported(app, owner, { visibility: 'protected' }));
  const deleted = await shareWithAll(await imported(app, owner));
  const unpublished = await shareWithAll(
    await imported(app, owner, { visibility: 'public', firstPublished: '2026-01-01T00:00:00.000Z' }),
  );
  for (const at of [deleted, unpublished])
    await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [at.dataset]);

  for (const path of ['', '/files']) {
    t.strictSame(
      await seen(`/datasets/${hidden.dataset}${path}`),
      { owner: 200, friend: 200, invited: 404, revoked: 410, stranger: 404 },
      `private ${path}`,
    );
    t.strictSame(
      await seen(`/datasets/${open.dataset}${path}`),
      { owner: 200, friend: 200, invited: 200, revoked: 200, stranger: 200 },
      `protected ${path}`,
    );
    t.strictSame(
      await seen(`/datasets/${deleted.dataset}${path}`),
      { owner: 410, friend: 410, invited: 410, revoked: 410, stranger: 404 },
      `deleted ${path}`,
    );
    t.strictSame(
      await seen(`/datasets/${unpublished.dataset}${path}`),
      { owner: 410, friend: 410, invited: 410, revoked: 410, stranger: 410 },
      `deleted after it was public ${path}`,
    );
  }
  for (const path of ['/files/upload', '/files/install']) {
    t.strictSame(
      await seen(`/datasets/${hidden.dataset}${path}`),
      { owner: 200, friend: 200, invited: 404, revoked: 404, stranger: 404 },
      `private ${path}`,
    );
    for (const at of [deleted, unpublished])
      t.strictSame(
        await seen(`/datasets/${at.dataset}${path}`),
        { owner: 404, friend: 404, invited: 404, revoked: 404, stranger: 404 },
        `deleted ${path}`,
      );
  }
  await t.test('unknown and impossible ids are 404 with the words of the contract', async (t) => {
    for (const id of [newDataset(), 'a.b', '%2e%2e']) {
      const answer = await app.call(owner, 'GET', `/datasets/${id}`);
      t.match([answer.status, answer.body], [404, { status: 'not-found', message: String }], id);
    }
    const gone = await app.call(owner, 'GET', `/datasets/${deleted.dataset}`);
    t.strictSame(gone.body, {
      status: 'gone',
      message: `dataset ${deleted.dataset} is deleted, or no longer shared with you`,
    });
  });
  await t.test('a guest sees files of what is not private, and no details', async (t) => {
    t.equal(await statusOf(app, `guest-${stranger}`, `/datasets/${open.dataset}/files`), 200);
    t.equal(await statusOf(app, `guest-${stranger}`, `/datasets/${hidden.dataset}/files`), 404);
    t.equal(await statusOf(app, `guest-${stranger}`, `/datasets/${open.dataset}`), 403);
    t.equal(await statusOf(app, `guest-${stranger}`, '/datasets'), 403);
  });
  await t.test('an administrator sees every dataset with the owner’s eyes', async (t) => {
    for (const at of [hidden, deleted]) {
      const headers = { 'admin-token': ADMIN_TOKEN };
      const answer = await app.call(undefined, 'GET', `/datasets/${at.dataset}`, { headers });
      t.equal(answer.status, 200);
      t.equal((answer.body as { shares: unknown[] }).shares.length, 3);
    }
  });
  await t.test('nobody is let in without a token', async (t) => {
    for (const path of ['', '/files', '/files/upload', '/files/install'])
      t.equal(await statusOf(app, undefined, `/datasets/${open.dataset}${path}`), 401, path);
  });
});

t.test('a replaced dataset leads to its newest revision, never to itself', async (t) => {
  const app = await setup(t);
  const [owner, friend] = [newUser(), newUser()];
  const root = await add(app, owner, {}, { ...IMPORTED, state: 'superseded' });
  const history = { originalId: root.dataset, revisions: [] };
  const second = await add(
    app,
    owner,
    { revisionHistory: history },
    { ...IMPORTED, state: 'superseded' },
    revisionOf(root.dataset, 1),
  );
  const third = await add(app, owner, { revisionHistory: history }, IMPORTED, revisionOf(root.dataset, 2));
  await share(root, friend, 'grant', 'accept');
  for (const at of [root, second]) {
    const answer = await app.call(owner, 'GET', `/datasets/${at.dataset}`);
    t.strictSame(
      [answer.status, answer.headers.get('location'), answer.text],
      [301, `${app.url}/datasets/${third.dataset}`, ''],
    );
  }
  t.equal(await statusOf(app, owner, `/datasets/${third.dataset}`), 200);
  t.equal(await statusOf(app, owner, `/datasets/${root.dataset}/files`), 200, 'old files stay readable');
  t.equal(await statusOf(app, friend, `/datasets/${root.dataset}`), 200, 'not to what the caller may not see');
  await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [root.dataset]);
  t.equal(await statusOf(app, owner, `/datasets/${root.dataset}`), 301);
  t.equal(await statusOf(app, friend, `/datasets/${root.dataset}`), 410);
});

t.test('the file listing has sizes from the import on, in both versions', async (t) => {
  const app = await setup(t);
  const me = newUser();
  const waiting = await add(app, me);
  const early = await app.call(me, 'GET', `/datasets/${waiting.dataset}/files`);
  t.strictSame(early.body, {
    upload: { zipSize: -1, contents: [] },
    documents: [{ fileName: 'notes.pdf', fileSize: 5 }],
    datasetProperties: [{ fileName: 'p.tsv', fileSize: 6 }],
  });
  const done = await imported(app, me);
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
  const app = await setup(t);
  const me = newUser();
  const waiting = await add(app, me);
  const { dataset } = await imported(app, me);
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
    const absent = await app.call(me, 'GET', `/datasets/${waiting.dataset}/files/${path}`);
    t.match([absent.status, absent.body], [404, { status: 'not-found' }]);
    t.equal(await statusOf(app, undefined, `/datasets/${dataset}/files/${path}?access_token=${me}`), 200);
  }
  const head = await app.call(me, 'HEAD', `/datasets/${dataset}/files/upload`);
  t.strictSame([head.status, head.text, head.headers.get('content-length')], [200, '', '10']);
  const part = await app.call(me, 'GET', `/datasets/${dataset}/files/upload`, { headers: { range: 'bytes=4-' } });
  t.strictSame([part.status, part.text], [206, 'upload']);
});

t.test('plugins are listed for all and for one target', async (t) => {
  const app = await setup(t);
  const all = await app.call('guest-7', 'GET', '/plugins');
  t.strictSame(responseFaults(schemaOf(app.routes, 'listPlugins', 200), all.text), []);
  t.equal((all.body as unknown[]).length, 3);
  const some = await app.call('7', 'GET', '/plugins?install-target=PlainSite');
  t.equal((some.body as unknown[]).length, 2);
  const none = await app.call('7', 'GET', '/plugins?install-target=Nowhere');
  t.match([none.status, none.body], [400, { status: 'bad-request', message: /'install-target' is 'Nowhere'/ }]);
  t.equal(await statusOf(app, undefined, '/plugins'), 401);
});

t.test('anybody may ask what the installation is', async (t) => {
  const app = await setup(t, { settings: { installTargets: SETTINGS } });
  const answer = await app.call(undefined, 'GET', '/service-meta');
  t.strictSame(responseFaults(schemaOf(app.routes, 'getServiceMeta', 200), answer.text), []);
  t.strictSame(answer.body, {
    buildInfo: { name: 'longshore', version: '1.2.3', node: 'v26' },
    configuration: {
      api: { maxUploadSize: 2_097_152, userMaxStorageSize: 4_194_304 },
      daemons: { reconciler: { enabled: true, fullRunInterval: '6h', slimRunInterval: '5m', performDeletes: true } },
      installTargets: SETTINGS.filter((target) => target.enabled).map(({ id, name }) => ({ id, name })),
    },
    features: { supportedArchiveTypes: ['.zip', '.tar.gz', '.tgz'] },
  });
});

t.test('every refusal has the body that the contract describes', async (t) => {
  const app = await setup(t);
  const me = newUser();
  const schema = schemaOf(app.routes, 'getDataset', 404);
  for (const [user, path] of [
    [undefined, '/datasets'],
    [me, '/datasets/unknown'],
    [me, '/datasets?limit=x'],
    ['guest-7', '/datasets'],
  ] as const) {
    const answer = await app.call(user, 'GET', path);
    t.ok(answer.status >= 400);
    t.strictSame(responseFaults(schema, answer.text), [], path);
  }
});
