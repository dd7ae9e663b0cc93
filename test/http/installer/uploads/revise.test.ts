import t from 'tap';
import { type DatasetId, revisionOf, targetId, type UserId } from '../../../../engine/model/ids.ts';
import { datasetPrefix, objectKey, shareKey } from '../../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { newDataset, newUser } from '../../../support/dataset-samples.ts';
import { openUpload } from '../chunked-upload.ts';
import { ADMIN_TOKEN, type AppOptions, FILE, type FormPart, installerApp, post } from '../installer-app.ts';
import { responseFaults, schemaOf } from '../response-check.ts';
import {
  leftOf,
  messageOf,
  NOTE,
  NOTHING_LEFT,
  putRevision,
  revise,
  revisionPart,
  setColumns,
  storedMetadata,
} from '../revisions.ts';
import { type Added, IMPORTED, imported, owned, share } from '../stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const value = (of: unknown) => ({ value: of });
const primary = { firstName: 'A', lastName: 'B', email: 'a@b.c', affiliation: 'C', country: 'D', isPrimary: true };

t.test('a revision is an upload of its own, with the metadata of the old one changed by the request', async (t) => {
  const { app, owner, at } = await owned(t, db, {
    description: 'long',
    sourceUrl: 'https://x.org/genes.txt',
    programName: 'Q',
    firstPublished: '2026-02-02T00:00:00.000Z',
  });
  const before = storedMetadata(app, at);
  const keys = (await leftOf(app, db, at)).keys;
  const began = new Date().toISOString();
  const answer = await putRevision(app, owner, at.dataset, [
    ['meta', JSON.stringify({ ...NOTE, name: value('Better genes'), description: value(null) })],
    FILE,
    ['docFile', 'read me', 'notes.pdf'],
    ['file', 'two', 'more.csv'],
  ]);
  const revision = { owner, dataset: revisionOf(at.dataset, 1) };
  t.strictSame([answer.status, answer.body], [202, { datasetId: revision.dataset }]);
  t.equal(answer.headers.get('location'), `${app.url}/datasets/${revision.dataset}`);
  t.strictSame(responseFaults(schemaOf(app.routes, 'reviseDataset', 202), answer.text), []);
  t.strictSame((await leftOf(app, db, revision)).keys, [
    'documents/notes.pdf',
    'raw/genes.txt',
    'raw/more.csv',
    'vdi-meta.json',
  ]);
  t.match(await app.queries.view(revision.dataset, signal), {
    state: 'live',
    upload: { status: 'running' },
    metadata: storedMetadata(app, revision),
  });
  t.strictSame(await app.jobs(revision.dataset), [{ lane: 'upload', owner, source: 'api' }]);

  const { description: _gone, sourceUrl: _old, ...kept } = before;
  const { revisionHistory, ...metadata } = storedMetadata(app, revision);
  t.same(metadata, { ...kept, name: 'Better genes', origin: 'a tool' });
  const [first, second] = revisionHistory?.revisions ?? [];
  t.strictSame(first, {
    action: 'create',
    timestamp: before.created,
    revisionId: at.dataset,
    revisionNote: 'Initial upload',
  });
  t.match(second, { action: 'revise', revisionId: revision.dataset, revisionNote: NOTE.revisionNote });
  t.ok(second && second.timestamp >= began && second.timestamp <= new Date().toISOString(), 'now');
  t.strictSame([revisionHistory?.originalId, revisionHistory?.revisions.length], [at.dataset, 2]);
  t.match((await app.call(owner, 'GET', `/datasets/${revision.dataset}`)).body, {
    revisionHistory: { originalId: at.dataset },
  });

  t.same(storedMetadata(app, at), before, 'the old one stays as it is');
  t.strictSame((await leftOf(app, db, at)).keys, keys);
});

t.test('each revision goes on with the history of the one before', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const ids: string[] = [at.dataset];
  for (const n of [1, 2, 3]) {
    const before = ids.at(-1) ?? '';
    const answer = await putRevision(app, owner, before, [
      revisionPart({ revisionNote: value(`The revision number ${n}`) }),
      FILE,
    ]);
    t.equal(answer.status, 202);
    ids.push((answer.body as { datasetId: string }).datasetId);
    await setColumns(db, ids.at(-1) ?? '', IMPORTED);
    await setColumns(db, before, { state: 'superseded' });
  }
  t.strictSame(ids, [at.dataset, ...[1, 2, 3].map((n) => revisionOf(at.dataset, n))]);
  const newest = storedMetadata(app, { owner, dataset: ids[3] as DatasetId });
  t.same(
    newest.revisionHistory?.revisions.map(({ action, revisionId, revisionNote }) => [action, revisionId, revisionNote]),
    [['create', ids[0], 'Initial upload'], ...[1, 2, 3].map((n) => ['revise', ids[n], `The revision number ${n}`])],
  );
  t.equal(newest.created, storedMetadata(app, at).created);
  const refused = await revise(app, at);
  t.strictSame(messageOf(refused), [403, `dataset ${at.dataset} was replaced by its newer revision ${ids[3]}`]);
});

