import t from 'tap';
import { revisionOf, type UserId } from '../../../engine/model/ids.ts';
import { shareKey } from '../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { type Added, add, imported, share } from './stored-datasets.ts';

const db = await cacheDatabase(t);

const json = { 'content-type': 'application/json' };
const admin = { 'admin-token': ADMIN_TOKEN };

function caller(app: App) {
  const put = async (
    user: string | undefined,
    at: Pick<Added, 'dataset'>,
    recipient: string,
    what: 'offer' | 'receipt',
    action: unknown,
    headers: Record<string, string> = {},
  ) =>
    app.call(user, 'PUT', `/datasets/${at.dataset}/shares/${recipient}/${what}`, {
      headers: { ...json, ...headers },
      body: JSON.stringify({ action }),
    });
  return {
    offer: async (user: string | undefined, at: Added, recipient: string, action: string, headers = {}) =>
      (await put(user, at, recipient, 'offer', action, headers)).status,
    receipt: async (user: string | undefined, at: Added, recipient: string, action: string, headers = {}) =>
      (await put(user, at, recipient, 'receipt', action, headers)).status,
    put,
  };
}

/** The two words as the cache and the store have them. */
async function words(app: App, at: Added, recipient: UserId) {
  const [row] = await db.query<{ offer: string | null; receipt: string | null }>(
    'select offer, receipt from dataset_share where dataset_id = $1 and recipient_id = $2::numeric',
    [at.dataset, recipient],
  );
  const stored = (['share-offer.json', 'share-receipt.json'] as const).map((object) =>
    app.store.text(shareKey(at, recipient, object)),
  );
  return [row?.offer ?? null, row?.receipt ?? null, ...stored];
}

t.test('a dataset is offered, accepted, revoked, offered again and rejected', async (t) => {
  const app = await installerApp(t, db);
  const { offer, receipt } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const at = await imported(app, db, owner);
  const sees = async () => (await app.call(friend, 'GET', `/datasets/${at.dataset}`)).status;

  t.equal(await offer(owner, at, friend, 'grant'), 204);
  t.strictSame(await words(app, at, friend), ['grant', null, '{"action":"grant"}', undefined]);
  t.equal(await sees(), 404, 'an offer that nobody accepted shows nothing');
  t.equal(await receipt(friend, at, friend, 'accept'), 204);
  t.strictSame(await words(app, at, friend), ['grant', 'accept', '{"action":"grant"}', '{"action":"accept"}']);
  t.equal(await sees(), 200);
  t.equal(await offer(owner, at, friend, 'revoke'), 204);
  t.equal(await sees(), 410);
  t.equal(await receipt(friend, at, friend, 'accept'), 403, 'what was taken back cannot be accepted');
  t.equal(await receipt(friend, at, friend, 'reject'), 204);
  t.equal(await offer(owner, at, friend, 'grant'), 204);
  t.equal(await sees(), 404, 'the rejection stands until the recipient accepts');
  t.equal(await receipt(friend, at, friend, 'accept'), 204);
  t.equal(await sees(), 200);
});

t.test('without an offer a private dataset does not exist, and only the recipient answers one', async (t) => {
  const app = await installerApp(t, db);
  const { offer, receipt } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const hidden = await imported(app, db, owner);
  const open = await imported(app, db, owner, { visibility: 'public' });
  t.equal(await receipt(friend, hidden, friend, 'accept'), 404);
  t.equal(await receipt(friend, open, friend, 'accept'), 403);
  t.equal(await receipt(undefined, hidden, friend, 'accept', admin), 404);
  t.strictSame(await words(app, hidden, friend), [null, null, undefined, undefined]);
  t.equal(await offer(undefined, hidden, friend, 'grant', admin), 204);
  t.equal(await receipt(undefined, hidden, friend, 'accept', admin), 204);
  t.match(await words(app, hidden, friend), ['grant', 'accept']);
});

