// Each MUST of the tus protocol 1.0 for the server, of the core and of the extensions that we offer.

import { createHash } from 'node:crypto';
import t from 'tap';
import { PostgresResumableUploads } from '../../../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import { parseUserId, type UploadId, type UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import type { FakeUploadBytes } from '../../../fakes/fake-upload-bytes.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { type AppOptions, installerApp, MIB } from '../installer-app.ts';
import { openCall, rawCall } from '../raw-call.ts';
import { base64, create, head, messageOf, named, OFFSET_TYPE, patch, received, TUS } from './resumable-calls.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const { instance } = await livingProcess(t, db);
const SITE = 'https://site.example';

async function setup(t: { teardown(fn: () => unknown): void }, options: AppOptions = {}) {
  const app = await installerApp(t, db, { instance, cors: [SITE], ...options });
  return { app, user: newUser() };
}

t.test('OPTIONS tells version, extensions, largest size and checksums, without a token', async (t) => {
  const { app } = await setup(t);
  for (const path of ['/uploads', `/uploads/${'0'.repeat(32)}`]) {
    const { status, headers } = await rawCall(app, undefined, 'OPTIONS', path);
    t.match(
      [status, headers],
      [
        204,
        {
          'tus-resumable': '1.0.0',
          'tus-version': '1.0.0',
          'tus-extension': 'creation,creation-with-upload,checksum,expiration,termination',
          'tus-max-size': String(2 * MIB),
          'tus-checksum-algorithm': 'sha1,sha256',
        },
      ],
    );
  }
});

t.test('pages of other origins may send and read the headers of the protocol', async (t) => {
  const { app, user } = await setup(t);
  const asked = { origin: SITE, 'access-control-request-method': 'PATCH' };
  const { headers } = await rawCall(app, undefined, 'OPTIONS', `/uploads/${'0'.repeat(32)}`, asked);
  t.match(headers['access-control-allow-methods'], /PATCH.*DELETE.*HEAD/);
  const sent = [
    'tus-resumable',
    'upload-length',
    'upload-offset',
    'upload-metadata',
    'upload-checksum',
    'x-http-method-override',
  ];
  for (const name of sent) t.match(headers['access-control-allow-headers'], name);
  const { answer } = await create(app, user, 1, { origin: SITE });
  for (const name of [
    'location',
    'tus-resumable',
    'upload-offset',
    'upload-length',
    'upload-expires',
    'upload-metadata',
  ])
    t.match(answer.headers['access-control-expose-headers'], name);
});

t.test('every response has Tus-Resumable, also errors of any kind', async (t) => {
  const { app, user } = await setup(t);
  const { path, answer } = await create(app, user, 1);
  const answers = [
    answer,
    await rawCall(app, undefined, 'PATCH', path, TUS),
    await rawCall(app, 'guest-7', 'PATCH', path, TUS),
    await rawCall(app, user, 'PATCH', `${path}?x=1`, TUS),
    await head(app, user, `/uploads/${'0'.repeat(32)}`),
    await head(app, user, path),
    await patch(app, user, path, 7, Buffer.alloc(1)),
  ];
  t.strictSame(
    answers.map((one) => one.status),
    [201, 401, 403, 400, 404, 200, 409],
  );
  for (const { headers } of answers) t.equal(headers['tus-resumable'], '1.0.0');
});

t.test('a request of another version, or of none, is refused with 412 and changes nothing', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 1);
  for (const version of [{ 'tus-resumable': '0.2.2' }, {}]) {
    const calls = [
      await rawCall(app, user, 'POST', '/uploads', { 'upload-length': '1', 'upload-metadata': named('a'), ...version }),
      await rawCall(app, user, 'HEAD', path, version),
      await rawCall(app, user, 'PATCH', path, { ...OFFSET_TYPE, 'upload-offset': '0', ...version }, ['x']),
      await rawCall(app, user, 'DELETE', path, version),
    ];
    for (const { status, headers } of calls) t.strictSame([status, headers['tus-version']], [412, '1.0.0']);
  }
  const list = await app.resumable.list(user, signal);
  t.match(list, [{ offset: 0 }]);
  t.equal(list.length, 1);
});

