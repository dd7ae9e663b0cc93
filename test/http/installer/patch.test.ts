import t, { type Test } from 'tap';
import { revisionOf, targetId, type UserId } from '../../../engine/model/ids.ts';
import { type DatasetMetadata, parseMetadata } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newDataset, newUser } from '../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App, type CallInit, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { type Added, add, IMPORTED, imported, owned, share } from './stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

const value = (of: unknown) => ({ value: of });
const primary = { firstName: 'A', lastName: 'B', email: 'a@b.c', affiliation: 'C', country: 'D', isPrimary: true };
const RNASEQ = { type: { name: 'rnaseq', version: '1.0' }, contacts: [primary] };

const patch = (app: App, user: string | undefined, at: Pick<Added, 'dataset'>, body: unknown, init: CallInit = {}) =>
  app.call(user, 'PATCH', `/datasets/${at.dataset}`, {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...init.headers },
  });
const statusOf = async (...args: Parameters<typeof patch>) => (await patch(...args)).status;

/** What the store holds, after it was shown that the cache says the same. */
async function metadataOf(t: Test, app: App, at: Added): Promise<DatasetMetadata> {
  const key = objectKey(at, 'vdi-meta.json');
  const stored = parseMetadata(app.store.text(key) ?? '', key);
  const view = await app.queries.view(at.dataset, signal);
  t.same(view?.metadata, stored, 'the cache says what the store says');
  const info = await app.store.head(key, signal);
  t.strictSame(view?.sync.meta, { etag: info?.etag, modified: info?.modified }, 'and knows its version');
  return stored;
}

t.test('the owner changes the metadata, in the store and in the cache', async (t) => {
  const { app, owner, at } = await owned(t, db, { description: 'long', projectName: 'P' });
  const before = await metadataOf(t, app, at);
  const answer = await patch(app, owner, at, { name: value('Other genes'), description: value(null) });
  t.strictSame([answer.status, answer.text], [204, '']);
  const { description: _gone, ...rest } = before;
  t.same(await metadataOf(t, app, at), { ...rest, name: 'Other genes' });
  t.match((await app.call(owner, 'GET', `/datasets/${at.dataset}`)).body, { name: 'Other genes', projectName: 'P' });
  t.match((await app.call(owner, 'GET', '/datasets')).body, [{ name: 'Other genes' }]);
});

t.test('a patch that changes nothing writes nothing', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const before = app.store.changes.length;
  for (const body of [{}, { name: value('Genes of interest') }, { projectName: value(null) }])
    t.equal(await statusOf(app, owner, at, body), 204);
  t.equal(app.store.changes.length, before);
});

t.test('members are changed one by one, and what holds them goes with the last one', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const before = await metadataOf(t, app, at);
  const characteristics = (members: object) => statusOf(app, owner, at, { datasetCharacteristics: members });
  const shown = async () =>
    ((await app.call(owner, 'GET', `/datasets/${at.dataset}`)).body as Record<string, unknown>).datasetCharacteristics;
  t.equal(await characteristics({ participantAges: value('18-65'), countries: value(['Kenya']) }), 204);
  t.equal(await characteristics({ countries: value(null) }), 204);
  t.strictSame(await shown(), { participantAges: '18-65' });
  t.equal(await characteristics({ participantAges: value(null) }), 204);
  t.strictSame(await metadataOf(t, app, at), before);
});

t.test('only the owner changes a dataset, and nobody learns what others own', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, revoked, stranger] = [newUser(), newUser(), newUser(), newUser()];
  const hidden = await imported(app, db, owner);
  const open = await imported(app, db, owner, { visibility: 'public' });
  for (const at of [hidden, open]) await share(db, at, friend, 'grant', 'accept');
  await share(db, hidden, revoked, 'revoke', 'accept');
  const body = { name: value('Stolen') };
  const answers = async (at: Added) => [
    await statusOf(app, undefined, at, body),
    await statusOf(app, `guest-${stranger}`, at, body),
    await statusOf(app, stranger, at, body),
    await statusOf(app, friend, at, body),
    await statusOf(app, revoked, at, body),
    await statusOf(app, undefined, at, body, { headers: { 'admin-token': ADMIN_TOKEN } }),
  ];
  t.strictSame(await answers(hidden), [401, 403, 404, 403, 404, 401]);
  t.strictSame(await answers(open), [401, 403, 403, 403, 403, 401]);
  t.equal(await statusOf(app, owner, { dataset: newDataset() }, body), 404);
  t.equal((await metadataOf(t, app, hidden)).name, 'Genes of interest');
  t.equal((await metadataOf(t, app, open)).name, 'Genes of interest');
});

