// Datasets of resumable uploads: `uploadIds` of POST, PUT and proxy-upload.

import t, { type Test } from 'tap';
import { PostgresResumableUploads } from '../../../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import type { UploadId, UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { soundDetails } from '../installation.ts';
import {
  ADMIN_TOKEN,
  type App,
  type AppOptions,
  detailsPart,
  FILE,
  form,
  installerApp,
  post,
} from '../installer-app.ts';
import { imported } from '../stored-datasets.ts';
import { create, OFFSET_TYPE, received } from './resumable-calls.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const { instance } = await livingProcess(t, db);
const JSON_TYPE = { 'content-type': 'application/json' } as const;

async function setup(t: Test, options: AppOptions = {}) {
  return { app: await installerApp(t, db, { instance, ...options }), user: newUser() };
}

const postJson = (app: App, user: string, uploadIds: unknown, details: object = soundDetails()) =>
  app.call(user, 'POST', '/datasets', { headers: JSON_TYPE, body: JSON.stringify({ details, uploadIds }) });

const parts = (...ids: readonly string[]) => ids.map((id) => ['uploadIds', id] as const);

/** What is under raw/ of the dataset, and what the upload lane will read. */
async function uploaded(app: App, user: UserId, { body }: { readonly body: unknown }) {
  const { datasetId } = body as { readonly datasetId: string };
  const prefix = `${user}/${datasetId}/raw/`;
  const raw = Object.fromEntries(
    app.store
      .keys()
      .flatMap((key) => (key.startsWith(prefix) ? [[key.slice(prefix.length), app.store.text(key)]] : [])),
  );
  const [row] = await db.query<{ source: unknown }>('select source from upload where dataset_id = $1', [datasetId]);
  return { raw, source: row?.source };
}

t.test('finished uploads become the data files, in a multipart body or in JSON', async (t) => {
  const { app, user } = await setup(t);
  const send = [
    (ids: readonly string[]) => post(app, user, detailsPart(soundDetails()), ...parts(...ids)),
    (ids: readonly string[]) => postJson(app, user, ids),
  ];
  for (const make of send) {
    const ids = [
      await received(app, user, 'genes.txt', Buffer.from('PF3D7_0100100\n')),
      await received(app, user, 'more größe.txt', Buffer.from('PF3D7_0100200\n')),
    ];
    const answer = await make(ids);
    t.equal(answer.status, 202, JSON.stringify(answer.body));
    t.strictSame(await uploaded(app, user, answer), {
      raw: { 'genes.txt': 'PF3D7_0100100\n', 'more größe.txt': 'PF3D7_0100200\n' },
      source: {
        kind: 'files',
        files: [
          { name: 'genes.txt', size: 14 },
          { name: 'more größe.txt', size: 14 },
        ],
      },
    });
    t.strictSame(await app.resumable.list(user, signal), [], 'they are used');
  }
});

t.test('what was reserved becomes the dataset’s, and is never counted twice', async (t) => {
  const { app, user } = await setup(t, { settings: { userMaxStorageBytes: 60_000, maxUploadBytes: 50_000 } });
  const id = await received(app, user, 'genes.txt', Buffer.alloc(50_000, 'x\n'));
  t.equal(await app.uploads.usage(user, signal), 50_000);
  const answer = await postJson(app, user, [id]);
  t.equal(answer.status, 202, JSON.stringify(answer.body));
  const stored = app.store.keys().reduce((sum, key) => sum + (app.store.text(key)?.length ?? 0), 0);
  t.equal(await app.uploads.usage(user, signal), stored);
});

t.test('an upload is used once, by its owner only, and when it is whole', async (t) => {
  const { app, user } = await setup(t);
  const id = await received(app, user, 'genes.txt', Buffer.from('x\n'));
  const refused = async (ids: unknown, key: string, sentence: RegExp | string, by = user) => {
    const { status, body } = await postJson(app, by, ids);
    t.match([status, body], [422, { status: 'invalid-input', errors: { byKey: { [key]: [sentence] } } }]);
  };
  await refused([id], 'uploadIds[0]', `is '${id}'; the owner has no such upload, or it is used`, newUser());
  await refused(['x'], 'uploadIds[0]', "is 'x', which is no id of an upload");
  const { id: begun } = await create(app, user, 10, OFFSET_TYPE, Buffer.from('12345'));
  await refused([id, begun], 'uploadIds[1]', 'has 5 of 10 bytes; finish it first');
  const same = await received(app, user, 'GENES.txt', Buffer.from('x\n'));
  await refused([id, same], 'uploadIds[1]', "is another file 'GENES.txt' (case does not count)");
  t.equal((await postJson(app, user, [id])).status, 202);
  await refused([id], 'uploadIds[0]', /^is '[0-9a-f]{32}'; the owner has no such upload, or it is used$/);
});

t.test('while another process holds an upload, a request that names it is told when to try again', async (t) => {
  let now = Date.now();
  // Time passes as soon as somebody asks.
  const { app, user } = await setup(t, { clock: { ...systemClock, now: () => (now += 3_000) } });
  const id = await received(app, user, 'genes.txt', Buffer.from('x\n'));
  const other = await livingProcess(t, db);
  const holder = new PostgresResumableUploads(db, other.instance);
  t.match(await holder.claim(id as UploadId, user, Date.now(), signal), { upload: { id } });
  const { status, headers, body } = await postJson(app, user, [id]);
  t.match([status, body], [409, { message: /is being changed by another request$/ }]);
  t.match(headers.get('retry-after'), /^[1-9]/);
});

