// Deployed front ends look a user's study up under the dataset's id with a text before it.

import t from 'tap';
import { StudyIds } from '../../../http/access/asked-dataset.ts';
import { type App, accessApp, asks, replace } from './access-app.ts';

const PREFIX = 'EDAUD_';

async function study(app: App, id: string, owner: number, visibility = 'private'): Promise<void> {
  await app.cache.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, upload_status, import_status)
     values ($1, $2::numeric, $1, 0, 'live', 'genelist', '1.0', '{}', $3, 'Mine', 'success', 'complete')`,
    [id, owner, visibility],
  );
  await app.cache.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select $1, 'AlphaDB', kind, 'complete' from (values ('meta'), ('data')) as kinds (kind)`,
    [id],
  );
}

const setup = (t: { teardown(fn: () => unknown): void }, prefix = PREFIX): Promise<App> =>
  accessApp(t, { studyIds: new StudyIds(prefix) });

t.test('a user study is listed, and found, under the prefixed id', async (t) => {
  const app = await setup(t);
  await study(app, 'mine1', 20);
  const { body } = await app.call('20', 'GET', '/permissions');
  t.match(body, { perDataset: { EDAUD_mine1: { studyId: 'EDAUD_mine1', isUserStudy: true } } });
  t.same(Object.keys((body as { perDataset: object }).perDataset), ['EDAUD_mine1']);
  for (const asked of ['EDAUD_mine1', 'mine1']) {
    const one = await app.call('20', 'GET', `/permissions/${asked}`);
    t.match([one.status, one.body], [200, { studyId: 'EDAUD_mine1', datasetId: 'mine1', isUserStudy: true }], asked);
  }
  t.equal((await app.call('20', 'GET', '/permissions/EDAUD_EDAUD_mine1')).status, 404, 'once is enough');
  t.equal((await app.call('20', 'GET', '/permissions/EDAUD_')).status, 404);
});

t.test('curated datasets keep their ids', async (t) => {
  const app = await setup(t);
  const { body } = await app.call('20', 'GET', '/permissions?all=true');
  const { perDataset } = body as { perDataset: Record<string, { studyId: string }> };
  t.equal(perDataset.public?.studyId, 'S-public');
  for (const asked of ['public', 'S-public'])
    t.match((await app.call('20', 'GET', `/permissions/${asked}`)).body, { studyId: 'S-public', isUserStudy: false });
});

t.test('requests are found with the prefix and without it', async (t) => {
  const app = await setup(t);
  t.match((await asks(app, 30, 'EDAUD_private')).body, { created: true, endUserId: '30-private' });
  t.equal((await asks(app, 30, 'private')).status, 409, 'it is the same dataset');
  for (const id of ['30-private', '30-EDAUD_private']) {
    t.match((await app.call('30', 'GET', `/dataset-end-users/${id}`)).body, { datasetId: 'private' }, id);
    const change = await app.call('30', 'PATCH', `/dataset-end-users/${id}`, [replace('/purpose', id)]);
    t.equal(change.status, 204, id);
  }
  const provider = { datasetId: 'EDAUD_private', userId: 60, isManager: false };
  t.match((await app.call('1', 'POST', '/dataset-providers', provider)).body, { created: true });
  for (const id of ['private', 'EDAUD_private']) {
    t.match((await app.call('1', 'GET', `/dataset-end-users?datasetId=${id}`)).body, { rows: 1 }, id);
    const providers = await app.call('1', 'GET', `/dataset-providers?datasetId=${id}`);
    t.match(providers.body, { total: Number }, id);
    t.match(JSON.stringify(providers.body), '"userId":60', id);
  }
  t.equal((await app.call('1', 'POST', '/dataset-providers', { ...provider, datasetId: 7 })).status, 422, 'no text');
  t.equal((await app.call('30', 'DELETE', '/dataset-end-users/30-EDAUD_private')).status, 204);
});

t.test('without a prefix ids are as they are, and a list that is empty is still there', async (t) => {
  const app = await setup(t, '');
  await study(app, 'mine1', 20);
  t.match((await app.call('20', 'GET', '/permissions')).body, { perDataset: { mine1: { studyId: 'mine1' } } });
  t.equal((await app.call('20', 'GET', '/permissions/EDAUD_mine1')).status, 404);
  for (const who of ['21', 'guest-1']) {
    const { body } = await app.call(who, 'GET', '/permissions');
    t.strictSame((body as { perDataset?: object }).perDataset, {}, who);
  }
});
