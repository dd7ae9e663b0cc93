import t from 'tap';
import { accessApp, DAY_MS, replace, shownUser } from './access-app.ts';

const NEW = { datasetId: 'protected', isManager: false };

t.test('GET /dataset-providers: staff and the providers of the dataset, wherever they stand in the list', async (t) => {
  const app = await accessApp(t);
  const list = (who: string, query: string) => app.call(who, 'GET', `/dataset-providers?${query}`);
  for (const query of ['', 'datasetId=', 'datasetId=%20']) t.equal((await list('1', query)).status, 400, query);
  await list('2', 'datasetId=public');
  const rows = [
    { providerId: 9, datasetId: 'public', user: shownUser(2), isManager: true },
    { providerId: 10, datasetId: 'public', user: shownUser(3), isManager: false },
  ];
  t.equal((await list('3', 'datasetId=public&limit=1')).status, 200, 'on another page');
  for (const who of ['1', '2', '3', '4']) {
    const { status, body } = await list(who, 'datasetId=public');
    t.strictSame([status, body], [200, { data: rows, rows: 2, offset: 0, total: 2 }], who);
  }
  const page = await list('1', 'datasetId=public&limit=1&offset=1');
  t.strictSame(page.body, { data: [rows[1]], rows: 1, offset: 1, total: 2 });
  for (const id of ['nowhere', 'a-b'])
    t.strictSame((await list('4', `datasetId=${id}`)).body, { data: [], rows: 0, offset: 0, total: 0 }, id);
  t.equal((await list('4', 'datasetId=no%00where')).status, 400);
});

t.test('POST /dataset-providers: owners and managers of the dataset; duplicates are 409', async (t) => {
  const app = await accessApp(t);
  const post = (who: string, body: object) => app.call(who, 'POST', '/dataset-providers', body);
  t.strictSame((await post('2', { ...NEW, userId: 50 })).body, { created: true, providerId: 11 });
  t.strictSame((await post('1', { ...NEW, userId: 51, isManager: true })).body, {
    created: true,
    providerId: 12,
  });
  t.match(await post('2', { ...NEW, userId: 50 }), { status: 409, body: { status: 'conflict' } });
  t.match(await post('1', { ...NEW, datasetId: 'nowhere', userId: 50 }), {
    status: 422,
    body: { errors: { byKey: { datasetId: [/no dataset/] } } },
  });
  for (const whom of [{}, { userId: 50, email: 'a@b.example' }])
    t.match(await post('1', { ...NEW, ...whom }), {
      status: 422,
      body: { errors: { byKey: { userId: [String], email: [String] } } },
    });
  const unusable = { status: 422, body: { errors: { byKey: { email: [String] } } } };
  const many = ['x', 'a b@c.example', 'a@b.example,c@d.example', 'A <a@b.example>', 'a@b.example\nBcc: c@d.example'];
  for (const email of many) t.match(await post('1', { ...NEW, email }), unusable, email);
  t.equal((await post('1', { ...NEW, userId: 60, extra: 1 })).status, 422);
  t.strictSame(await app.mails(), []);
});

t.test(
  'POST /dataset-providers by e-mail: an account is entered, a stranger invited once a day and entered later',
  async (t) => {
    const app = await accessApp(t);
    const post = (email: string, more = {}) => app.call('2', 'POST', '/dataset-providers', { ...NEW, email, ...more });
    await app.call('50', 'GET', '/permissions');
    t.strictSame((await post('U50@SITE.example')).body, { created: true, providerId: 11 });
    const invited = await post('u60@site.example', { isManager: true });
    t.strictSame([invited.status, invited.body], [200, { created: false }]);
    t.strictSame(await app.mails(), [
      { template: 'provider-register', datasetId: 'protected', email: 'u60@site.example' },
    ]);
    const again = await post('U60@site.example');
    t.match([again.status, again.headers.get('retry-after')], [429, '86400']);
    await app.clock.advance(DAY_MS);
    t.equal((await post('u60@site.example', { isManager: true })).status, 200);
    t.equal((await app.mails()).length, 2);
    // The first call with an account that has the address.
    const permissions = await app.call('60', 'GET', '/permissions');
    t.match(permissions.body, { perDataset: { protected: { type: 'provider', isManager: true } } });
    const list = await app.call('1', 'GET', '/dataset-providers?datasetId=protected');
    t.match(list.body, { total: 4 });
  },
);

t.test('PATCH and DELETE /dataset-providers/{provider-id}: owners and managers of its dataset', async (t) => {
  const app = await accessApp(t);
  const patch = (who: string, id: string, body: unknown) => app.call(who, 'PATCH', `/dataset-providers/${id}`, body);
  const on = [replace('/isManager', true)];
  // Of dataset public alone.
  await app.call('1', 'POST', '/dataset-providers', { datasetId: 'public', userId: 50, isManager: true });
  for (const who of ['2', '50']) t.equal((await patch(who, '777', on)).status, 403, 'missing is like not theirs');
  for (const id of ['777', 'x']) {
    t.equal((await patch('1', id, on)).status, 404);
    t.equal((await app.call('1', 'DELETE', `/dataset-providers/${id}`)).status, 404);
  }
  t.equal((await patch('2', '10', [])).status, 400);
  t.equal((await patch('2', '10', [replace('/isOwner', true)])).status, 422);
  t.equal((await patch('50', '10', on)).status, 204);
  t.match((await app.call('3', 'GET', '/permissions')).body, { perDataset: { public: { isManager: true } } });
  t.equal((await app.call('50', 'DELETE', '/dataset-providers/10')).status, 204);
  t.equal((await app.call('3', 'GET', '/dataset-providers?datasetId=public')).status, 403);
});
