import t from 'tap';
import type { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import { fileKey } from '../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { type App, installerApp, MIB } from './installer-app.ts';
import { openCall, rawCall } from './raw-call.ts';
import { type Added, imported } from './stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

const OCTETS = { 'content-type': 'application/octet-stream' };
const pathOf = (at: Added, name: string): string => `/datasets/${at.dataset}/files/documents/${name}`;
const keyOf = (at: Added, name: string): string => fileKey(at, 'documents', name);
const put = (app: App, at: Added, name: string, body: string, headers: Record<string, string> = OCTETS) =>
  app.call(at.owner, 'PUT', pathOf(at, name), { body, headers });
const stream = (app: App, at: Added, name: string, ...pieces: (string | Buffer)[]) =>
  rawCall(app, at.owner, 'PUT', pathOf(at, name), OCTETS, pieces);

const listed = async (app: App, at: Added) => (await app.queries.files(at.dataset, signal)).documents;
const stored = (app: App, at: Added) => app.store.keys().filter((key) => key.startsWith(keyOf(at, '')));

/** A dataset with one document of four bytes, and no listed file that is not stored. */
async function documented(app: App): Promise<Added> {
  const at = await imported(app, db, newUser());
  await db.query(`delete from dataset_file where dataset_id = $1 and folder in ('document', 'property')`, [at.dataset]);
  await put(app, at, 'a.txt', 'text');
  return at;
}

/** A request whose body has begun to go into the store, and waits for its end. */
async function begun(app: App, at: Added, name: string, piece: string) {
  const reached = Promise.withResolvers<void>();
  const before = app.store.onCall;
  app.store.onCall = (method, key) => {
    before(method, key);
    if (method === 'put' && key === keyOf(at, name)) reached.resolve();
  };
  const call = openCall(app, at.owner, 'PUT', pathOf(at, name), OCTETS);
  call.write(piece);
  await reached.promise;
  return call;
}

const setState = (db: Postgres, at: Added, state: string) =>
  db.query('update dataset set state = $2 where dataset_id = $1', [at.dataset, state]);

t.test('a body that cannot be used leaves the old file as it was', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  const large = Buffer.alloc(2 * MIB - 3);
  const message = (sent: string): string =>
    `the file has ${sent} bytes; the dataset's documents and property files have ${2 * MIB} left`;
  const tooLarge = await stream(app, at, 'a.txt', large, large);
  t.equal(tooLarge.status, 400);
  t.match(JSON.parse(tooLarge.bytes.toString()), {
    status: 'bad-request',
    message: /^the file has at least \d{7} bytes; /,
  });
  const announced = await put(app, at, 'a.txt', 'x'.repeat(2 * MIB + 1));
  t.strictSame(
    [announced.status, announced.body],
    [400, { status: 'bad-request', message: message(String(2 * MIB + 1)) }],
  );
  for (const empty of [await put(app, at, 'a.txt', ''), await stream(app, at, 'a.txt', '')]) t.equal(empty.status, 400);
  const packed = await put(app, at, 'a.txt', 'packed', { ...OCTETS, 'content-encoding': 'gzip' });
  t.strictSame(
    [packed.status, packed.body],
    [415, { status: 'bad-request', message: "header Content-Encoding 'gzip': expected the file itself" }],
  );
  t.equal((await put(app, at, 'b.txt', 'text', { ...OCTETS, 'content-encoding': 'identity' })).status, 204);
  t.equal((await app.call(at.owner, 'DELETE', pathOf(at, 'b.txt'))).status, 204);
  const part = await put(app, at, 'a.txt', 'xt', { ...OCTETS, 'content-range': 'bytes 2-3/4' });
  t.strictSame(
    [part.status, part.body],
    [400, { status: 'bad-request', message: 'header Content-Range: a file is put whole, not in parts' }],
  );
  t.match(await put(app, at, 'a.txt', 'text', { 'content-type': 'multipart/form-data; boundary=x' }), {
    status: 415,
    body: { status: 'bad-request', message: /expected application\/octet-stream/ },
  });
  const ended = Promise.withResolvers<void>();
  const { put: into } = app.store;
  app.store.put = async (...args) => into.apply(app.store, args).finally(ended.resolve);
  const call = await begun(app, at, 'a.txt', 'half a do');
  await call.cut();
  await ended.promise;
  t.strictSame(await listed(app, at), [{ name: 'a.txt', size: 4 }]);
  t.equal(app.store.text(keyOf(at, 'a.txt')), 'text');
  t.equal((await stream(app, at, 'a.txt', 'in ', 'pieces')).status, 204);
  t.equal(app.store.text(keyOf(at, 'a.txt')), 'in pieces');
});

t.test('documents and property files of a dataset together have the room of one upload', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  await db.query(`insert into dataset_file (dataset_id, folder, name, size) values ($1, 'property', 'p.tsv', 1000)`, [
    at.dataset,
  ]);
  const left = 2 * MIB - 1_004;
  t.equal((await put(app, at, 'b.txt', 'x'.repeat(left + 1))).status, 400);
  t.equal((await stream(app, at, 'b.txt', Buffer.alloc(left), 'x')).status, 400);
  t.equal((await stream(app, at, 'b.txt', Buffer.alloc(left))).status, 204);
  t.equal((await put(app, at, 'c.txt', 'x')).status, 400);
  t.equal((await put(app, at, 'a.txt', 'four')).status, 204, 'what is replaced makes room');
  t.equal((await put(app, at, 'a.txt', 'fifth')).status, 400);
});