t.test('what a revision must say, and may not', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const origin = 'text of 3 to 256 characters is required';
  const note = 'text of 10 to 4096 characters is required';
  for (const [said, byKey] of [
    [{}, { origin: [`is missing; ${origin}`], revisionNote: [`is missing; ${note}`] }],
    [
      { origin: ' ', revisionNote: value(null) },
      { origin: [`is missing; ${origin}`], 'revisionNote.value': [`is missing; ${note}`] },
    ],
    [
      { origin: value('xy'), revisionNote: 'too short' },
      { 'origin.value': [`has 2 characters; ${origin}`], revisionNote: [`has 9 characters; ${note}`] },
    ],
    [
      { origin: 'x'.repeat(257), revisionNote: 'x'.repeat(4097) },
      { origin: [`has 257 characters; ${origin}`], revisionNote: [`has 4097 characters; ${note}`] },
    ],
    [
      { ...NOTE, revisionNote: 7, name: value('x'), dependencies: value([]), nmae: value('x') },
      {
        revisionNote: [`is 7; ${note}`],
        'name.value': [/^has 1 character/],
        dependencies: [/^cannot be changed; changeable are .*, origin, revisionNote$/],
        nmae: [/^is not a known field; known are .*, origin, revisionNote$/],
      },
    ],
    [{ ...NOTE, visibility: value('public') }, { contacts: [/^is missing; a public dataset/] }],
  ] as const) {
    const answer = await putRevision(app, owner, at.dataset, [['details', JSON.stringify(said)], FILE]);
    t.match(answer, { status: 422, body: { errors: { byKey } } });
    const { errors } = answer.body as { errors: { byKey: object } };
    t.strictSame(Object.keys(errors.byKey).sort(), Object.keys(byKey).sort());
  }
  t.strictSame((await leftOf(app, db, { owner, dataset: revisionOf(at.dataset, 1) })).keys, []);
  for (const said of [
    { origin: 'xyz', revisionNote: '0123456789' },
    { origin: 'x'.repeat(256), revisionNote: 'x'.repeat(4096) },
  ]) {
    const other = await imported(app, db, owner);
    t.equal((await putRevision(app, owner, other.dataset, [['details', JSON.stringify(said)], FILE])).status, 202);
    const made = storedMetadata(app, { owner, dataset: revisionOf(other.dataset, 1) });
    t.strictSame([made.origin, made.revisionHistory?.revisions[1]?.revisionNote], [said.origin, said.revisionNote]);
  }
});

t.test('exactly one of file and URL, and files as the type allows', async (t) => {
  const remoteFiles = { probe: async () => ({ kind: 'found', fileName: 'genes.txt', size: 5 }) };
  const { app, owner, at } = await owned(t, db, {}, { remoteFiles } as AppOptions);
  const url: FormPart = ['url', 'https://example.org/genes.txt'];
  const statusOf = async (...parts: FormPart[]) => (await putRevision(app, owner, at.dataset, parts)).status;
  for (const [status, ...parts] of [
    [400, revisionPart()],
    [400, FILE],
    [400, revisionPart(), FILE, url],
    [422, revisionPart(), ['dataFile', 'x', 'genes.exe']],
    [422, revisionPart(), FILE, ['dataPropertiesFile', 'x', 'p.tsv']],
    [400, revisionPart(), FILE, ['other', 'x']],
  ] as const)
    t.equal(await statusOf(...parts), status);
  const plain = { body: '{}', headers: { 'content-type': 'text/plain' } };
  t.equal((await app.call(owner, 'PUT', `/datasets/${at.dataset}`, plain)).status, 415);
  const next = { owner, dataset: revisionOf(at.dataset, 1) };
  t.strictSame(await leftOf(app, db, next), NOTHING_LEFT, 'nothing is left of them');
  t.equal(await statusOf(url, revisionPart()), 202);
  t.equal(storedMetadata(app, next).sourceUrl, url[1]);
  t.strictSame(await app.uploads.source(next.dataset, signal), { kind: 'url', url: url[1] });
});

t.test('property files belong to the revision, not to the dataset before it', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser();
  const RNASEQ = { type: { name: 'rnaseq', version: '1.0' }, contacts: [primary], visibility: 'public' } as const;
  const at = await imported(app, db, owner, { ...RNASEQ, installTargets: [targetId('PlainSite')] });
  const bare = await revise(app, at);
  t.match(bare.body, {
    errors: { byKey: { dataPropertiesFile: ['is missing; a public dataset of rnaseq:1.0 needs one'] } },
  });
  const whole = await putRevision(app, owner, at.dataset, [
    revisionPart(),
    FILE,
    ['dataPropertiesFile', 'id\n', 'q.tsv'],
  ]);
  t.equal(whole.status, 202);
  const { properties } = await app.queries.files(revisionOf(at.dataset, 1), signal);
  t.strictSame(properties, [{ name: 'q.tsv', size: 3 }]);
});