t.test('of the same upload named at once by many requests, one dataset is made', async (t) => {
  const { app, user } = await setup(t, { settings: { uploadsPerUser: 10 } });
  const id = await received(app, user, 'genes.txt', Buffer.from('x\n'));
  const answers = await Promise.all(Array.from({ length: 6 }, () => postJson(app, user, [id])));
  t.strictSame(answers.map(({ status }) => status).sort(), [202, 422, 422, 422, 422, 422]);
  t.equal(app.store.keys().filter((key) => key.startsWith(`${user}/`) && key.endsWith('/raw/genes.txt')).length, 1);
});

t.test('a refused request leaves the uploads as they are, and nothing else', async (t) => {
  const { app, user } = await setup(t);
  const id = await received(app, user, 'genes.txt', Buffer.from('x\n'));
  const faulty = await postJson(app, user, [id], { ...soundDetails(), name: '' });
  t.equal(faulty.status, 422);
  app.uploadBytes.onCall = (method) => {
    if (method === 'handOver') throw new Error('the store is broken');
  };
  t.equal((await postJson(app, user, [id])).status, 500);
  app.uploadBytes.onCall = () => {};
  t.strictSame(app.store.keys(), []);
  t.equal(await app.uploads.usage(user, signal), 2);
  t.equal((await postJson(app, user, [id])).status, 202);
});

t.test('exactly one source of data is allowed, and each id once', async (t) => {
  const { app, user } = await setup(t);
  const id = await received(app, user, 'genes.txt', Buffer.from('x\n'));
  const details = detailsPart(soundDetails());
  const several = /^more than one of 'dataFile', 'url' and 'uploadIds' is given; expected exactly one of them$/;
  const cases = [
    [post(app, user, details, FILE, ...parts(id)), several],
    [post(app, user, details, ...parts(id), FILE), several],
    [post(app, user, details, ...parts(id), ['url', 'https://example.org/x.txt']), several],
    [post(app, user, details, ['url', 'https://example.org/x.txt'], ...parts(id)), several],
    [post(app, user, details, ...parts(id, id)), /^'uploadIds' has '[0-9a-f]+' twice$/],
    [post(app, user, details), /^neither 'dataFile' nor 'url' is given, nor 'uploadIds'; expected exactly one/],
    [postJson(app, user, []), /^neither 'dataFile' nor 'url'/],
    [postJson(app, user, id), /^the field 'uploadIds' is '[0-9a-f]+'; expected a list of ids$/],
    [postJson(app, user, [1]), /^the field 'uploadIds' holds 1; expected an id$/],
    [app.call(user, 'POST', '/datasets', { headers: JSON_TYPE, body: '[]' }), /^the body is .*; expected an object$/],
    [
      app.call(user, 'POST', '/datasets', { headers: JSON_TYPE, body: '{"url":"x"}' }),
      /^unknown field 'url'; known are details, uploadIds$/,
    ],
    [
      app.call(user, 'POST', '/datasets', { headers: JSON_TYPE, body: '{"uploadIds":[]}' }),
      /^the field 'details' is missing$/,
    ],
  ] as const;
  for (const [answer, message] of cases) t.match(await answer, { status: 400, body: { message } });
  t.equal((await app.resumable.find(id as UploadId, user, signal))?.offset, 2);
});

t.test('uploads together may have as many bytes as an upload in one request', async (t) => {
  const { app, user } = await setup(t, { settings: { maxUploadBytes: 100_000 } });
  const ids = [
    await received(app, user, 'a.txt', Buffer.alloc(60_000, 'x')),
    await received(app, user, 'b.txt', Buffer.alloc(60_000, 'x')),
  ];
  const message = 'the uploads have 120000 bytes; an upload may have 100000';
  t.match(await postJson(app, user, ids), { status: 400, body: { message } });
});

t.test('files that desktops add are left out, and named', async (t) => {
  const { app, user } = await setup(t);
  const junk = await received(app, user, '.DS_Store', Buffer.from('x'));
  const id = await received(app, user, 'genes.txt', Buffer.from('x\n'));
  t.match(await postJson(app, user, [junk]), { status: 400, body: { message: /which are left out: '\.DS_Store'$/ } });
  const { source } = await uploaded(app, user, await postJson(app, user, [junk, id]));
  t.strictSame(source, { kind: 'files', files: [{ name: 'genes.txt', size: 2 }], leftOut: ['.DS_Store'] });
});

t.test('a revision and an upload by an administrator take uploads of the owner', async (t) => {
  const { app, user } = await setup(t);
  const at = await imported(app, db, user);
  const id = await received(app, user, 'genes.txt', Buffer.from('new\n'));
  const details = JSON.stringify({
    details: { origin: 'direct-upload', revisionNote: 'A better version' },
    uploadIds: [id],
  });
  const revised = await app.call(user, 'PUT', `/datasets/${at.dataset}`, { headers: JSON_TYPE, body: details });
  t.equal(revised.status, 202, JSON.stringify(revised.body));
  t.strictSame((await uploaded(app, user, revised)).raw, { 'genes.txt': 'new\n' });
  const other = await received(app, user, 'genes.txt', Buffer.from('theirs\n'));
  const made = await app.call(undefined, 'POST', '/admin/rpc/datasets/proxy-upload', {
    headers: { 'admin-token': ADMIN_TOKEN, 'user-id': user },
    body: form(detailsPart(soundDetails()), ...parts(other)),
  });
  t.equal(made.status, 202, JSON.stringify(made.body));
  t.strictSame((await uploaded(app, user, made)).raw, { 'genes.txt': 'theirs\n' });
});
