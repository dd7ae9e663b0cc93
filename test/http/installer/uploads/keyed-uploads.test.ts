// Uploads with an Idempotency-Key, over the cache database.

import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { DatasetId } from '../../../../engine/model/ids.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { openUpload } from '../chunked-upload.ts';
import { soundDetails } from '../installation.ts';
import {
  ADMIN_TOKEN,
  type AppOptions,
  detailsPart,
  FILE,
  type FormPart,
  form,
  installerApp,
  NOTHING,
  remains,
} from '../installer-app.ts';
import { putRevision, revisionPart } from '../revisions.ts';
import { owned } from '../stored-datasets.ts';
import { create, received, TUS } from './resumable-calls.ts';

const db = await cacheDatabase(t);
const { instance } = await livingProcess(t, db);
const DETAILS = detailsPart(soundDetails());
const DOCUMENT: FormPart = ['docFile', 'read me', 'notes.txt'];

async function setup(t: { teardown(fn: () => unknown): void }, options: AppOptions = {}) {
  const app = await installerApp(t, db, { instance, ...options });
  const user = newUser();
  const key = randomUUID();
  const upload = (parts: readonly FormPart[] = [DETAILS, FILE], more: { key?: string; user?: string } = {}) =>
    app.call(more.user ?? user, 'POST', '/datasets', {
      headers: { 'idempotency-key': more.key ?? key },
      body: form(...parts),
    });
  const datasets = async (of: string = user): Promise<readonly string[]> =>
    (await db.query<{ id: string }>('select dataset_id as id from dataset where owner_id = $1::numeric', [of])).map(
      ({ id }) => id,
    );
  return { app, user, key, upload, datasets };
}

const idOf = (body: unknown): string => (body as { datasetId: DatasetId }).datasetId;

t.test('the same upload 50 times at once with one key is one dataset', async (t) => {
  const { app, user, upload, datasets } = await setup(t, { settings: { uploadsPerUser: 100 } });
  const answers = await Promise.all(Array.from({ length: 50 }, () => upload()));
  const accepted = answers.filter(({ status }) => status === 202);
  const [id, ...others] = await datasets();
  t.strictSame(others, []);
  t.ok(accepted.length >= 1);
  for (const { body, headers } of accepted)
    t.strictSame([idOf(body), headers.get('location')], [id, `${app.url}/datasets/${id}`]);
  for (const { status, headers } of answers)
    if (status !== 202) t.strictSame([status, headers.get('retry-after')], [409, '5']);
  const again = await upload();
  t.strictSame([again.status, idOf(again.body), again.headers.get('idempotent-replayed')], [202, id, 'true']);
  t.equal((await db.query('select from job where owner = $1::numeric', [user])).length, 1);
});

t.test('parts in another order and details in another spelling are the same upload', async (t) => {
  const { upload, datasets } = await setup(t);
  const first = await upload([DETAILS, FILE, DOCUMENT]);
  const turned = Object.fromEntries(Object.entries(soundDetails()).reverse());
  const again = await upload([DOCUMENT, FILE, ['details', JSON.stringify(turned, null, 2)]]);
  t.strictSame([again.status, again.text], [202, first.text]);
  t.equal((await datasets()).length, 1);
});

t.test('another file, name, document or detail under the same key is 422, and nothing is stored', async (t) => {
  const { app, user, upload } = await setup(t);
  t.equal((await upload([DETAILS, FILE])).status, 202);
  const before = await remains(app, db, user);
  const [, content] = FILE;
  for (const parts of [
    [DETAILS, ['dataFile', `${content}x`, 'genes.txt']],
    [DETAILS, ['dataFile', String(content), 'other.txt']],
    [DETAILS, FILE, DOCUMENT],
    [detailsPart({ ...soundDetails(), name: 'Other genes' }), FILE],
    [FILE],
  ] as const)
    t.match(await upload(parts), { status: 422, body: { message: /belongs to another request of yours/ } });
  t.strictSame(await remains(app, db, user), before);
});

t.test('two users may have the same key', async (t) => {
  const { upload, datasets } = await setup(t);
  const other = newUser();
  const [one, two] = [await upload(), await upload(undefined, { user: other })];
  t.strictSame([one.status, two.status], [202, 202]);
  t.not(idOf(one.body), idOf(two.body));
  t.strictSame([await datasets(), await datasets(other)], [[idOf(one.body)], [idOf(two.body)]]);
});

