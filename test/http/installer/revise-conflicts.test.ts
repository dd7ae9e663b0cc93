import t from 'tap';
import { revisionOf, targetId } from '../../../engine/model/ids.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { openUpload } from './chunked-upload.ts';
import { FILE, installerApp } from './installer-app.ts';
import {
  leftOf,
  messageOf,
  NOTHING_LEFT,
  putRevision,
  revise,
  revisionPart,
  setColumns,
  setInstall,
  storedMetadata,
} from './revisions.ts';
import { type Added, add, IMPORTED, imported, owned, share } from './stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const value = (of: unknown) => ({ value: of });

t.test('a dataset is revised when it lives, is imported and nothing of it is under way', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser();
  const refusal = async (columns: Readonly<Record<string, string>>) => {
    const at = await imported(app, db, owner);
    await setColumns(db, at.dataset, columns);
    const answer = await revise(app, at);
    t.strictSame((await leftOf(app, db, { owner, dataset: revisionOf(at.dataset, 1) })).keys, []);
    return [answer.status, (answer.body as { message: string }).message.replaceAll(at.dataset, 'it')];
  };
  for (const [column, values, why] of [
    ['state', ['deleting', 'deleted', 'pruning'], 'is deleted'],
    ['state', ['superseded'], 'was replaced by a newer revision'],
    ['upload_status', ['rejected', 'failed'], 'cannot be revised: its upload was not accepted'],
    ['upload_status', ['running'], 'cannot be revised yet: it is not imported'],
    ['import_status', ['queued', 'in-progress'], 'cannot be revised yet: it is not imported'],
    ['import_status', ['failed'], 'cannot be revised: its import failed'],
  ] as const)
    for (const value of values)
      t.strictSame(await refusal({ [column]: value }), [403, `dataset it ${why}`], `${column} ${value}`);

  const invalid = await imported(app, db, owner);
  await setColumns(db, invalid.dataset, { import_status: 'invalid' });
  t.equal((await revise(app, invalid)).status, 202, 'what is invalid is mended by a revision');

  const at = await imported(app, db, owner, { installTargets: ['PlasmoSite', 'ToxoSite'].map(targetId) });
  await setInstall(db, at.dataset, 'PlasmoSite', 'complete');
  for (const status of ['running', 'queued']) {
    await setInstall(db, at.dataset, 'ToxoSite', status);
    t.strictSame(messageOf(await revise(app, at)), [
      403,
      `the newest revision ${at.dataset} is still under way: its installation on ToxoSite is ${status}; ` +
        'try again when that has ended',
    ]);
  }
  await setInstall(db, at.dataset, 'ToxoSite', 'failed-installation');
  t.equal((await revise(app, at)).status, 202);
});

t.test('a newest revision that is under way blocks, one that failed is passed over', async (t) => {
  const { app, owner, at } = await owned(t, db);
  t.equal((await revise(app, at)).status, 202);
  const first = revisionOf(at.dataset, 1);
  const blocked = async (why: string) =>
    t.strictSame(messageOf(await revise(app, at)), [
      403,
      `the newest revision ${first} is still under way: ${why}; try again when that has ended`,
    ]);
  await blocked('its upload is not over');
  for (const status of ['queued', 'in-progress']) {
    await setColumns(db, first, { upload_status: 'success', import_status: status });
    await blocked(`its import is ${status}`);
  }
  await setColumns(db, first, IMPORTED);
  await setInstall(db, first, 'PlasmoSite', 'running');
  await blocked('its installation on PlasmoSite is running');
  await setColumns(db, first, { import_status: 'invalid' });
  await setInstall(db, first, 'PlasmoSite', 'failed-validation');
  const answer = await revise(app, at);
  const second = revisionOf(at.dataset, 2);
  t.strictSame([answer.status, answer.body], [202, { datasetId: second }]);
  const history = storedMetadata(app, { owner, dataset: second }).revisionHistory?.revisions;
  t.same(
    history?.map(({ revisionId }) => revisionId),
    [at.dataset, first, second],
    'it is replaced too',
  );
});

t.test('numbers are never given twice', async (t) => {
  const { app, owner, at } = await owned(t, db);
  await revise(app, at);
  await setColumns(db, revisionOf(at.dataset, 1), { state: 'deleted' });
  for (const [n, object] of [
    [2, 'import-ready.zip'],
    [3, 'vdi-meta.json'],
  ] as const)
    await app.store.put(objectKey({ owner, dataset: revisionOf(at.dataset, n) }, object), Buffer.from('x'), {}, signal);
  const answer = await revise(app, at);
  t.strictSame(answer.body, { datasetId: revisionOf(at.dataset, 4) });
});