t.test('only the owner revises, and nobody learns what others own', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, revoked, stranger] = [newUser(), newUser(), newUser(), newUser()];
  const hidden = await imported(app, db, owner);
  const open = await imported(app, db, owner, { visibility: 'public' });
  for (const at of [hidden, open]) await share(db, at, friend, 'grant', 'accept');
  await share(db, hidden, revoked, 'revoke', 'accept');
  const call = async (user: string | undefined, dataset: string, headers = {}) =>
    (await putRevision(app, user, dataset, [revisionPart(), FILE], headers)).status;
  const answers = async (at: Added) => [
    await call(undefined, at.dataset),
    await call(`guest-${stranger}`, at.dataset),
    await call(stranger, at.dataset),
    await call(friend, at.dataset),
    await call(revoked, at.dataset),
    await call(undefined, at.dataset, { 'admin-token': ADMIN_TOKEN }),
  ];
  t.strictSame(await answers(hidden), [401, 403, 404, 403, 404, 401]);
  t.strictSame(await answers(open), [401, 403, 403, 403, 403, 401]);
  t.equal(await call(owner, newDataset()), 404);
});

t.test('shares go over to the revision, as they were said', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, invited, revoked] = [newUser(), newUser(), newUser(), newUser()];
  const at = await imported(app, db, owner);
  await share(db, at, friend, 'grant', 'accept');
  await share(db, at, invited, 'grant', null);
  await share(db, at, revoked, 'revoke', 'accept');
  t.equal((await revise(app, at)).status, 202);
  const next = { owner, dataset: revisionOf(at.dataset, 1) };
  const said = (user: UserId) =>
    (['share-offer.json', 'share-receipt.json'] as const).map((object) => {
      const text = app.store.text(shareKey(next, user, object));
      return text === undefined ? undefined : (JSON.parse(text) as { action: string }).action;
    });
  t.strictSame([friend, invited, revoked].map(said), [
    ['grant', 'accept'],
    ['grant', undefined],
    ['revoke', 'accept'],
  ]);
  const order = app.store.changes.map(({ key }) => key).filter((key) => key.startsWith(datasetPrefix(next)));
  const meta = order.indexOf(objectKey(next, 'vdi-meta.json'));
  t.equal(order.slice(0, meta).filter((key) => key.includes('/shares/')).length, 5, 'before the revision is accepted');
  t.equal(order.slice(meta).filter((key) => key.includes('/shares/')).length, 1, 'and one again, to tell of them');
});

t.test('shares go over to the next revision, too, whatever the lanes have done for the one before', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, revoked] = [newUser(), newUser(), newUser()];
  const at = await imported(app, db, owner);
  await share(db, at, friend, 'grant', 'accept');
  await share(db, at, revoked, 'revoke', 'accept');
  const inCache = (n: number) =>
    db.query('select recipient_id, offer, receipt from dataset_share where dataset_id = $1 order by recipient_id', [
      revisionOf(at.dataset, n),
    ]);
  const asked = await db.query(
    'select recipient_id, offer, receipt from dataset_share where dataset_id = $1 order by recipient_id',
    [at.dataset],
  );
  t.equal((await revise(app, at)).status, 202);
  t.strictSame(await inCache(1), asked);
  const first = { ...at, dataset: revisionOf(at.dataset, 1) };
  await setColumns(db, first.dataset, { upload_status: 'success', import_status: 'complete' });
  t.equal((await revise(app, first)).status, 202);
  t.strictSame(await inCache(2), asked);
  const offer = app.store.text(shareKey({ owner, dataset: revisionOf(at.dataset, 2) }, friend, 'share-offer.json'));
  t.match(offer, /grant/);
});

t.test('a revision counts against slots and quota like every upload', async (t) => {
  const app = await installerApp(t, db, { settings: { userMaxStorageBytes: 1_000, uploadsPerUser: 1 } });
  const owner = newUser();
  const at = await imported(app, db, owner);
  const large = await putRevision(app, owner, at.dataset, [revisionPart(), ['dataFile', Buffer.alloc(2_000), 'a.zip']]);
  t.equal(large.status, 400);
  const roomy = await installerApp(t, db, { settings: { uploadsPerUser: 1 } });
  const open = openUpload(roomy, owner);
  await open.stored;
  t.equal((await revise(roomy, await imported(roomy, db, owner))).status, 429);
  t.equal((await post(roomy, owner, FILE)).status, 429);
  const gone = roomy.abandoned();
  open.abort();
  await gone;
});