t.test('a refused upload leaves its key free; so does one whose client goes away', async (t) => {
  const { app, user, key, upload, datasets } = await setup(t);
  t.equal((await upload([detailsPart({ ...soundDetails(), name: 'x' }), FILE])).status, 422);
  const open = openUpload(app, user, { method: 'POST', path: '/datasets' }, { 'idempotency-key': key });
  await open.stored;
  t.match(await upload(), { status: 409, body: { message: /is under way/ } });
  const gone = app.abandoned();
  open.abort();
  await gone;
  let answer = await upload();
  while (answer.status === 409) answer = await upload();
  t.equal(answer.status, 202, answer.text);
  t.strictSame(await datasets(), [idOf(answer.body)]);
});

t.test('a repetition counts against the limits of an upload, and stores nothing', async (t) => {
  const { app, user, upload } = await setup(t, { settings: { maxUploadBytes: 10_000, uploadsPerUser: 1 } });
  t.equal((await upload()).status, 202);
  const before = await remains(app, db, user);
  const large = await upload([DETAILS, ['dataFile', Buffer.alloc(10_001), 'genes.txt']]);
  t.match(large, { status: 400, body: { message: /an upload may have 10000/ } });
  t.strictSame(await remains(app, db, user), before);
  const open = openUpload(app, user);
  await open.stored;
  t.match(await upload(), { status: 429 }, 'all of the user’s places are taken');
  open.abort();
});

t.test('a revision is made once, also where the first answer was lost', async (t) => {
  const { app, owner, at } = await owned(t, db);
  const revise = (more: object = {}, dataset: string = at.dataset) =>
    putRevision(app, owner, dataset, [revisionPart(more), FILE], { 'idempotency-key': 'k' });
  const first = await revise();
  t.equal(first.status, 202, first.text);
  const again = await revise();
  t.strictSame([again.status, again.text, again.headers.get('idempotent-replayed')], [202, first.text, 'true']);
  t.match(await revise({ name: { value: 'Other genes' } }), { status: 422 });
  t.match(await revise({}, idOf(first.body)), { status: 422 }, 'another dataset in the path');
});

t.test('an upload for somebody is one of the administrator and of the user', async (t) => {
  const { app, key, datasets } = await setup(t);
  const uploadFor = (owner: string) =>
    app.call(undefined, 'POST', '/admin/rpc/datasets/proxy-upload', {
      headers: { 'admin-token': ADMIN_TOKEN, 'user-id': owner, 'idempotency-key': key },
      body: form(DETAILS, FILE),
    });
  const owner = newUser();
  const [first, again] = [await uploadFor(owner), await uploadFor(owner)];
  t.strictSame([again.status, again.text], [202, first.text]);
  t.equal((await datasets(owner)).length, 1);
  const other = newUser();
  const objects = app.store.keys();
  t.equal((await uploadFor(other)).status, 422);
  t.strictSame(await remains(app, db, other), { ...NOTHING, objects });
});

t.test('a resumable upload is created once, and a dataset of it, too', async (t) => {
  const { app, user, key } = await setup(t);
  const headers = { 'idempotency-key': key };
  const first = await create(app, user, 5, headers);
  const again = await create(app, user, 5, headers);
  t.match(
    [again.path, again.answer.status, again.answer.headers],
    [first.path, 201, { 'idempotent-replayed': 'true' }],
  );
  t.equal(again.answer.headers['upload-offset'], '0');
  t.equal(again.answer.headers['tus-resumable'], TUS['tus-resumable']);
  t.equal((await create(app, user, 6, headers)).answer.status, 422);
  t.equal((await app.call(user, 'GET', '/uploads')).text.match(/uploadId/g)?.length, 1);

  const uploadIds = [await received(app, user, 'genes.txt', Buffer.from('abcde'))];
  const body = JSON.stringify({ details: soundDetails(), uploadIds });
  const make = () =>
    app.call(user, 'POST', '/datasets', { headers: { ...headers, 'content-type': 'application/json' }, body });
  const [made, repeated] = [await make(), await make()];
  t.equal(made.status, 202, made.text);
  t.strictSame([repeated.status, repeated.text], [202, made.text], 'although the upload is used up');
});
