import t from 'tap';
import { revisionOf, type UserId } from '../../../engine/model/ids.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newDataset, newUser } from '../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App, installerApp } from './installer-app.ts';
import { type Added, add, IMPORTED, imported, owned, share } from './stored-datasets.ts';

const DAY_MS = 86_400_000;
const db = await cacheDatabase(t);

const remove = async (app: App, user: string | undefined, at: Pick<Added, 'dataset'>, headers = {}) =>
  (await app.call(user, 'DELETE', `/datasets/${at.dataset}`, { headers })).status;
const undelete = async (app: App, user: string | undefined, at: Pick<Added, 'dataset'>, headers = {}) =>
  (await app.call(user, 'POST', `/datasets/${at.dataset}/undelete`, { headers })).status;

async function stateOf(app: App, at: Added) {
  const [row] = await db.query<{ state: string }>('select state from dataset where dataset_id = $1', [at.dataset]);
  return { state: row?.state, flagged: app.store.keys().includes(objectKey(at, 'delete-flag')) };
}
const setState = (at: Added, state: string) =>
  db.query('update dataset set state = $2 where dataset_id = $1', [at.dataset, state]);

const PUBLISHED = { visibility: 'public', firstPublished: '2026-01-02T03:04:05.678Z' } as const;
const LIVE = { state: 'live', flagged: false };
const DELETING = { state: 'deleting', flagged: true };

t.test('the owner deletes a dataset: it is gone for everybody at once, and flagged in the store', async (t) => {
  const { app, owner, at } = await owned(t, db);
  t.equal(await remove(app, owner, at), 204);
  t.strictSame(await stateOf(app, at), DELETING);
  t.equal((await app.call(owner, 'GET', `/datasets/${at.dataset}`)).status, 410);
  t.strictSame((await app.call(owner, 'GET', '/datasets')).body, []);
  t.equal(await remove(app, owner, at), 204, 'deleting twice is fine');
  t.strictSame(await stateOf(app, at), DELETING);
});

t.test('after the deletion of the newest revision was answered, nobody is led to an older one', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend] = [newUser(), newUser()];
  const root = await imported(app, db, owner, PUBLISHED);
  const history = { originalId: root.dataset, revisions: [] };
  const revision = (number: number, columns: Record<string, string> = {}) => {
    const more = { ...PUBLISHED, revisionHistory: history };
    return add(app, db, owner, more, { ...IMPORTED, ...columns }, revisionOf(root.dataset, number));
  };
  await setState(root, 'superseded');
  const middle = await revision(1);
  const newest = await revision(2, { import_status: 'in-progress' });
  const before = await app.call(owner, 'GET', `/datasets/${root.dataset}`);
  t.equal(before.headers.get('location'), `${app.url}/datasets/${newest.dataset}`, 'it led to the newest');
  t.equal(await remove(app, owner, newest), 204);
  for (const at of [root, middle, newest]) {
    t.strictSame(await stateOf(app, at), DELETING, at.dataset);
    for (const who of [owner, friend])
      for (const path of ['', '/files']) {
        const { status, headers } = await app.call(who, 'GET', `/datasets/${at.dataset}${path}`);
        t.strictSame([status, headers.get('location')], [410, null], `${who} ${at.dataset}${path}`);
      }
  }
  for (const list of ['/datasets', '/datasets/community'])
    t.strictSame(
      ((await app.call(owner, 'GET', list)).body as { owner: { userId: unknown } }[]).filter(
        ({ owner: by }) => String(by.userId) === owner,
      ),
      [],
      list,
    );
});

t.test('only the owner and administrators delete, and nobody learns what others own', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, revoked, stranger] = [newUser(), newUser(), newUser(), newUser()];
  const hidden = await imported(app, db, owner);
  const open = await imported(app, db, owner, { visibility: 'public' });
  for (const at of [hidden, open]) await share(db, at, friend, 'grant', 'accept');
  await share(db, hidden, revoked, 'revoke', 'accept');
  const admin = { 'admin-token': ADMIN_TOKEN };
  for (const call of [remove, undelete]) {
    const answers = async (at: Added) => [
      await call(app, undefined, at),
      await call(app, `guest-${stranger}`, at),
      await call(app, stranger, at),
      await call(app, friend, at),
    ];
    t.strictSame(await answers(hidden), [401, 403, 404, 403]);
    t.strictSame(await answers(open), [401, 403, 403, 403]);
    t.equal(await call(app, stranger, { dataset: newDataset() }), 404);
    t.strictSame([await stateOf(app, hidden), await stateOf(app, open)], [LIVE, LIVE]);
  }
  t.equal(await remove(app, revoked, hidden), 404, 'the contract has no 410 for a deletion');
  t.equal(await undelete(app, revoked, hidden), 410);
  t.equal(await remove(app, undefined, hidden, admin), 204);
  t.strictSame(await stateOf(app, hidden), DELETING);
  t.equal(await undelete(app, undefined, hidden, admin), 204);
  t.strictSame(await stateOf(app, hidden), LIVE);
});

