// Users' datasets that are protected or controlled are datasets of the access service without being imported.

import t from 'tap';
import { parseCuratedId } from '../../../engine/model/access-request.ts';
import { type DatasetId, revisionOf, type UserId } from '../../../engine/model/ids.ts';
import { historyOf } from '../../support/dataset-samples.ts';
import { add, IMPORTED } from '../installer/stored-datasets.ts';
import { dataset as curated, DAY_MS, never, replace, TEXTS } from './access-app.ts';
import { userDatasetWorld } from './user-dataset-world.ts';

const OWNER = '700' as UserId;
const USER = '710';

t.test('a request goes its way as for a curated dataset, and the owner of the dataset manages it', async (t) => {
  const { app, make, asks, decides } = await userDatasetWorld(t, OWNER);
  const at = await make('protected', { name: 'Genes of Olga' });
  t.strictSame((await asks(USER, at.dataset)).body, { created: true, endUserId: `${USER}-${at.dataset}` });
  t.match(await asks(USER, at.dataset), { status: 409 });
  t.match((await app.call(USER, 'GET', `/dataset-end-users/${USER}-${at.dataset}`)).body, {
    datasetId: at.dataset,
    restrictionLevel: 'protected',
    approvalStatus: 'requested',
  });
  const list = `/dataset-end-users?datasetId=${at.dataset}`;
  t.match((await app.call(OWNER, 'GET', list)).body, { total: 1, data: [{ user: { userId: Number(USER) } }] });
  t.match((await app.call(OWNER, 'GET', `/dataset-providers?datasetId=${at.dataset}`)).body, {
    data: [{ user: { userId: Number(OWNER) }, isManager: true }],
  });
  for (const who of [USER, '2', '711'])
    t.equal((await app.call(who, 'GET', list)).status, 403, `${who} is not the owner`);
  t.equal((await app.call('4', 'GET', list)).status, 200, 'staff see requests');
  t.equal((await decides(at, USER, ['/approvalStatus', 'approved'], ['/duration', 5])).status, 204);
  t.equal((await decides(at, USER, ['/approvalStatus', 'denied'], ['/denialReason', 'Not now'])).status, 204);
  t.match((await app.call(USER, 'GET', '/permissions')).body, {
    perDataset: { [at.dataset]: { displayName: 'Genes of Olga', isUserStudy: true, accessRequestStatus: 'denied' } },
  });
  const history = (await app.call(OWNER, 'GET', '/history')).body as { results: { row: object }[] };
  t.match(
    history.results.map(({ row }) => row),
    [
      { datasetPresenterID: at.dataset, approvalStatus: 'DENIED', denialReason: 'Not now' },
      { datasetPresenterID: at.dataset, approvalStatus: 'APPROVED', duration: 5 },
      { datasetPresenterID: at.dataset, approvalStatus: 'REQUESTED' },
    ],
  );
  const told = (await app.mails()).map((mail) => [mail.template, mail.datasetId]);
  t.strictSame(told, [
    ['approved', at.dataset],
    ['denied', at.dataset],
  ]);
});

t.test('requests are approved by the days that the owner says, when they are over', async (t) => {
  const { app, make, become, asks } = await userDatasetWorld(t, OWNER);
  const [byDays, byPeople, controlled, hidden] = [
    await make('protected', { daysForApproval: 3 }),
    await make('protected'),
    await make('controlled'),
    await make('protected', { daysForApproval: 3 }),
  ];
  const all = [byDays, byPeople, controlled, hidden];
  for (const at of all) await asks(USER, at.dataset);
  await become(hidden, 'private', 3);
  const states = async () => {
    t.equal((await app.call('admin', 'POST', '/approve-eligible-access-requests')).status, 204);
    const seen = [];
    for (const at of all) {
      const { body } = await app.call(USER, 'GET', `/dataset-end-users/${USER}-${at.dataset}`);
      seen.push((body as { approvalStatus: string }).approvalStatus);
    }
    return seen;
  };
  t.strictSame(await states(), ['requested', 'requested', 'approved', 'requested'], 'controlled: 0 days');
  await app.clock.advance(3 * DAY_MS);
  t.strictSame(await states(), ['approved', 'requested', 'approved', 'requested'], 'nothing while it is private');
  await become(byPeople, 'protected', 2);
  t.strictSame(await states(), ['approved', 'approved', 'approved', 'requested'], 'as the owner says now');
  await app.cache.query(`update dataset set state = 'deleted' where dataset_id = $1`, [hidden.dataset]);
  t.strictSame(await states(), ['approved', 'approved', 'approved', 'requested'], 'nothing of what is deleted');
});

