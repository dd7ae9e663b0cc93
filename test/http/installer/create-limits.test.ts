import t from 'tap';
import { transient } from '../../../engine/runtime/failure.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { openUpload, streamed } from './chunked-upload.ts';
import { soundDetails } from './installation.ts';
import { type App, detailsPart, FILE, installerApp, MIB, NOTHING, post, remains } from './installer-app.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

t.test('an upload beyond its largest size is refused, announced or not, and leaves nothing', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  const announced = await post(app, user, ['dataFile', Buffer.alloc(3 * MIB), 'a.txt']);
  const message = /^the request has 3145\d{3} bytes; an upload may have 2097152$/;
  t.match([announced.status, announced.body], [400, { status: 'bad-request', message }]);
  t.strictSame(app.store.changes, []);
  const sent = await streamed(app, user, [detailsPart(soundDetails())], 3 * MIB);
  t.match(sent, {
    status: 400,
    body: {
      status: 'bad-request',
      message: /^the upload has at least \d{7} bytes; an upload may have 2097152$/,
    },
  });
  t.strictSame(await remains(app, db, user), NOTHING);
});

t.test('an upload beyond the quota is refused, announced or not, and leaves what was there', async (t) => {
  const app = await installerApp(t, db, { settings: { userMaxStorageBytes: 1_000_000 } });
  const user = newUser();
  const first = await streamed(app, user, [detailsPart(soundDetails())], 600);
  t.equal(first.status, 202);
  const before = app.store.keys();
  const reserved = await app.uploads.usage(user, signal);
  t.equal(reserved, await sizeOfAll(app), 'metadata too');
  const metaBytes = reserved - 600;
  const message =
    /^the upload has (at least )?999\d{3} bytes; of your storage quota of 1000000 bytes, \d{3,4} are used and 99\d{4} are left$/;
  const announced = await post(app, user, detailsPart(soundDetails()), ['dataFile', Buffer.alloc(999_500), 'a.zip']);
  t.match([announced.status, announced.body], [400, { status: 'bad-request', message }]);
  const sent = await streamed(app, user, [detailsPart(soundDetails())], 999_401);
  t.match([sent.status, sent.body], [400, { status: 'bad-request', message }]);
  t.strictSame(await remains(app, db, user), { uploads: 1, datasets: 1, reserved, objects: before });
  const exact = await streamed(app, user, [detailsPart(soundDetails())], 999_400 - 2 * metaBytes);
  t.equal(exact.status, 202);
  t.equal(await app.uploads.usage(user, signal), 1_000_000);
});

t.test('of two uploads at once that do not both fit, one is refused', async (t) => {
  const app = await installerApp(t, db, { settings: { userMaxStorageBytes: 1_000_000 } });
  const user = newUser();
  const both = await Promise.all(
    [1, 2].map(() => post(app, user, detailsPart(soundDetails()), ['dataFile', Buffer.alloc(600_000), 'a.zip'])),
  );
  t.strictSame(both.map((answer) => answer.status).sort(), [202, 400]);
  t.equal(await app.uploads.usage(user, signal), await sizeOfAll(app));
});

t.test('a user may have a few uploads under way, no more', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  const open = [openUpload(app, user), openUpload(app, user)];
  await Promise.all(open.map((upload) => upload.stored));
  const third = await post(app, user, detailsPart(soundDetails()), FILE);
  t.match([third.status, third.body], [429, { status: 'bad-request' }]);
  t.equal(third.headers.get('retry-after'), '10');
  const other = await post(app, newUser(), detailsPart(soundDetails()), FILE);
  t.equal(other.status, 202);
  const gone = app.abandoned();
  open[0]?.abort();
  await gone;
  const next = await post(app, user, detailsPart(soundDetails()), FILE);
  t.equal(next.status, 202);
  const last = app.abandoned();
  open[1]?.abort();
  await last;
});

t.test('a store that is away answers 503 and leaves nothing', async (t) => {
  for (const failing of ['dataFile', 'vdi-meta']) {
    const app = await installerApp(t, db);
    const user = newUser();
    app.store.onCall = (method, key) => {
      if (method === 'put' && (failing === 'dataFile' || key.endsWith('vdi-meta.json')))
        throw transient('the store is away');
    };
    t.match(
      await post(app, user, detailsPart(soundDetails()), FILE),
      { status: 503, body: { status: 'server-error', requestId: String } },
      failing,
    );
    t.strictSame(await remains(app, db, user), NOTHING);
  }
});

async function sizeOfAll({ store }: App): Promise<number> {
  let bytes = 0;
  for await (const { size } of store.list('', {}, signal)) bytes += size;
  return bytes;
}