t.test('bodies that are no patch', async (t) => {
  const { app, owner, at } = await owned(t, db);
  t.equal(await statusOf(app, owner, at, '{"name":'), 400);
  t.equal(await statusOf(app, owner, at, {}, { headers: { 'content-type': 'text/plain' } }), 415);
  t.equal(await statusOf(app, owner, at, ' '.repeat(1024 * 1024 + 1)), 400);
  const refused = await patch(app, owner, at, { name: value('x'), studyCharacteristics: { a: value(1) } });
  const byKey = {
    'name.value': ['has 1 character; text of 3 to 1024 characters is required'],
    'studyCharacteristics.a': [/^is not a known field; /],
  };
  t.match(refused, { status: 422, body: { status: 'invalid-input', errors: { general: [], byKey } } });
  t.strictSame(responseFaults(schemaOf(app.routes, 'patchDataset', 422), refused.text), []);
  t.equal((await metadataOf(t, app, at)).name, 'Genes of interest');
});

t.test('If-Match names the metadata that are changed', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const tag = async () => (await app.call(owner, 'GET', `/datasets/${at.dataset}`)).headers.get('etag') ?? '';
  const matching = (header: string, name: string) =>
    statusOf(app, owner, at, { name: value(name) }, { headers: { 'if-match': header } });
  const first = await tag();
  t.equal(await matching(first, 'One more'), 204);
  t.match(await patch(app, owner, at, { name: value('Too late') }, { headers: { 'if-match': first } }), {
    status: 412,
    body: { status: 'conflict' },
  });
  t.equal(await matching(`"other", W/${await tag()}`, 'Two more'), 204);
  t.equal(await matching('*', 'Three more'), 204);
  for (const header of ['""', '"nonsense"', 'nonsense', '".x"']) t.equal(await matching(header, 'Never'), 412, header);
  // What else the details show may have changed: the status, shares, file sizes.
  const before = await tag();
  await db.query(`update dataset set import_status = 'failed' where dataset_id = $1`, [at.dataset]);
  t.not(await tag(), before);
  t.equal(await matching(before, 'Four more'), 204);
  t.equal((await metadataOf(t, app, at)).name, 'Four more');
});

t.test('two patches at once both survive', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const fields = ['name', 'summary', 'description', 'projectName', 'programName', 'dataDisclaimer'];
  const answers = await Promise.all(fields.map((field) => statusOf(app, owner, at, { [field]: value(`my ${field}`) })));
  t.strictSame(
    answers,
    fields.map(() => 204),
  );
  t.match(await metadataOf(t, app, at), Object.fromEntries(fields.map((field) => [field, `my ${field}`])));
});

t.test('a cache that is behind the store costs no change', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const [row] = await db.query<{ metadata: string; etag: string; modified: number }>(
    `select metadata::text as metadata, meta_etag as etag, meta_modified_ms as modified from dataset
     where dataset_id = $1`,
    [at.dataset],
  );
  t.equal(await statusOf(app, owner, at, { name: value('Other genes') }), 204);
  // As a lane writes it that read the document before the patch.
  await db.query('update dataset set metadata = $2::jsonb where dataset_id = $1', [at.dataset, row?.metadata]);
  await db.query('update dataset set meta_etag = $2, meta_modified_ms = $3 where dataset_id = $1', [
    at.dataset,
    row?.etag,
    row?.modified,
  ]);
  t.equal(await statusOf(app, owner, at, { summary: value('Better') }), 204);
  t.match(await metadataOf(t, app, at), { name: 'Other genes', summary: 'Better' });
});