t.test('HEAD tells offset, length, metadata and expiry, and is never cached', async (t) => {
  const { app, user } = await setup(t);
  const metadata = `${named('genes.txt')},empty,note ${base64('a, b')}`;
  const { path } = await create(app, user, 10, { 'upload-metadata': metadata });
  t.equal((await patch(app, user, path, 0, Buffer.from('1234'))).status, 204);
  const { status, headers } = await head(app, user, path);
  t.match(
    [status, headers],
    [200, { 'upload-offset': '4', 'upload-length': '10', 'upload-metadata': metadata, 'cache-control': 'no-store' }],
  );
  t.ok(Date.parse(headers['upload-expires'] as string) > Date.now());
  const shown = await app.call(user, 'GET', path);
  t.match(shown.body, { fileName: 'genes.txt', length: 10, offset: 4 });
  t.match((await app.call(user, 'GET', '/uploads')).body, [shown.body]);
});

t.test('PATCH appends at the offset of the upload only, and tells the new one', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 10);
  const first = await patch(app, user, path, 0, Buffer.from('12345'));
  t.match([first.status, first.headers], [204, { 'upload-offset': '5' }]);
  for (const offset of [0, 4, 6, 10]) {
    const wrong = await patch(app, user, path, offset, Buffer.from('x'));
    t.match([wrong.status, wrong.headers], [409, { 'upload-offset': '5' }]);
  }
  for (const offset of ['-1', '1.5', 'x', '', '9'.repeat(17)])
    t.equal((await patch(app, user, path, 0, Buffer.from('x'), { 'upload-offset': offset })).status, 400, offset);
  const typed = await patch(app, user, path, 5, Buffer.from('x'), { 'content-type': 'application/octet-stream' });
  t.equal(typed.status, 415);
  const last = await patch(app, user, path, 5, Buffer.from('67890'));
  t.match([last.status, last.headers], [204, { 'upload-offset': '10' }]);
  const nothing = await patch(app, user, path, 10, Buffer.alloc(0));
  t.match([nothing.status, nothing.headers], [204, { 'upload-offset': '10' }]);
});

t.test('a body that is longer than what is left is refused, announced or not', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 10);
  const announced = await patch(app, user, path, 0, Buffer.alloc(11));
  t.strictSame(
    [announced.status, messageOf(announced)],
    [413, 'the body has 11 bytes; 10 of the 10 bytes of the upload are left'],
  );
  const chunked = await rawCall(app, user, 'PATCH', path, { ...TUS, ...OFFSET_TYPE, 'upload-offset': '0' }, [
    Buffer.alloc(11),
  ]);
  t.equal(chunked.status, 413);
  t.equal((await head(app, user, path)).headers['upload-offset'], '0');
});

t.test('creation needs a length within the limit, and a file name', async (t) => {
  const { app, user } = await setup(t);
  const cases: readonly (readonly [Record<string, string>, number, RegExp])[] = [
    [{ 'upload-length': 'x' }, 400, /^header Upload-Length is 'x': expected a number of bytes$/],
    [{ 'upload-length': '-1' }, 400, /^header Upload-Length is '-1'/],
    [
      { 'upload-length': String(2 * MIB + 1) },
      413,
      /^header Upload-Length is 2097153; an upload may have 2097152 bytes$/,
    ],
    [{ 'upload-defer-length': '1' }, 400, /^header Upload-Defer-Length is not supported/],
    [{ 'upload-metadata': '' }, 400, /has no key 'filename'/],
    [{ 'upload-metadata': `note ${base64('x')}` }, 400, /has no key 'filename'/],
    [{ 'upload-metadata': 'filename %%' }, 400, /holds 'filename %%': expected a key, a space and text in Base64$/],
    [{ 'upload-metadata': `${named('a')},${named('b')}` }, 400, /has the key 'filename' twice$/],
    [{ 'upload-metadata': named('../a') }, 400, /the file name '\.\.\/a' must not hold \/ or \\$/],
    [{ 'upload-metadata': `filename ${base64(Buffer.from([0xe4]))}` }, 400, /is not UTF-8$/],
  ];
  for (const [headers, status, message] of cases) {
    const { answer } = await create(app, user, 1, headers);
    t.match([answer.status, messageOf(answer)], [status, message]);
  }
  const { 'upload-metadata': _none, ...rest } = { ...TUS, 'upload-metadata': named('a') };
  t.match(messageOf(await rawCall(app, user, 'POST', '/uploads', { ...rest })), /^header Upload-Length is missing/);
  t.strictSame(await app.resumable.list(user, signal), []);
});

t.test('creation with the first bytes answers the new offset; an empty upload is whole at once', async (t) => {
  const { app, user } = await setup(t);
  const { answer, path } = await create(app, user, 4, OFFSET_TYPE, Buffer.from('123'));
  t.match([answer.status, answer.headers], [201, { 'upload-offset': '3', location: new RegExp(`^http://.*${path}$`) }]);
  const empty = await create(app, user, 0);
  t.match([empty.answer.status, empty.answer.headers], [201, { 'upload-offset': '0' }]);
  t.strictSame(app.uploadBytes.ids.length, 2);
});