t.test('nobody can ask for what is private, public, deleted or unknown, and all are answered alike', async (t) => {
  const { app, make, become, asks } = await userDatasetWorld(t, OWNER);
  const asked = await make('protected');
  await asks(USER, asked.dataset);
  const closed = [await make('private'), await make('public'), await make('protected')];
  await app.cache.query(`update dataset set state = 'deleted' where dataset_id = $1`, [closed[2]?.dataset]);
  for (const id of [...closed.map((at) => at.dataset), '0VbZbnH7hXXXXXXX'])
    for (const who of [USER, '1', OWNER]) {
      const body = { ...TEXTS, userId: 712, datasetId: id };
      const one = who === USER ? { ...body, userId: Number(USER) } : body;
      const { status } = await app.call(who, 'POST', '/dataset-end-users', one);
      t.equal(status, who === OWNER ? 403 : 422, `${who}: ${id}`);
    }
  await become(asked, 'private');
  t.equal((await asks('713', asked.dataset)).status, 422, 'it was asked for while it was protected');
  t.equal(
    (await app.call(OWNER, 'GET', `/dataset-end-users?datasetId=${asked.dataset}`)).status,
    200,
    'its requests stay',
  );
  t.strictSame((await app.call(USER, 'GET', '/permissions?all=true')).body, {
    perDataset: (
      await app.call('799', 'GET', '/permissions?all=true').then(({ body }) => body as { perDataset: object })
    ).perDataset,
  });
});

t.test('a grant is for the dataset with all its revisions', async (t) => {
  const { app, installer, make, asks, decides, get } = await userDatasetWorld(t, OWNER);
  const first = await make('protected');
  await asks(USER, first.dataset);
  await decides(first, USER, ['/approvalStatus', 'approved']);
  const id = revisionOf(first.dataset, 1);
  const second = await make('protected');
  // As a revision leaves it.
  await app.cache.query('delete from dataset where dataset_id = $1', [second.dataset]);
  const revision = await add(
    installer,
    app.cache,
    OWNER,
    { visibility: 'protected', revisionHistory: historyOf(first.dataset, id) },
    IMPORTED,
    id,
  );
  await installer.store.put(`${OWNER}/${id}/import-ready.zip`, Buffer.from('new'), {}, never);
  await app.cache.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     values ($1, 'PlasmoSite', 'meta', 'complete'), ($1, 'PlasmoSite', 'data', 'complete')`,
    [id],
  );
  await app.cache.query(`update dataset set state = 'superseded' where dataset_id = $1`, [first.dataset]);
  t.equal((await get(USER, `/datasets/${id}/files/upload`)).status, 200, 'the newest');
  t.equal((await get(USER, `/datasets/${first.dataset}/files/upload`)).status, 200, 'the one before');
  t.equal((await get('714', `/datasets/${id}/files/upload`)).status, 403);
  t.strictSame((await asks('714', id)).body, { created: true, endUserId: `714-${first.dataset}` });
  t.equal((await app.call('714', 'GET', `/dataset-end-users/714-${id}`)).status, 200, 'by the id of the revision');
  const { perDataset } = (await app.call(USER, 'GET', '/permissions')).body as { perDataset: Record<string, object> };
  t.strictSame(Object.keys(perDataset), [id], 'shown as the newest');
  await app.cache.query(
    `update dataset set visibility = 'private', metadata = metadata || '{"visibility": "private"}' where dataset_id = $1`,
    [revision.dataset],
  );
  for (const one of [id, first.dataset] as DatasetId[])
    t.not((await get(USER, `/datasets/${one}/files/upload`)).status, 200, 'taken back of all');
});

t.test('an id that a curated dataset has gives nothing of the user’s dataset', async (t) => {
  const { app, make, asks, get } = await userDatasetWorld(t, OWNER);
  const at = await make('protected');
  const datasetId = parseCuratedId(at.dataset);
  if (!datasetId) throw new Error('no curated id');
  await app.catalogue.put([curated(at.dataset, 'protected')], never);
  await asks(USER, at.dataset);
  const approve = [replace('/approvalStatus', 'approved')];
  t.equal((await app.call(OWNER, 'PATCH', `/dataset-end-users/${USER}-${at.dataset}`, approve)).status, 403);
  t.equal((await app.call('1', 'PATCH', `/dataset-end-users/${USER}-${at.dataset}`, approve)).status, 204);
  t.equal((await get(USER, `/datasets/${at.dataset}/files/upload`)).status, 403);
});

t.test('a file of curated datasets cannot take the place of a user’s dataset', async (t) => {
  const { app, make, asks } = await userDatasetWorld(t, OWNER);
  const at = await make('protected');
  await asks(USER, at.dataset);
  await t.rejects(app.catalogue.put([curated('NEW_1', 'public'), curated(at.dataset, 'public')], never), {
    kind: 'rejected',
    message: `'${at.dataset}' is the id of a user's dataset`,
  });
  t.equal(
    await app.catalogue.find('NEW_1' as Parameters<typeof app.catalogue.find>[0], never),
    undefined,
    'none or all',
  );
});

t.test('who governs a user’s dataset stays its owner, whatever others make of the list', async (t) => {
  const { app, make, asks, decides } = await userDatasetWorld(t, OWNER);
  const at = await make('protected');
  await asks(USER, at.dataset);
  const { body } = await app.call('1', 'GET', `/dataset-providers?datasetId=${at.dataset}`);
  const [entry] = (body as { data: { providerId: number }[] }).data;
  const path = `/dataset-providers/${entry?.providerId}`;
  t.equal((await app.call('1', 'PATCH', path, [replace('/isManager', false)])).status, 204);
  t.equal((await decides(at, USER, ['/approvalStatus', 'approved'])).status, 204);
  t.equal((await app.call('1', 'DELETE', path)).status, 204);
  t.equal((await decides(at, USER, ['/approvalStatus', 'denied'])).status, 204);
});
