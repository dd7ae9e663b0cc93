import { once } from 'node:events';
import t from 'tap';
import { fetch } from 'undici';
import { rejected, transient } from '../../engine/failure.ts';
import { systemClock } from '../../engine/time.ts';
import { badRequest, invalidInput } from '../../http/errors.ts';
import { newKeyPair } from '../../http/local-issuer.ts';
import type { Access, Route } from '../../http/route.ts';
import { ADMIN, bearer, httpApp, raw, route } from './http-app.ts';

t.test('every access lets in exactly whom it names', async (t) => {
  const levels: readonly Access[] = ['open', 'user', 'user-or-guest', 'user-or-admin', 'anyone-known', 'admin'];
  const app = await httpApp(
    t,
    levels.map((access) => route(`/${access}`, access, async (context) => context.json(200, context.caller.kind))),
  );
  const callers = {
    anonymous: {},
    guest: { authorization: `Bearer ${await bearer({ guest: true })}` },
    user: { authorization: `Bearer ${await bearer()}` },
    admin: { 'admin-token': ADMIN },
    wrongAdmin: { 'admin-token': 'b'.repeat(40) },
  };
  const expected: Record<Access, Record<keyof typeof callers, number>> = {
    open: { anonymous: 200, guest: 200, user: 200, admin: 200, wrongAdmin: 200 },
    user: { anonymous: 401, guest: 403, user: 200, admin: 401, wrongAdmin: 401 },
    'user-or-guest': { anonymous: 401, guest: 200, user: 200, admin: 401, wrongAdmin: 401 },
    'user-or-admin': { anonymous: 401, guest: 403, user: 200, admin: 200, wrongAdmin: 403 },
    'anyone-known': { anonymous: 401, guest: 200, user: 200, admin: 200, wrongAdmin: 403 },
    admin: { anonymous: 401, guest: 401, user: 401, admin: 200, wrongAdmin: 403 },
  };
  for (const access of levels)
    for (const [who, headers] of Object.entries(callers))
      t.equal(
        (await fetch(`${app.url}/${access}`, { headers })).status,
        expected[access][who as keyof typeof callers],
        `${who} calls ${access}`,
      );
});

t.test('a token that is not good is 401 and says no more than needed', async (t) => {
  const app = await httpApp(t, [route('/me', 'user', async (context) => context.json(200, context.userId))]);
  const other = await newKeyPair();
  const b64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: 'test', sub: '42', exp: Math.floor(systemClock.now() / 1000) + 60 };
  const bad: Record<string, string> = {
    expired: await bearer({}, { lifetimeSeconds: -60 }),
    foreign: await bearer({}, { privateKeyPem: other.privateKeyPem }),
    'other issuer': await bearer({}, { issuer: 'other' }),
    'no user id': await bearer({}, { subject: 'me' }),
    unsigned: `${b64({ alg: 'none' })}.${b64(claims)}.`,
    hmac: `${b64({ alg: 'HS256' })}.${b64(claims)}.${b64({})}`,
    nonsense: 'nonsense',
  };
  for (const [what, token] of Object.entries(bad)) {
    const response = await fetch(`${app.url}/me`, { headers: { authorization: `Bearer ${token}` } });
    t.equal(response.status, 401, what);
    t.match(await response.json(), { status: 'unauthorized', message: /.+/ });
  }
  t.equal((await fetch(`${app.url}/me`, { headers: { authorization: 'Basic eDp5' } })).status, 401);
});

t.test('what a handler throws is answered by the table, and an unknown error says nothing', async (t) => {
  const throws = (path: string, error: unknown): Route =>
    route(path, 'open', async () => {
      throw error;
    });
  const app = await httpApp(t, [
    throws('/bad', badRequest('no good')),
    throws('/input', invalidInput('faults', { general: [], byKey: { name: ['is short'] } })),
    throws('/rejected', rejected('yours')),
    throws('/transient', transient('database secret.example down')),
    throws('/bug', new Error('secret detail')),
  ]);
  const answers = async (path: string) => {
    const response = await fetch(app.url + path);
    return { code: response.status, body: await response.json(), retry: response.headers.get('retry-after') };
  };
  t.same(await answers('/bad'), { code: 400, body: { status: 'bad-request', message: 'no good' }, retry: null });
  t.same(await answers('/input'), {
    code: 422,
    body: { status: 'invalid-input', message: 'faults', errors: { general: [], byKey: { name: ['is short'] } } },
    retry: null,
  });
  t.match(await answers('/rejected'), { code: 400, body: { status: 'bad-request', message: 'yours' } });
  const away = await answers('/transient');
  t.match(away, { code: 503, body: { status: 'server-error', requestId: /.+/ }, retry: '5' });
  const bug = await answers('/bug');
  t.match(bug, { code: 500, body: { status: 'server-error', message: 'internal error', requestId: /.+/ } });
  t.notMatch(JSON.stringify([away, bug]), /secret/);
});