t.test('an older revision goes with the newest one and not alone', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser();
  const first = await imported(app, db, owner);
  const history = { revisionHistory: { originalId: first.dataset, revisions: [] } };
  const second = await add(app, db, owner, history, IMPORTED, revisionOf(first.dataset, 1));
  t.match(await app.call(owner, 'DELETE', `/datasets/${first.dataset}`), {
    status: 403,
    body: { status: 'forbidden', message: new RegExp(second.dataset) },
  });
  await setState(first, 'superseded');
  t.equal(await remove(app, owner, first), 403);
  t.equal(await undelete(app, owner, first), 403);
  t.equal(await remove(app, owner, second), 204);
  t.strictSame(await stateOf(app, second), DELETING);
});

t.test('the owner takes a deletion back, as often as asked', async (t) => {
  const { app, owner, at } = await owned(t, db);
  for (const state of ['deleting', 'deleted']) {
    await remove(app, owner, at);
    await setState(at, state);
    t.equal(await undelete(app, owner, at), 204);
    t.strictSame(await stateOf(app, at), LIVE, state);
    t.equal(await undelete(app, owner, at), 204);
  }
  t.equal((await app.call(owner, 'GET', `/datasets/${at.dataset}`)).status, 200);
});

t.test(
  'revisions that were replaced are so again at once when the deletion is taken back, and no others',
  async (t) => {
    const app = await installerApp(t, db);
    const owner = newUser();
    const first = await add(app, db, owner, {}, { ...IMPORTED, state: 'superseded' });
    await app.store.put(objectKey(first, 'revised-flag'), new Uint8Array(), {}, new AbortController().signal);
    const revision = (number: number) => ({
      ...({ revisionId: revisionOf(first.dataset, number), action: 'revise', revisionNote: 'Another one' } as const),
      timestamp: '2026-01-02T03:04:05.678Z',
    });
    const history = { revisionHistory: { originalId: first.dataset, revisions: [revision(1), revision(2)] } };
    const second = await add(app, db, owner, history, IMPORTED, revisionOf(first.dataset, 1));
    const newest = await add(app, db, owner, history, IMPORTED, revisionOf(first.dataset, 2));
    t.equal(await remove(app, owner, newest), 204);
    t.strictSame([await stateOf(app, first), await stateOf(app, second)], [DELETING, DELETING]);
    t.equal(await undelete(app, owner, newest), 204);
    const flagged = [first, second, newest].map((at) => app.store.text(objectKey(at, 'delete-flag')) !== undefined);
    t.strictSame(flagged, [false, true, false], 'reconciliation flags as replaced what was not');
  },
);

t.test('a deletion cannot be taken back once the window has ended or the pruner has begun', async (t) => {
  const owner = newUser();
  const old = await installerApp(t, db, { now: () => Date.now() - 31 * DAY_MS });
  const late = await imported(old, db, owner);
  await remove(old, owner, late);
  t.equal(await undelete(old, owner, late), 410);
  t.strictSame(await stateOf(old, late), DELETING);

  const app = await installerApp(t, db);
  const pruned = await imported(app, db, owner as UserId);
  await remove(app, owner, pruned);
  await setState(pruned, 'pruning');
  t.equal(await undelete(app, owner, pruned), 410);
  t.equal(await remove(app, owner, pruned), 404);
  t.strictSame(await stateOf(app, pruned), { state: 'pruning', flagged: true });
});

t.test('a store that is away deletes nothing', async (t) => {
  const { app, owner, at } = await owned(t, db);
  app.store.onCall = () => {
    throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  };
  t.equal(await remove(app, owner, at), 500);
  app.store.onCall = () => undefined;
  t.strictSame(await stateOf(app, at), LIVE);
});