t.test('what cannot be shared is refused, and why', async (t) => {
  const app = await installerApp(t, db);
  const { put } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const waiting = await add(app, db, owner);
  const failed = await add(app, db, owner, {}, { upload_status: 'success', import_status: 'failed' });
  const deleted = await imported(app, db, owner);
  await db.query(`update dataset set state = 'deleting' where dataset_id = $1`, [deleted.dataset]);
  for (const [at, message] of [
    [waiting, `dataset ${waiting.dataset} cannot be shared yet: it is not imported`],
    [failed, `dataset ${failed.dataset} cannot be shared: its import failed`],
    [deleted, `dataset ${deleted.dataset} is deleted`],
  ] as const) {
    const answer = await put(owner, at, friend, 'offer', 'grant');
    t.strictSame([answer.status, answer.body], [403, { status: 'forbidden', message }]);
    t.strictSame(await words(app, at, friend), [null, null, undefined, undefined]);
  }
});

t.test('what a newer revision would not hear of is said to that one', async (t) => {
  const app = await installerApp(t, db);
  const { put, offer, receipt } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const first = await imported(app, db, owner);
  t.equal(await offer(owner, first, friend, 'grant'), 204);
  const history = { revisionHistory: { originalId: first.dataset, revisions: [] } };
  const second = await add(app, db, owner, history, { upload_status: 'rejected' }, revisionOf(first.dataset, 1));
  t.equal(await receipt(friend, first, friend, 'accept'), 204, 'a failed revision replaces nothing');
  await share(db, second, friend, 'grant', 'accept');
  const set = (at: Added, column: string, value: string) =>
    db.query(`update dataset set ${column} = $2 where dataset_id = $1`, [at.dataset, value]);
  const refused = async (message: string) => {
    for (const [user, what, action] of [
      [owner, 'offer', 'grant'],
      [owner, 'offer', 'revoke'],
      [friend, 'receipt', 'accept'],
      [friend, 'receipt', 'reject'],
    ] as const) {
      const answer = await put(user, first, friend, what, action);
      t.strictSame([answer.status, answer.body], [403, { status: 'forbidden', message }], `${what} ${action}`);
    }
    t.strictSame((await words(app, first, friend)).slice(0, 2), ['grant', 'accept']);
  };
  await set(second, 'upload_status', 'running');
  await refused(`dataset ${first.dataset} is being replaced by its newer revision ${second.dataset}; change that one`);
  await set(first, 'state', 'superseded');
  await refused(`dataset ${first.dataset} was replaced by its newer revision ${second.dataset}`);

  t.equal(await offer(owner, second, newUser(), 'grant'), 403, 'not imported yet');
  t.equal(await offer(owner, second, newUser(), 'revoke'), 403);
  t.equal(await receipt(friend, second, friend, 'reject'), 204, 'what came along with the revision can be taken back');
  t.equal(await offer(owner, second, friend, 'revoke'), 204);
  t.strictSame((await words(app, second, friend)).slice(0, 2), ['revoke', 'reject']);
});

t.test('bad input is named', async (t) => {
  const app = await installerApp(t, db);
  const { put } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const at = await imported(app, db, owner);
  t.equal((await put(owner, at, owner, 'offer', 'grant')).status, 400, 'the owner has it already');
  t.match((await put(owner, at, 'me', 'offer', 'grant')).body, { message: /recipient 'me' is no user id/ });
  const wrong = await put(owner, at, friend, 'offer', 'accept');
  t.strictSame(
    [wrong.status, (wrong.body as { errors: unknown }).errors],
    [422, { general: [], byKey: { action: ["is 'accept'; allowed: 'grant', 'revoke'"] } }],
  );
  t.equal((await put(owner, at, friend, 'offer', undefined)).status, 422);
  t.equal((await put(owner, at, friend, 'receipt', 'grant')).status, 422);
  t.equal((await put(owner, at, friend, 'offer', 'x'.repeat(2_000))).status, 400);
  t.equal((await put(owner, at, friend, 'offer', 'grant', { 'content-type': 'text/plain' })).status, 415);
});