t.test('metadata that the store lacks, or that nobody can read, are not patched', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const key = objectKey(at, 'vdi-meta.json');
  await app.store.put(key, Buffer.from('{"type": 1}'), {}, signal);
  t.match(await patch(app, owner, at, { name: value('Other') }), { status: 500, body: { message: 'internal error' } });
  t.equal(app.store.text(key), '{"type": 1}');
  await app.store.remove([key], signal);
  const early = await patch(app, owner, at, { name: value('Other') });
  t.match([early.status, early.body], [425, { status: 'too-early' }]);
});

t.test('of two patches that name the same version, one is refused', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const tag = (await app.call(owner, 'GET', `/datasets/${at.dataset}`)).headers.get('etag') ?? '';
  const headers = { 'if-match': tag };
  const answers = await Promise.all(
    ['name', 'summary'].map((field) => statusOf(app, owner, at, { [field]: value('mine') }, { headers })),
  );
  t.strictSame(answers.sort(), [204, 412]);
});

t.test('a store that is away changes nothing', async (t) => {
  const { app, owner, at } = await owned(t, db);
  app.store.onCall = (method) => {
    if (method === 'put') throw transient('the store is away');
  };
  t.match(await patch(app, owner, at, { name: value('Other genes') }), {
    status: 503,
    body: { status: 'server-error' },
  });
  app.store.onCall = () => undefined;
  t.equal((await metadataOf(t, app, at)).name, 'Genes of interest');
});

t.test('deleted and replaced datasets stay as they are', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const setState = (state: string) =>
    db.query('update dataset set state = $2 where dataset_id = $1', [at.dataset, state]);
  const body = { name: value('Other genes') };
  for (const state of ['deleting', 'deleted', 'pruning']) {
    await setState(state);
    t.match(
      await patch(app, owner, at, body),
      { status: 403, body: { status: 'forbidden', message: /is deleted/ } },
      state,
    );
  }
  await setState('superseded');
  t.match((await patch(app, owner, at, body)).body, { message: /was replaced by a newer revision/ });
  const history = { revisionHistory: { originalId: at.dataset, revisions: [] } };
  const second = await add(app, db, owner, history, IMPORTED, revisionOf(at.dataset, 1));
  t.match(await patch(app, owner, at, {}), {
    status: 403,
    body: { message: new RegExp(`newer revision ${second.dataset}`) },
  });
  t.equal(await statusOf(app, owner, second, body), 204, 'the newest revision is changed');
  t.same((await metadataOf(t, app, second)).revisionHistory, history.revisionHistory);
});

t.test(
  'what a revision on its way would not hear of is refused, and a failed revision is in nobody’s way',
  async (t) => {
    const { app, owner, at } = await owned(t, db);
    const history = { revisionHistory: { originalId: at.dataset, revisions: [] } };
    const second = await add(app, db, owner, history, {}, revisionOf(at.dataset, 1));
    const set = (columns: string) => db.query(`update dataset set ${columns} where dataset_id = $1`, [second.dataset]);
    const body = { name: value('Other genes') };
    for (const columns of [
      `upload_status = 'running'`,
      `upload_status = 'success', import_status = 'queued'`,
      `import_status = 'complete'`,
    ]) {
      await set(columns);
      const answer = await patch(app, owner, at, body);
      const message = `dataset ${at.dataset} is being replaced by its newer revision ${second.dataset}; change that one`;
      t.strictSame([answer.status, answer.body], [403, { status: 'forbidden', message }], columns);
    }
    t.equal(await statusOf(app, owner, second, body), 204);
    for (const columns of [
      `import_status = 'invalid'`,
      `import_status = 'failed'`,
      `upload_status = 'rejected', import_status = 'queued'`,
      `upload_status = 'failed'`,
    ]) {
      await set(columns);
      t.equal(await statusOf(app, owner, at, { name: value(`Genes while ${columns}`) }), 204, columns);
    }
  },
);