t.test('a body with another checksum is refused with 460, and nothing of it is kept', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 10);
  const body = Buffer.from('12345');
  const digest = (algorithm: string, of = body) => `${algorithm} ${createHash(algorithm).update(of).digest('base64')}`;
  const wrong = await patch(app, user, path, 0, body, { 'upload-checksum': digest('sha256', Buffer.from('other')) });
  t.match([wrong.status, messageOf(wrong)], [460, /^the 5 bytes of the body do not have the sha256 of header/]);
  t.equal((await head(app, user, path)).headers['upload-offset'], '0');
  for (const [checksum, message] of [
    [`md5 ${createHash('md5').update(body).digest('base64')}`, /names 'md5'; allowed are sha1, sha256$/],
    ['sha256 AAAA', /expected sha256 and 32 bytes in Base64$/],
    ['sha256', /expected sha256 and 32 bytes in Base64$/],
  ] as const) {
    const refused = await patch(app, user, path, 0, body, { 'upload-checksum': checksum });
    t.match([refused.status, messageOf(refused)], [400, message]);
  }
  t.equal((await patch(app, user, path, 0, body, { 'upload-checksum': digest('sha256') })).status, 204);
  t.equal((await patch(app, user, path, 5, body, { 'upload-checksum': digest('sha1') })).status, 204);
  const begun = await create(
    app,
    user,
    5,
    { ...OFFSET_TYPE, 'upload-checksum': digest('sha1', Buffer.from('x')) },
    body,
  );
  t.equal(begun.answer.status, 460);
  t.equal((await app.resumable.list(user, signal)).length, 1, 'nobody knows the id of the other');
});

t.test('a terminated upload is gone, with its bytes and its quota', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 10, OFFSET_TYPE, Buffer.from('123'));
  t.equal(await app.uploads.usage(user, signal), 10);
  t.equal((await rawCall(app, user, 'DELETE', path, TUS)).status, 204);
  t.strictSame([await app.uploads.usage(user, signal), app.uploadBytes.ids], [0, []]);
  for (const { status } of [await head(app, user, path), await patch(app, user, path, 3, Buffer.from('4'))])
    t.equal(status, 404);
  t.equal((await rawCall(app, user, 'DELETE', path, TUS)).status, 404);
});

t.test('an expired upload is refused, and one that is continued lives longer', async (t) => {
  let expiryMs = 60_000;
  const { app, user } = await setup(t, { settings: { resumableExpiryMs: () => expiryMs } });
  const { path, answer } = await create(app, user, 10);
  expiryMs = 120_000;
  const continued = await patch(app, user, path, 0, Buffer.from('1'));
  const [before, after] = [answer, continued].map(({ headers }) => Date.parse(headers['upload-expires'] as string));
  t.ok((after ?? 0) - (before ?? 0) >= 59_000);
  await db.query(`update resumable_upload set expires_at = now() where owner_id = $1`, [user]);
  t.equal((await patch(app, user, path, 1, Buffer.from('2'))).status, 410);
});

t.test('a client that can only send POST names the method in a header', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 3);
  const post = (method: string, headers = {}, pieces: string[] = []) =>
    rawCall(app, user, 'POST', path, { ...TUS, 'x-http-method-override': method, ...headers }, pieces);
  const sent = await post('PATCH', { ...OFFSET_TYPE, 'upload-offset': '0' }, ['123']);
  t.match([sent.status, sent.headers], [204, { 'upload-offset': '3' }]);
  t.match((await post('HEAD')).headers, { 'upload-offset': '3', 'upload-length': '3' });
  t.equal((await post('PUT')).status, 405);
  t.equal((await post('DELETE')).status, 204);
  t.equal((await head(app, user, path)).status, 404);
});

t.test('only the owner sees, continues or removes an upload', async (t) => {
  const { app, user } = await setup(t);
  const { path } = await create(app, user, 3);
  const stranger = newUser();
  t.equal((await head(app, stranger, path)).status, 404);
  t.equal((await patch(app, stranger, path, 0, Buffer.from('1'))).status, 404);
  t.equal((await rawCall(app, stranger, 'DELETE', path, TUS)).status, 404);
  t.equal((await app.call(stranger, 'GET', path)).status, 404);
  t.strictSame((await app.call(stranger, 'GET', '/uploads')).body, []);
  t.equal((await head(app, user, path)).headers['upload-offset'], '0');
});