t.test('a folder may have a thousand files', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  await db.query(
    `insert into dataset_file (dataset_id, folder, name, size)
     select $1, 'document', 'file ' || n, 1 from generate_series(1, 999) n`,
    [at.dataset],
  );
  t.match(await put(app, at, 'b.txt', 'text'), {
    status: 400,
    body: { message: /has 1000 files of this kind, and may have 1000/ },
  });
  t.equal((await put(app, at, 'a.txt', 'again')).status, 204);
});

t.test('a user may send a few files at once, no more', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  const calls = [await begun(app, at, 'b.txt', 'b'), await begun(app, at, 'c.txt', 'c')];
  t.match(await put(app, at, 'd.txt', 'd'), { status: 429, body: { status: 'bad-request' } });
  for (const call of calls) call.end();
  for (const call of calls) t.equal((await call.answer).status, 204);
  t.equal((await put(app, at, 'd.txt', 'd')).status, 204);
  t.strictSame(
    (await listed(app, at)).map(({ name }) => name),
    ['a.txt', 'b.txt', 'c.txt', 'd.txt'],
  );
});

t.test('of two files of one name at once the last stays, under its own size', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  const [first, second] = [await begun(app, at, 'b.txt', '1'), await begun(app, at, 'b.txt', '22')];
  first.write('1');
  second.write('2');
  first.end();
  second.end();
  t.strictSame([(await first.answer).status, (await second.answer).status], [204, 204]);
  const text = app.store.text(keyOf(at, 'b.txt')) ?? '';
  t.ok(['11', '222'].includes(text));
  t.strictSame(await listed(app, at), [
    { name: 'a.txt', size: 4 },
    { name: 'b.txt', size: text.length },
  ]);
});

t.test('of two spellings of one name at once only one stays', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  const calls = [await begun(app, at, 'b.txt', 'lower'), await begun(app, at, 'B.TXT', 'upper')];
  for (const call of calls) call.end();
  const statuses = (await Promise.all(calls.map(({ answer }) => answer))).map(({ status }) => status);
  t.strictSame(statuses.toSorted(), [204, 400]);
  const kept = statuses[0] === 204 ? 'b.txt' : 'B.TXT';
  t.strictSame(
    await listed(app, at),
    [kept, 'a.txt'].toSorted().map((name) => ({ name, size: name === 'a.txt' ? 4 : 5 })),
  );
  t.strictSame(stored(app, at), [keyOf(at, 'a.txt'), keyOf(at, kept)].toSorted());
});

t.test(
  'a file that arrives after its dataset was deleted is kept for an undelete, but not once pruning began',
  async (t) => {
    const app = await installerApp(t, db);
    const at = await documented(app);
    const recoverable = await begun(app, at, 'b.txt', 'b');
    await setState(db, at, 'deleted');
    recoverable.end();
    t.equal((await recoverable.answer).status, 204);
    t.strictSame((await listed(app, at)).length, 2);

    await setState(db, at, 'live');
    const late = await begun(app, at, 'c.txt', 'c');
    await setState(db, at, 'pruning');
    late.end();
    t.equal((await late.answer).status, 410);

    await setState(db, at, 'live');
    const later = await begun(app, at, 'd.txt', 'd');
    await db.query('delete from dataset where dataset_id = $1', [at.dataset]);
    later.end();
    t.equal((await later.answer).status, 410);
    t.strictSame(stored(app, at), [keyOf(at, 'a.txt'), keyOf(at, 'b.txt')]);
  },
);

t.test('a change lists what the store has, whatever a crash left unsaid before', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  await app.store.put(keyOf(at, 'unlisted.txt'), Buffer.from('12'), {}, signal);
  await db.query(`insert into dataset_file (dataset_id, folder, name, size) values ($1, 'document', 'lost.txt', 1)`, [
    at.dataset,
  ]);
  const removed = await app.call(at.owner, 'DELETE', pathOf(at, 'lost.txt'));
  t.equal(removed.status, 204);
  t.strictSame(await listed(app, at), [
    { name: 'a.txt', size: 4 },
    { name: 'unlisted.txt', size: 2 },
  ]);
  t.equal((await put(app, at, 'unlisted.txt', '123')).status, 204);
  t.strictSame((await listed(app, at))[1], { name: 'unlisted.txt', size: 3 });
});

t.test('a client that leaves after its last byte does not leave its file unlisted', async (t) => {
  const app = await installerApp(t, db);
  const at = await documented(app);
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { list } = app.store;
  // The cache's listing begins once the file is in the store.
  app.store.list = async function* (...args) {
    reached.resolve();
    await gate.promise;
    yield* list.apply(app.store, args);
  };
  const call = openCall(app, at.owner, 'PUT', pathOf(at, 'b.txt'), OCTETS);
  call.write('whole');
  call.end();
  await reached.promise;
  await call.cut();
  await app.call(undefined, 'GET', '/service-meta');
  gate.resolve();
  // Waits for the edit before it, and changes nothing.
  t.equal((await app.call(at.owner, 'DELETE', pathOf(at, 'none.txt'))).status, 404);
  t.strictSame(await listed(app, at), [
    { name: 'a.txt', size: 4 },
    { name: 'b.txt', size: 5 },
  ]);
});