t.test('publishing is remembered, and needs contacts', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const stranger = newUser();
  const seen = async () => (await app.call(stranger, 'GET', `/datasets/${at.dataset}`)).status;
  const refused = await patch(app, owner, at, { visibility: value('controlled') });
  t.match(refused.body, {
    errors: { byKey: { contacts: [/^is missing; a controlled dataset has at least one contact/] } },
  });
  t.equal(await statusOf(app, owner, at, { visibility: value('controlled'), contacts: value([primary]) }), 204);
  const published = await metadataOf(t, app, at);
  t.match(published, { visibility: 'protected', daysForApproval: 0, firstPublished: /^\d{4}-.+Z$/ });
  t.equal(await seen(), 200);
  t.equal(await statusOf(app, owner, at, { visibility: value('private') }), 204);
  t.equal((await metadataOf(t, app, at)).firstPublished, published.firstPublished);
  t.equal(await seen(), 410, 'it was public once');
});

t.test('where a type uses property files, a dataset is complete before others see it', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser() as UserId;
  const targets = ['PlainSite', 'GenomeSite', 'ClosedSite', 'LostSite'].map(targetId);
  const at = await imported(app, db, owner, {
    ...RNASEQ,
    installTargets: targets,
    experimentalOrganism: { species: 'S', strain: 'T' },
  });
  const status = (target: string, kind: string, word: string) =>
    db.query(
      `insert into install_status (dataset_id, target_id, kind, status, messages) values ($1, $2, $3, $4, '{}')
       on conflict (dataset_id, target_id, kind) do update set status = excluded.status`,
      [at.dataset, target, kind, word],
    );
  const publish = () => patch(app, owner, at, { visibility: value('public') });
  type Refusal = { errors: { byKey: Record<string, string[]> } };
  const faults = async () => ((await publish()).body as Refusal).errors.byKey;
  await db.query(`delete from dataset_file where dataset_id = $1 and folder = 'property'`, [at.dataset]);
  await status('PlainSite', 'meta', 'complete');
  await status('PlainSite', 'data', 'complete');
  await status('GenomeSite', 'meta', 'running');
  const rest = 'a dataset of rnaseq:1.0 is installed before others see it';
  const inWords = (visibility: string) => [
    `is '${visibility}', but the meta install on GenomeSite is running; ${rest}`,
    `is '${visibility}', but the data install on GenomeSite is not begun; ${rest}`,
  ];
  const uninstalled = inWords('public');
  t.strictSame(await faults(), {
    dataPropertiesFile: ['is missing; a public dataset of rnaseq:1.0 needs one'],
    'visibility.value': uninstalled,
  });
  for (const visibility of ['protected', 'controlled']) {
    const { errors } = (await patch(app, owner, at, { visibility: value(visibility) })).body as Refusal;
    t.strictSame(errors.byKey['visibility.value'], inWords(visibility), visibility);
    t.strictSame(errors.byKey.dataPropertiesFile, [`is missing; a ${visibility} dataset of rnaseq:1.0 needs one`]);
  }
  await db.query(`insert into dataset_file (dataset_id, folder, name, size) values ($1, 'property', 'p.tsv', 7)`, [
    at.dataset,
  ]);
  t.strictSame(await faults(), { 'visibility.value': uninstalled });
  await status('GenomeSite', 'meta', 'complete');
  await status('GenomeSite', 'data', 'failed-validation');
  t.strictSame(await faults(), {
    'visibility.value': [`is 'public', but the data install on GenomeSite is failed-validation; ${rest}`],
  });
  t.equal(await statusOf(app, owner, at, { name: value('Still private') }), 204);
  await status('GenomeSite', 'data', 'complete');
  t.equal((await publish()).status, 204, 'disabled and unknown targets are not waited for');
  await status('GenomeSite', 'data', 'running');
  t.equal(await statusOf(app, owner, at, { visibility: value('protected') }), 204, 'it was shown before');
});