t.test('unknown paths, methods, versions and parameters are named', async (t) => {
  const limit = { limit: { description: '', schema: { type: 'integer', minimum: 1 } } };
  const app = await httpApp(t, [
    route('/list/:id', 'open', async (context) => context.json(200, { ...context.query, ...context.params }), {
      query: limit,
    }),
  ]);
  const status = async (path: string, init: object = {}): Promise<number> => (await fetch(app.url + path, init)).status;
  t.equal(await status('/nowhere'), 404);
  const method = await fetch(`${app.url}/list/1`, { method: 'POST' });
  t.equal(method.status, 405);
  t.equal(method.headers.get('allow'), 'GET, HEAD, OPTIONS');
  t.match(await method.json(), { status: 'bad-method' });
  t.equal(await status('/list/1', { headers: { 'api-version': '2' } }), 400);
  t.equal((await fetch(`${app.url}/list/1`)).headers.get('api-version'), '1.8.0');
  t.same(await (await fetch(`${app.url}/list/a%2Fb?limit=5`)).json(), { limit: 5, id: 'a/b' });
  for (const bad of ['limit=0', 'limit=x', 'limt=1', 'limit=1&limit=2']) {
    const response = await fetch(`${app.url}/list/1?${bad}`);
    t.equal(response.status, 400, bad);
    t.match(await response.json(), { message: /limi?t/ });
  }
  t.match(await raw(app.port, 'GET /list/%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 400 /);
  t.match(await raw(app.port, 'GET /list/%00 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 400 /);
});

t.test('a browser of a listed origin may call, another may not', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 1))], {
    cors: ['https://site.example'],
  });
  const good = await fetch(`${app.url}/x`, { headers: { origin: 'https://site.example' } });
  t.equal(good.headers.get('access-control-allow-origin'), 'https://site.example');
  t.equal(good.headers.get('access-control-allow-credentials'), 'true');
  const bad = await fetch(`${app.url}/x`, { headers: { origin: 'https://evil.example' } });
  t.equal(bad.headers.get('access-control-allow-origin'), null);
  const preflight = await fetch(`${app.url}/x`, { method: 'OPTIONS', headers: { origin: 'https://site.example' } });
  t.equal(preflight.status, 204);
  t.equal(preflight.headers.get('access-control-allow-methods'), 'GET, HEAD, OPTIONS');
  t.match(preflight.headers.get('access-control-allow-headers'), /authorization.*admin-token/);
  t.equal((await fetch(`${app.url}/nowhere`, { method: 'OPTIONS' })).status, 404);
});

t.test('while draining only the operators are answered', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 1))]);
  app.setReady(false);
  app.server.quiet();
  const refused = await fetch(`${app.url}/x`);
  t.equal(refused.status, 503);
  t.equal(refused.headers.get('retry-after'), '10');
  t.equal((await fetch(`${app.url}/health`)).status, 200);
  t.equal((await fetch(`${app.url}/ready`)).status, 503);
  t.match(await (await fetch(`${app.url}/metrics`)).text(), /longshore_http_requests_total/);
});

t.test('a request under way is finished before the server stops', async (t) => {
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  const app = await httpApp(t, [
    route('/slow', 'open', async (context) => {
      entered.resolve();
      await leave.promise;
      await context.json(200, 'done');
    }),
  ]);
  const answer = fetch(`${app.url}/slow`);
  await entered.promise;
  const stopped = app.server.stop(systemClock.now() + 10_000);
  leave.resolve();
  t.equal(await (await answer).json(), 'done');
  await stopped;
});

t.test('a client that goes away aborts its request', async (t) => {
  const entered = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const app = await httpApp(t, [
    route('/slow', 'open', async (context) => {
      entered.resolve();
      await once(context.signal, 'abort');
      aborted.resolve();
    }),
  ]);
  const leaving = new AbortController();
  const answer = fetch(`${app.url}/slow`, { signal: leaving.signal });
  await entered.promise;
  leaving.abort();
  await t.rejects(answer);
  await aborted.promise;
});

t.test('a list is streamed, and one that breaks is cut off instead of looking whole', async (t) => {
  const numbers = async function* (n: number, fail: boolean): AsyncGenerator<number> {
    for (let i = 0; i < n; i++) yield i;
    if (fail) throw new Error('broke');
  };
  const app = await httpApp(t, [
    route('/list', 'open', (context) => context.jsonList(numbers(3, false))),
    route('/empty', 'open', (context) => context.jsonList(numbers(0, false))),
    route('/first', 'open', (context) => context.jsonList(numbers(0, true))),
    route('/later', 'open', (context) => context.jsonList(numbers(50_000, true))),
  ]);
  t.same(await (await fetch(`${app.url}/list`)).json(), [0, 1, 2]);
  t.same(await (await fetch(`${app.url}/empty`)).json(), []);
  t.equal((await fetch(`${app.url}/first`)).status, 500);
  await t.rejects(fetch(`${app.url}/later`).then((response) => response.text()));
});

t.test('heads that are too large or malformed are refused', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 1))]);
  const large = `GET /x HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`;
  t.match(await raw(app.port, large), /^HTTP\/1\.1 431 /);
  t.match(await raw(app.port, 'GET /x HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n'), /^HTTP\/1\.1 400 /);
});