t.test('of two revisions at once, one is made', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const next = { owner, dataset: revisionOf(at.dataset, 1) };
  const open = openUpload(app, owner, { method: 'PUT', path: `/datasets/${at.dataset}` });
  await open.stored;
  const refused = await revise(app, at);
  t.match(refused, {
    status: 409,
    body: { status: 'conflict', message: `another upload as dataset ${next.dataset} is under way` },
  });
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/);
  t.match(await leftOf(app, db, next), { uploads: 1 }, 'the other one goes on');
  // Its metadata are in the store shortly before it is a dataset: that number is passed over.
  const early = objectKey(next, 'vdi-meta.json');
  await app.store.put(early, Buffer.from('{}'), {}, signal);
  t.equal((await revise(app, at)).status, 409, 'nor is it made under the next number');
  t.strictSame(await leftOf(app, db, { owner, dataset: revisionOf(at.dataset, 2) }), NOTHING_LEFT);
  await app.store.remove([early], signal);
  const gone = app.abandoned();
  open.abort();
  await gone;
  t.strictSame(await leftOf(app, db, next), NOTHING_LEFT, 'one that is cut off leaves nothing');

  const both = await Promise.all([revise(app, at), revise(app, at)]);
  const [made, lost] = both.map(({ status }) => status).sort() as [number, number];
  t.equal(made, 202);
  t.ok(lost === 409 || lost === 403, `the other was told ${lost}`);
  t.strictSame(await leftOf(app, db, next), { datasets: 1, uploads: 1, keys: ['raw/genes.txt', 'vdi-meta.json'] });
});

t.test('what happens to the dataset while its revision comes in counts', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser();
  const during = async (happens: (at: Added) => Promise<unknown>, more: object = {}, matching = false) => {
    const at = await imported(app, db, owner);
    const next = { owner, dataset: revisionOf(at.dataset, 1) };
    const { etag } = (await app.queries.view(at.dataset, signal))?.sync.meta ?? {};
    const headers: Record<string, string> = matching ? { 'if-match': `"${etag}.x"` } : {};
    const open = openUpload(app, owner, { method: 'PUT', path: `/datasets/${at.dataset}` }, headers);
    await open.stored;
    await happens(at);
    const answer = await open.finish([revisionPart(more)]);
    if (answer.status !== 202) t.strictSame(await leftOf(app, db, next), NOTHING_LEFT);
    return { at, next, answer };
  };
  const patch = (body: object) => async (at: Added) => {
    const { status } = await app.call(owner, 'PATCH', `/datasets/${at.dataset}`, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    t.equal(status, 204);
  };
  const changed = patch({ summary: value('Changed meanwhile'), name: value('Old name') });
  const seen = await during(changed, { name: value('New name') });
  t.equal(seen.answer.status, 202);
  t.match(storedMetadata(app, seen.next), { summary: 'Changed meanwhile', name: 'New name' });
  t.equal((await during(changed, {}, true)).answer.status, 412);

  const deleted = await during((at) => app.call(owner, 'DELETE', `/datasets/${at.dataset}`));
  t.strictSame(messageOf(deleted.answer), [403, `dataset ${deleted.at.dataset} is deleted`]);
  const busy = await during((at) => setInstall(db, at.dataset, 'PlasmoSite', 'running'));
  t.equal(busy.answer.status, 403);
  const found = await add(app, db, owner, {}, IMPORTED);
  const outrun = await during(async (at) => {
    // As a reconciliation adds one that it finds in the store; no other can be uploaded meanwhile.
    await setColumns(db, found.dataset, { root_id: at.dataset });
    await db.query('update dataset set revision = 7 where dataset_id = $1', [found.dataset]);
  });
  t.strictSame(messageOf(outrun.answer), [409, `dataset ${found.dataset} became the newest revision meanwhile`]);
});

t.test('a store that is away makes no revision', async (t) => {
  for (const failing of ['raw/genes.txt', 'share-offer.json', 'vdi-meta.json']) {
    const { app, owner, at } = await owned(t, db);
    await share(db, at, newUser(), 'grant', 'accept');
    const next = { owner, dataset: revisionOf(at.dataset, 1) };
    app.store.onCall = (method, key) => {
      if (method === 'put' && key.endsWith(failing)) throw transient('the store is away');
    };
    t.match(await revise(app, at), { status: 503, body: { status: 'server-error' } }, failing);
    t.strictSame(await leftOf(app, db, next), NOTHING_LEFT, failing);
    app.store.onCall = () => undefined;
    t.equal((await revise(app, at)).status, 202, 'later it is made');
  }
});

t.test('If-Match names the metadata that are revised', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const tag = (await app.call(owner, 'GET', `/datasets/${at.dataset}`)).headers.get('etag') ?? '';
  t.match(await putRevision(app, owner, at.dataset, [revisionPart(), FILE], { 'if-match': '"other.x"' }), {
    status: 412,
    body: { status: 'conflict' },
  });
  t.equal((await putRevision(app, owner, at.dataset, [revisionPart(), FILE], { 'if-match': tag })).status, 202);
});
