// Creations of the access service with an Idempotency-Key.

import t, { type Test } from 'tap';
import { ADMIN_TOKEN, accessApp, TEXTS } from './access-app.ts';

async function setup(t: Test) {
  const app = await accessApp(t);
  const post = (who: string, path: string, body: object, key = 'k') =>
    app.call(who, 'POST', path, body, { 'idempotency-key': key });
  /** The same twice, then another body, then the same without a key, which shows that it exists. */
  const demandOnce = async (who: string, path: string, body: object, other: object, created: object, known: number) => {
    const [first, again] = [await post(who, path, body), await post(who, path, body)];
    t.strictSame([first.status, first.body, first.headers.get('idempotent-replayed')], [200, created, null]);
    t.strictSame([again.status, again.text, again.headers.get('idempotent-replayed')], [200, first.text, 'true']);
    t.match(await post(who, path, { ...body, ...other }), {
      status: 422,
      body: { message: /another request of yours/ },
    });
    t.equal((await app.call(who, 'POST', path, body)).status, known, 'it was created');
  };
  return { app, post, demandOnce };
}

t.test('staff, a provider and a request are created once', async (t) => {
  const { demandOnce } = await setup(t);
  await demandOnce('1', '/staff', { userId: 70, isOwner: false }, { isOwner: true }, { staffId: 3 }, 409);
  const provider = { datasetId: 'protected', isManager: false, userId: 50 };
  await demandOnce('2', '/dataset-providers', provider, { userId: 51 }, { created: true, providerId: 11 }, 409);
  const request = { ...TEXTS, userId: 30, datasetId: 'private' };
  const created = { created: true, endUserId: '30-private' };
  await demandOnce('30', '/dataset-end-users', request, { purpose: 'Another' }, created, 409);
});

t.test('people without an account are invited once, and the repetition gets no 429', async (t) => {
  const { app, demandOnce } = await setup(t);
  const provider = { datasetId: 'protected', isManager: false, email: 'u60@site.example' };
  await demandOnce('2', '/dataset-providers', provider, { isManager: true }, { created: false }, 429);
  const request = { ...TEXTS, email: 'u61@site.example', datasetId: 'protected' };
  await demandOnce('2', '/dataset-end-users', request, { purpose: 'Another' }, { created: false }, 429);
  t.equal((await app.mails()).length, 2);
});

t.test('50 at once with one key are one request, and one entry of the history', async (t) => {
  const { app, post } = await setup(t);
  const body = { ...TEXTS, userId: 30, datasetId: 'private' };
  const answers = await Promise.all(Array.from({ length: 50 }, () => post('30', '/dataset-end-users', body)));
  for (const { status, text, headers } of answers)
    if (status === 200) t.strictSame(JSON.parse(text), { created: true, endUserId: '30-private' });
    else t.strictSame([status, headers.get('retry-after')], [409, '5']);
  t.ok(answers.some(({ status }) => status === 200));
  const rows = await app.db.query(`select from end_user where user_id = 30 and dataset_id = 'private'`);
  t.equal(rows.length, 1);
});

t.test('the answer is stored with the change: without its key there is no change', async (t) => {
  const { app, post } = await setup(t);
  // As if another process had taken the key over while the change was made.
  await app.db.query(`
    create function rob() returns trigger language plpgsql as $$
    begin
      update idempotency_key set holder = gen_random_uuid();
      return new;
    end $$`);
  await app.db.query('create trigger robbed after insert on staff for each row execute function rob()');
  const body = { userId: 70, isOwner: false };
  const lost = await post('1', '/staff', body);
  t.equal(lost.status, 503, lost.text);
  await app.db.query('drop trigger robbed on staff');
  t.strictSame(await app.db.query('select from staff where user_id = 70'), []);
  t.strictSame((await post('1', '/staff', body, 'another')).status, 200);
});

t.test('keys of the administrator and of an owner are not the same', async (t) => {
  const { app, post } = await setup(t);
  t.equal((await post('1', '/staff', { userId: 70, isOwner: false })).status, 200);
  const headers = { 'admin-token': ADMIN_TOKEN, 'idempotency-key': 'k' };
  t.equal((await app.call(undefined, 'POST', '/staff', { userId: 71, isOwner: false }, headers)).status, 200);
});
