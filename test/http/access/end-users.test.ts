import t from 'tap';
import { accessApp, asks, enters, replace, shownUser, TEXTS } from './access-app.ts';

t.test('GET /dataset-end-users: staff and providers of the dataset; without a dataset owners only', async (t) => {
  const app = await accessApp(t);
  await asks(app, 31, 'private');
  await asks(app, 30, 'private');
  await asks(app, 30, 'public');
  await enters(app, 32, 'private', { approvalStatus: 'approved' });
  await enters(app, 9, 'private', { approvalStatus: 'denied' });
  const list = async (who: string, query: string) => {
    const { status, body } = await app.call(who, 'GET', `/dataset-end-users?${query}`);
    if (status !== 200) return status;
    const { data, ...rest } = body as { data: { user: { userId: number }; datasetId: string }[] };
    return { ...rest, data: data.map(({ user, datasetId }) => `${user.userId}-${datasetId}`) };
  };
  const four = ['9-private', '30-private', '31-private', '32-private'];
  for (const who of ['1', '2', '3', '4'])
    t.strictSame(await list(who, 'datasetId=private'), { rows: 4, offset: 0, total: 4, data: four }, who);
  t.strictSame(await list('1', 'datasetId=private&limit=2&offset=1'), {
    ...{ rows: 2, offset: 1, total: 4 },
    data: four.slice(1, 3),
  });
  for (const query of ['', 'datasetId=', 'datasetId=%20', 'approval=approved']) {
    for (const who of ['2', '3', '4', '30']) t.equal(await list(who, query), 400, `${who} ${query}`);
    t.match(await list('1', query), { total: query === 'approval=approved' ? 1 : 5 });
  }
  t.strictSame(await list('4', 'datasetId=nowhere'), { rows: 0, offset: 0, total: 0, data: [] });
  const by = async (status: string) => list('1', `datasetId=private&approval=${status}`);
  for (const [status, ...data] of [
    ['requested', '30-private', '31-private'],
    ['approved', '32-private'],
    ['denied', '9-private'],
    ['unrequested'],
  ] as const)
    t.strictSame(await by(status), { rows: data.length, offset: 0, total: data.length, data }, status);
  for (const word of ['APPROVED', 'x']) t.equal(await by(word), 400, word);
  for (const query of ['limit=0', 'offset=-1']) t.equal(await list('1', query), 400, query);
});

t.test('GET /dataset-end-users/{end-user-id}: the person, providers of the dataset and staff', async (t) => {
  const app = await accessApp(t);
  await asks(app, 30, 'private');
  const get = (who: string, id: string) => app.call(who, 'GET', `/dataset-end-users/${id}`);
  for (const who of ['30', '1', '2', '3', '4']) {
    const { status, body } = await get(who, '30-private');
    t.match([status, body], [200, { user: shownUser(30), ...TEXTS, approvalStatus: 'requested' }], who);
    for (const id of ['30-public', '30-nowhere'])
      t.equal((await get(who, id)).status, ['2', '3'].includes(who) && id === '30-nowhere' ? 403 : 404, `${who} ${id}`);
  }
  for (const id of ['30', '-private', 'x-private', '30-', '030-private', '30-a-b', '99999999999999999999-private'])
    t.equal((await get('1', id)).status, 404, id);
});

t.test('DELETE: owners and managers remove any, the person one that is not approved, and may ask again', async (t) => {
  const app = await accessApp(t);
  const remove = async (who: string, id: string) => (await app.call(who, 'DELETE', `/dataset-end-users/${id}`)).status;
  await asks(app, 30, 'private');
  t.equal(await remove('30', '30-private'), 204);
  t.equal(await remove('30', '30-private'), 404);
  t.match((await asks(app, 30, 'private')).body, { created: true });
  const patch = (status: string) =>
    app.call('2', 'PATCH', '/dataset-end-users/30-private', [replace('/approvalStatus', status)]);
  await patch('approved');
  t.equal(await remove('30', '30-private'), 403);
  await patch('denied');
  t.equal(await remove('30', '30-private'), 204, 'denied');
  for (const who of ['1', '2']) {
    await enters(app, 31, 'private', { approvalStatus: 'approved' });
    t.equal(await remove(who, '31-private'), 204, who);
  }
});

t.test('If-Match: only the version that is meant is changed', async (t) => {
  const app = await accessApp(t);
  await asks(app, 30, 'private');
  const path = '/dataset-end-users/30-private';
  const etag = (await app.call('30', 'GET', path)).headers.get('etag') ?? '';
  const patch = (tag: string, value: string) =>
    app.call('30', 'PATCH', path, [replace('/purpose', value)], { 'if-match': tag });
  t.equal((await patch('"other"', 'a')).status, 412);
  t.equal((await patch(etag, 'b')).status, 204);
  t.equal((await patch(etag, 'c')).status, 412);
  t.match((await app.call('30', 'GET', path)).body, { purpose: 'b' });
  t.equal((await app.call('30', 'GET', path, undefined, { 'if-none-match': etag })).status, 200, 'it has changed');
});