t.test('where shares need no answer, an offer is accepted at once, but never against a rejection', async (t) => {
  const app = await installerApp(t, db, { settings: { autoAcceptShares: true } });
  const { offer, receipt } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const at = await imported(app, db, owner);
  await offer(owner, at, friend, 'grant');
  t.strictSame(await words(app, at, friend), ['grant', 'accept', '{"action":"grant"}', '{"action":"accept"}']);
  await receipt(friend, at, friend, 'reject');
  await offer(owner, at, friend, 'revoke');
  await offer(owner, at, friend, 'grant');
  t.match(await words(app, at, friend), ['grant', 'reject']);
});

t.test('the recipient finds offers by what was answered, in either case of the word', async (t) => {
  const app = await installerApp(t, db);
  const { offer, receipt } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const first = await imported(app, db, owner, { created: '2026-01-02T00:00:00.000Z' });
  const second = await imported(app, db, owner, { created: '2026-01-01T00:00:00.000Z' });
  for (const at of [first, second]) await offer(owner, at, friend, 'grant');
  await receipt(friend, second, friend, 'accept');
  const list = async (query: string) => {
    const answer = await app.call(friend, 'GET', `/users/self/share-offers${query}`);
    t.strictSame(responseFaults(schemaOf(app.routes, 'listShareOffers', 200), answer.text), []);
    return (answer.body as { datasetId: string; shareStatus: string }[]).map((item) => [
      item.datasetId,
      item.shareStatus,
    ]);
  };
  const [isOpen, accepted] = [
    [first.dataset, 'open'],
    [second.dataset, 'accepted'],
  ];
  for (const query of ['', '?status=open', '?status=OPEN', '?status=Open']) t.strictSame(await list(query), [isOpen]);
  t.strictSame(await list('?status=ACCEPTED'), [accepted]);
  t.strictSame(await list('?status=rejected'), []);
  t.strictSame(await list('?status=all'), [isOpen, accepted]);
  t.strictSame(await list('?status=all&limit=1&offset=1'), [accepted]);
  t.equal((await app.call(friend, 'GET', '/users/self/share-offers?status=mine')).status, 400);
  t.equal((await app.call(`guest-${friend}`, 'GET', '/users/self/share-offers')).status, 403);
  t.equal((await app.call(undefined, 'GET', '/users/self/share-offers')).status, 401);
});

t.test('the community list shows guests what is not private, and nobody whom it is shared with', async (t) => {
  const app = await installerApp(t, db);
  const { offer } = caller(app);
  const [owner, friend] = [newUser(), newUser()];
  const open = await imported(app, db, owner, { visibility: 'protected', daysForApproval: 0 });
  const hidden = await imported(app, db, owner);
  for (const at of [open, hidden]) await offer(owner, at, friend, 'grant');
  for (const user of [owner, `guest-${friend}`]) {
    const answer = await app.call(user, 'GET', '/datasets/community');
    t.strictSame(responseFaults(schemaOf(app.routes, 'listCommunityDatasets', 200), answer.text), []);
    const items = answer.body as { datasetId: string; visibility: string; shares: unknown[] }[];
    const mine = items.filter((item) => [open.dataset, hidden.dataset].includes(item.datasetId as never));
    t.match(mine, [{ datasetId: open.dataset, visibility: 'controlled', shares: [] }]);
  }
  t.equal((await app.call(undefined, 'GET', '/datasets/community')).status, 401);
  t.equal((await app.call(owner, 'GET', '/datasets/community?install_target=Nowhere')).status, 400);
});

t.test('users see their quota and what they use of it', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser();
  const meta = async () => (await app.call(owner, 'GET', '/users/self/meta')).body;
  t.strictSame(await meta(), { quota: { limit: 4 * 1024 * 1024, usage: 0 } });
  const at = await imported(app, db, owner);
  await db.query('update dataset set raw_bytes = 1234 where dataset_id = $1', [at.dataset]);
  t.strictSame(await meta(), { quota: { limit: 4 * 1024 * 1024, usage: 1234 } });
  await app.call(owner, 'DELETE', `/datasets/${at.dataset}`);
  t.strictSame(await meta(), { quota: { limit: 4 * 1024 * 1024, usage: 1234 } }, 'until it is pruned');
  t.equal((await app.call(`guest-${owner}`, 'GET', '/users/self/meta')).status, 403);
});
