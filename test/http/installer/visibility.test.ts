import t from 'tap';
import { revisionOf } from '../../../engine/model/ids.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newDataset, newUser } from '../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App, installerApp } from './installer-app.ts';
import { type Added, add, IMPORTED, imported, share } from './stored-datasets.ts';

const db = await cacheDatabase(t);

const statusOf = async (app: App, user: string | undefined, path: string): Promise<number> =>
  (await app.call(user, 'GET', path)).status;

t.test('who may see what', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, invited, revoked, stranger] = [newUser(), newUser(), newUser(), newUser(), newUser()];
  const shareWithAll = async (at: Added): Promise<Added> => {
    await share(db, at, friend, 'grant', 'accept');
    await share(db, at, invited, 'grant', null);
    await share(db, at, revoked, 'revoke', 'accept');
    return at;
  };
  const people = [owner, friend, invited, revoked, stranger];
  const hidden = await shareWithAll(await imported(app, db, owner));
  const open = await shareWithAll(await imported(app, db, owner, { visibility: 'protected' }));
  const deleted = await shareWithAll(await imported(app, db, owner));
  const unpublished = await shareWithAll(
    await imported(app, db, owner, { visibility: 'public', firstPublished: '2026-01-01T00:00:00.000Z' }),
  );
  for (const at of [deleted, unpublished])
    await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [at.dataset]);
  for (const [what, at, details, archives] of [
    ['private', hidden, [200, 200, 404, 410, 404], [200, 200, 404, 404, 404]],
    ['protected', open, [200, 200, 200, 200, 200], [200, 200, 403, 403, 403]],
    ['deleted', deleted, [410, 410, 410, 410, 404], [404, 404, 404, 404, 404]],
    ['deleted after it was public', unpublished, [410, 410, 410, 410, 410], [404, 404, 404, 404, 404]],
  ] as const)
    for (const path of ['', '/files', '/files/upload', '/files/install']) {
      const seen = people.map((user) => statusOf(app, user, `/datasets/${at.dataset}${path}`));
      t.strictSame(await Promise.all(seen), path.length > 6 ? archives : details, `${what} ${path}`);
    }
  await t.test('unknown and impossible ids are 404 with the words of the contract', async (t) => {
    for (const id of [newDataset(), 'a.b', '%2e%2ea']) {
      t.match(
        await app.call(owner, 'GET', `/datasets/${id}`),
        { status: 404, body: { status: 'not-found', message: String } },
        id,
      );
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
  await t.test('a guest with the number of a user has no part in what the user sees', async (t) => {
    for (const path of ['/files', '/files/upload', '/files/vdi-meta.json'])
      for (const user of [owner, friend]) {
        t.equal(await statusOf(app, user, `/datasets/${hidden.dataset}${path}`), 200, `${path}, the user`);
        t.equal(await statusOf(app, `guest-${user}`, `/datasets/${hidden.dataset}${path}`), 404, `${path}, the guest`);
      }
    t.equal(await statusOf(app, `guest-${owner}`, `/datasets/${deleted.dataset}/files`), 404);
  });
  await t.test('an administrator sees every dataset with the owner’s eyes', async (t) => {
    for (const at of [hidden, deleted]) {
      const headers = { 'admin-token': ADMIN_TOKEN };
      const answer = await app.call(undefined, 'GET', `/datasets/${at.dataset}`, { headers });
      t.equal(answer.status, 200);
      t.equal((answer.body as { shares: unknown[] }).shares.length, 3);
    }
  });
});

t.test('old revisions are no way around what the owner took back', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend, stranger] = [newUser(), newUser(), newUser()];
  const published = { firstPublished: '2026-01-01T00:00:00.000Z' };
  const old = await imported(app, db, owner, { visibility: 'public', ...published });
  await share(db, old, friend, 'grant', 'accept');
  await db.query(`update dataset set state = 'superseded' where dataset_id = $1`, [old.dataset]);
  const newest = await add(
    app,
    db,
    owner,
    { visibility: 'public', ...published, revisionHistory: { originalId: old.dataset, revisions: [] } },
    IMPORTED,
    revisionOf(old.dataset, 1),
  );
  await share(db, newest, friend, 'grant', 'accept');
  const seen = () =>
    Promise.all(
      [owner, friend, stranger, `guest-${stranger}`].flatMap((user) =>
        ['/files', '/files/upload'].map((path) => statusOf(app, user, `/datasets/${old.dataset}${path}`)),
      ),
    );
  t.strictSame(await seen(), [200, 200, 200, 200, 200, 200, 200, 200]);
  const closed = await app.call(owner, 'PATCH', `/datasets/${newest.dataset}`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ visibility: { value: 'private' } }),
  });
  t.equal(closed.status, 204);
  t.strictSame(await seen(), [200, 200, 200, 200, 410, 404, 410, 404], 'private again');
  await share(db, newest, friend, 'revoke', 'accept');
  t.strictSame(await seen(), [200, 200, 410, 404, 410, 404, 410, 404], 'and no longer shared');
  t.equal(await statusOf(app, friend, `/datasets/${old.dataset}`), 410);
  await db.query(`update dataset set state = 'deleting' where dataset_id = $1`, [newest.dataset]);
  t.strictSame(await seen(), [200, 200, 410, 404, 410, 404, 410, 404], 'and deleted, the old one not yet');
});