t.test('the number of open uploads and the quota are bounded', async (t) => {
  const { app, user } = await setup(t, { settings: { resumablePerUser: 2, userMaxStorageBytes: 1_000 } });
  t.equal((await create(app, user, 600)).answer.status, 201);
  const over = await create(app, user, 401);
  t.match(
    [over.answer.status, messageOf(over.answer)],
    [400, /^the upload has 401 bytes; of your storage quota of 1000/],
  );
  t.equal((await create(app, user, 400)).answer.status, 201);
  const third = await create(app, user, 0);
  t.match([third.answer.status, third.answer.headers], [429, { 'retry-after': '60' }]);
});

t.test('a body that is cut off keeps what arrived, and the upload goes on from there', async (t) => {
  const { app, user } = await setup(t);
  const { path, id } = await create(app, user, 10);
  const flushed = called(app.uploadBytes, 'flush');
  const written = called(app.uploadBytes, 'write');
  const call = openCall(app, user, 'PATCH', path, {
    ...TUS,
    ...OFFSET_TYPE,
    'upload-offset': '0',
    'content-length': '10',
  });
  call.write('12345');
  await written;
  await call.cut();
  await flushed;
  // Waits until the request before has let go.
  const gone = await patch(app, user, path, 0, Buffer.from('x'));
  t.match([gone.status, gone.headers], [409, { 'upload-offset': '5' }]);
  t.equal((await patch(app, user, path, 5, Buffer.from('67890'))).status, 204);
  t.equal((await app.resumable.find(id as UploadId, user, signal))?.offset, 10);
});

t.test('a newer request ends an older one that stands still, in this process and in another', async (t) => {
  const { app, user } = await setup(t);
  const other = await livingProcess(t, db);
  const elsewhere = await installerApp(t, db, { instance: other.instance });
  for (const newer of [app, elsewhere]) {
    const { path } = await create(app, user, 10);
    const written = called(app.uploadBytes, 'write');
    const call = openCall(app, user, 'PATCH', path, {
      ...TUS,
      ...OFFSET_TYPE,
      'upload-offset': '0',
      'content-length': '10',
    });
    call.write('123');
    await written;
    const next = await patch(newer, user, path, 0, Buffer.from('x'));
    t.match([next.status, next.headers], [409, { 'upload-offset': '3' }], 'what arrived was kept first');
    const ended = await call.answer;
    t.match([ended.status, ended.headers], [423, { 'retry-after': /^[1-9]/ }]);
    t.match(String(ended.bytes), /another request continues upload/);
  }
});

t.test('while another process holds an upload and does not let go, it is locked', async (t) => {
  let now = Date.now();
  // Time passes as soon as somebody asks.
  const { app, user } = await setup(t, { clock: { ...systemClock, now: () => (now += 3_000) } });
  const { path, id } = await create(app, user, 10);
  const other = await livingProcess(t, db);
  const holder = new PostgresResumableUploads(db, other.instance);
  const claim = await holder.claim(id as UploadId, parseUserId(user) as UserId, Date.now(), signal);
  if (claim === undefined || claim === 'held') throw new Error('no claim');
  const locked = await patch(app, user, path, 0, Buffer.from('x'));
  t.match([locked.status, messageOf(locked)], [423, /is being changed by another request$/]);
  await other.die();
  t.equal((await patch(app, user, path, 0, Buffer.from('x'))).status, 204, 'the process is dead');
});

t.test('what cannot be stored is not acknowledged', async (t) => {
  const { app, user } = await setup(t);
  const id = await received(app, user, 'a.txt', Buffer.from('x'));
  t.ok(id);
  const { path } = await create(app, user, 10);
  app.uploadBytes.onCall = (method) => {
    if (method === 'flush') throw new Error('the disk is broken');
  };
  t.equal((await patch(app, user, path, 0, Buffer.from('12345'))).status, 500);
  app.uploadBytes.onCall = () => {};
  t.equal((await head(app, user, path)).headers['upload-offset'], '0');
  t.equal((await patch(app, user, path, 0, Buffer.from('1234567890'))).status, 204);
});

/** Resolves at the next call of the method. */
function called(bytes: FakeUploadBytes, wanted: 'write' | 'flush'): Promise<void> {
  const before = bytes.onCall;
  return new Promise((resolve) => {
    bytes.onCall = (method, id) => {
      before(method, id);
      if (method === wanted) resolve();
    };
  });
}
