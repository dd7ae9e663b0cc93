import t from 'tap';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { commandBlock, runCommands } from '../../../support/command-blocks.ts';
import { newUser } from '../../../support/dataset-samples.ts';
import { ADMIN_TOKEN, installerApp } from '../installer-app.ts';
import { responseFaults, schemaOf } from '../response-check.ts';

const db = await cacheDatabase(t);
const app = await installerApp(t, db);
const JSON_BODY = { 'content-type': 'application/json' };
const HOOK = 'https://receiver.example/hook';

type Shown = Record<string, unknown> & { readonly webhookId: string; readonly secret: string };

const call = (user: string, method: string, path = '', body?: unknown, headers: Record<string, string> = {}) =>
  app.call(user === 'admin' ? undefined : user, method, `/webhooks${path}`, {
    headers: {
      ...(user === 'admin' ? { 'admin-token': ADMIN_TOKEN } : {}),
      ...(body === undefined ? {} : JSON_BODY),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

async function created(user: string, body: object = { url: HOOK }): Promise<Shown> {
  const answer = await call(user, 'POST', '', body);
  t.equal(answer.status, 201, answer.text);
  return answer.body as Shown;
}
const faultsOf = (body: unknown) => (body as { errors: { byKey: Record<string, string[]> } }).errors.byKey;

t.test('a webhook is created, shown without its secret, changed and removed', async (t) => {
  const user = newUser();
  const answer = await call(user, 'POST', '', { url: 'https://receiver.example/a b', kinds: ['installed'] });
  t.strictSame(responseFaults(schemaOf(app.routes, 'createWebhook', 201), answer.text), []);
  const { secret, ...shown } = answer.body as Shown;
  t.match(secret, /^whsec_/);
  t.match(shown, { url: 'https://receiver.example/a%20b', kinds: ['installed'], state: 'active', owner: Number(user) });
  const path = `/${shown.webhookId}`;
  t.match(answer.headers.get('location') ?? '', new RegExp(`/webhooks${path}$`));
  t.strictSame((await call(user, 'GET', path)).body, shown);
  const list = await call(user, 'GET');
  t.strictSame(list.body, { results: [shown] });
  t.notMatch(list.text, secret);
  const patched = await call(user, 'PATCH', path, { kinds: [], state: 'disabled' });
  t.strictSame(responseFaults(schemaOf(app.routes, 'patchWebhook', 200), patched.text), []);
  t.strictSame(patched.body, { ...shown, kinds: [], state: 'disabled', reason: 'disabled by its owner' });
  t.strictSame((await call(user, 'DELETE', path)).status, 204);
  for (const method of ['GET', 'DELETE']) t.equal((await call(user, method, path)).status, 404);
});

t.test('the command of the page creates a webhook', async (t) => {
  const env = { SERVER: app.url, TOKEN: newUser() };
  const printed = await runCommands(commandBlock('webhooks'), { cwd: t.testdir(), env });
  t.match(JSON.parse(printed), { url: HOOK, kinds: ['installed', 'failed'], secret: /^whsec_/ });
});

t.test('a URL that cannot be called, and a kind that does not exist, are refused in words', async (t) => {
  const user = newUser();
  const expected = {
    'no url': "is 'no url'; expected a URL",
    'http://receiver.example/': "starts with 'http:'; allowed: https:",
    'ftp://receiver.example/': "starts with 'ftp:'; allowed: https:",
    'https://a:b@receiver.example/': 'contains a user name or password; messages are signed instead',
    'https://receiver.example/#a': "ends in '#a', which would not be sent",
  };
  for (const [url, fault] of Object.entries(expected)) {
    const { status, body } = await call(user, 'POST', '', { url });
    t.strictSame([status, faultsOf(body)], [422, { url: [fault] }], url);
  }
  const long = await call(user, 'POST', '', { url: `https://receiver.example/${'ü'.repeat(2_000)}` });
  t.match(faultsOf(long.body), { url: [/has \d+ characters when it is encoded; at most 2048/] });
  t.match(await call(user, 'POST', '', { url: HOOK, kinds: ['born'], more: 1 }), { status: 422 });
  t.match(await call(user, 'POST', '', {}), { status: 422 });
  const { webhookId } = await created(user);
  t.match(await call(user, 'PATCH', `/${webhookId}`, { url: 'http://a.example/' }), { status: 422 });
});

t.test('a user has as many webhooks as are allowed', async (t) => {
  const user = newUser();
  for (let i = 0; i < 3; i++) await created(user);
  const { status, text } = await call(user, 'POST', '', { url: HOOK });
  t.match([status, text], [429, /there are 3 webhooks already, the maximum; remove one first/]);
});

t.test('a webhook is its owner’s; administrators see and change all, and know no secret of users', async (t) => {
  const [user, stranger] = [newUser(), newUser()];
  const { webhookId, secret } = await created(user);
  const path = `/${webhookId}`;
  for (const [method, rest] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/rotate-secret'],
    ['GET', '/deliveries'],
  ] as const) {
    const answer = await call(stranger, method, `${path}${rest}`, method === 'PATCH' ? {} : undefined);
    t.match([answer.status, answer.text], [404, `you have no webhook '${webhookId}'`], `${method} ${rest}`);
  }
  t.equal((await call(stranger, 'GET', '/wh_1')).status, 404);
  t.match((await call('admin', 'PATCH', path, { state: 'disabled' })).body, {
    reason: 'disabled by an administrator (Admin-Token)',
  });
  t.match(await call('admin', 'POST', `${path}/rotate-secret`), { status: 403 });
  const own = await created('admin');
  t.equal(own.owner, undefined, 'it is about all datasets');
  t.equal((await call(user, 'GET', `/${own.webhookId}`)).status, 404);
  const list = await call('admin', 'GET', '?limit=100');
  for (const one of [webhookId, own.webhookId]) t.match(list.text, one);
  t.notMatch(list.text, secret);
  t.match(await call('admin', 'POST', `/${own.webhookId}/rotate-secret`), { status: 200 });
});

t.test('a list has pages', async (t) => {
  const user = newUser();
  const all = [await created(user), await created(user)].map(({ webhookId }) => webhookId).toSorted();
  const first = (await call(user, 'GET', '?limit=1')).body as { results: Shown[]; next: string };
  t.strictSame([first.results.map(({ webhookId }) => webhookId), first.next], [[all[0]], all[0]]);
  const second = (await call(user, 'GET', `?limit=1&after=${first.next}`)).body as { results: Shown[] };
  t.strictSame(
    second.results.map(({ webhookId }) => webhookId),
    [all[1]],
  );
  t.match(await call(user, 'GET', '?limit=101'), { status: 400 });
});

t.test('a secret is replaced, and the one before is valid for a day', async (t) => {
  const user = newUser();
  const { webhookId, secret } = await created(user);
  const answer = await call(user, 'POST', `/${webhookId}/rotate-secret`);
  t.strictSame(responseFaults(schemaOf(app.routes, 'rotateWebhookSecret', 200), answer.text), []);
  const rotated = answer.body as { secret: string; previousUntil: string };
  t.not(rotated.secret, secret);
  const leftMs = Date.parse(rotated.previousUntil) - Date.now();
  t.ok(leftMs > 23 * 3_600_000 && leftMs <= 24 * 3_600_000);
  const [row] = await db.query('select secret, previous_secret from webhook where id = $1', [webhookId]);
  t.strictSame(row, { secret: rotated.secret, previous_secret: secret });
});

t.test('who repeats a request with its key gets the same webhook, and the same new secret', async (t) => {
  const user = newUser();
  const key = { 'idempotency-key': 'once' };
  const create = () => call(user, 'POST', '', { url: HOOK }, key);
  const [first, second] = [await create(), await create()];
  t.match(first, { status: 201 });
  t.match(second, { status: 201, text: first.text });
  for (const name of ['location', 'content-type']) t.equal(second.headers.get(name), first.headers.get(name));
  t.equal(second.headers.get('idempotent-replayed'), 'true');
  const { webhookId, secret } = first.body as Shown;
  t.match(await call(user, 'POST', '', { url: `${HOOK}/2` }, key), { status: 422 });
  const rotate = () => call(user, 'POST', `/${webhookId}/rotate-secret`, undefined, key);
  const [rotated, repeated] = [await rotate(), await rotate()];
  t.match(rotated, { status: 200 });
  t.match(repeated, { status: 200, text: rotated.text });
  const [row] = await db.query('select secret, previous_secret from webhook where owner_id = $1', [user]);
  t.strictSame(row, { secret: (rotated.body as Shown).secret, previous_secret: secret }, 'receivers still know it');
});

t.test('a test message is queued once, and listed with the deliveries', async (t) => {
  const user = newUser();
  const { webhookId } = await created(user);
  const path = `/${webhookId}`;
  const answer = await call(user, 'POST', `${path}/test`);
  t.equal(answer.status, 202, answer.text);
  const { messageId } = answer.body as { messageId: string };
  t.match(await call(user, 'POST', `${path}/test`), { status: 409 });
  const list = await call(user, 'GET', `${path}/deliveries?limit=1`);
  t.strictSame(responseFaults(schemaOf(app.routes, 'listWebhookDeliveries', 200), list.text), []);
  t.match(list.body, { results: [{ messageId, type: 'webhook.test', state: 'queued', failedAttempts: 0 }] });
  const { next } = list.body as { next: number };
  t.strictSame((await call(user, 'GET', `${path}/deliveries?before=${next}`)).body, { results: [] });
  await call(user, 'PATCH', path, { state: 'disabled' });
  t.match(await call(user, 'POST', `${path}/test`), { status: 409, text: /is disabled; activate it first/ });
});

t.test('where webhooks are not enabled, they can only be looked at and removed', async (t) => {
  const user = newUser();
  const { webhookId } = await created(user);
  const settings = { webhooks: { enabled: false, allowHttp: false, perUser: 3 } };
  const closed = await installerApp(t, db, { settings });
  const path = `/webhooks/${webhookId}`;
  for (const [method, at, body] of [
    ['POST', '/webhooks', { url: HOOK }],
    ['PATCH', path, { state: 'active' }],
    ['POST', `${path}/test`, undefined],
    ['POST', `${path}/rotate-secret`, undefined],
  ] as const) {
    const init = body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) };
    t.match(await closed.call(user, method, at, init), { status: 403, text: /webhooks are not enabled here/ });
  }
  t.equal((await closed.call(user, 'GET', path)).status, 200);
  t.equal((await closed.call(user, 'DELETE', path)).status, 204);
});

t.test('plain http is accepted where the operator allows it', async (t) => {
  const settings = { webhooks: { enabled: true, allowHttp: true, perUser: 3 } };
  const open = await installerApp(t, db, { settings });
  const init = { headers: JSON_BODY, body: JSON.stringify({ url: 'http://receiver.example/' }) };
  t.equal((await open.call(newUser(), 'POST', '/webhooks', init)).status, 201);
});
