import { once } from 'node:events';
import t from 'tap';
import { fetch } from 'undici';
import { API_VERSIONS } from '../../../../engine/model/api-version.ts';
import { rejected, transient } from '../../../../engine/runtime/failure.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { badRequest, invalidInput } from '../../../../http/kernel/pipeline/errors.ts';
import type { Access, Route } from '../../../../http/kernel/pipeline/route.ts';
import { ADMIN, bearer, httpApp, raw, route } from '../../http-app.ts';

t.test('every access lets in exactly whom it names', async (t) => {
  const expected: Record<Access, readonly number[]> = {
    open: [200, 200, 200, 200, 200],
    user: [401, 403, 200, 401, 401],
    'user-or-guest': [401, 200, 200, 401, 401],
    'user-or-admin': [401, 403, 200, 200, 403],
    'anyone-known': [401, 200, 200, 200, 403],
    admin: [401, 401, 401, 200, 403],
  };
  const levels = Object.keys(expected) as Access[];
  const app = await httpApp(
    t,
    levels.map((access) => route(`/${access}`, access, async (context) => context.json(200, context.caller.kind))),
  );
  const callers = {
    anonymous: {},
    guest: { authorization: `Bearer ${await bearer({ guest: true })}` },
    user: { authorization: `Bearer ${await bearer()}` },
    admin: { 'admin-token': ADMIN },
    'wrong admin': { 'admin-token': 'b'.repeat(40) },
  };
  for (const access of levels)
    for (const [i, [who, headers]] of Object.entries(callers).entries())
      t.equal((await fetch(`${app.url}/${access}`, { headers })).status, expected[access][i], `${who} calls ${access}`);
});

t.test('a token that is not good is 401 and says no more than needed', async (t) => {
  const app = await httpApp(t, [route('/me', 'user', async (context) => context.json(200, context.userId))]);
  for (const authorization of [`Bearer ${await bearer({}, { subject: 'me' })}`, 'Bearer nonsense', 'Basic eDp5']) {
    const response = await fetch(`${app.url}/me`, { headers: { authorization } });
    t.equal(response.status, 401, authorization);
    t.match(await response.json(), { status: 'unauthorized', message: /.+/ });
  }
});

t.test('what a handler throws is answered by the table, and an unknown error says nothing', async (t) => {
  const errors = { general: [], byKey: { name: ['is short'] } };
  const cases: readonly (readonly [thrown: unknown, code: number, body: object, retry: string | null])[] = [
    [badRequest('no good'), 400, { status: 'bad-request', message: 'no good' }, null],
    [invalidInput('faults', errors), 422, { status: 'invalid-input', message: 'faults', errors }, null],
    [rejected('yours'), 400, { status: 'bad-request', message: 'yours' }, null],
    [transient('secret.example is down'), 503, { status: 'server-error', requestId: /.+/ }, '5'],
    [new Error('secret detail'), 500, { status: 'server-error', message: 'internal error', requestId: /.+/ }, null],
  ];
  const throws = ([error]: readonly unknown[], i: number): Route =>
    route(`/${i}`, 'open', async () => {
      throw error;
    });
  const app = await httpApp(t, cases.map(throws));
  for (const [i, [error, code, body, retry]] of cases.entries()) {
    const response = await fetch(`${app.url}/${i}`);
    const text = await response.text();
    t.strictSame([response.status, response.headers.get('retry-after')], [code, retry], String(error));
    t.match(JSON.parse(text), body);
    t.notMatch(text, /secret/);
  }
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

t.test('TRACE gives nothing of a request back', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 1))]);
  const answer = await raw(app.port, 'TRACE /x HTTP/1.1\r\nhost: x\r\nauth-key: hidden\r\nconnection: close\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 405 /);
  t.notMatch(answer, /hidden/);
});

t.test('a request that names no version is one of the assumed version, and named none', async (t) => {
  const tells = route('/x', 'open', async (context) => context.json(200, [context.version, context.versionNamed]));
  for (const assumedApiVersion of API_VERSIONS) {
    const app = await httpApp(t, [tells], { assumedApiVersion });
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${app.url}/x`, { headers });
      return [response.headers.get('api-version'), await response.json()];
    };
    t.strictSame(await ask({}), [assumedApiVersion, [assumedApiVersion, false]]);
    for (const named of API_VERSIONS) t.strictSame(await ask({ 'api-version': named }), [named, [named, true]]);
  }
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

t.test('a page of another origin cannot send what needs no token', async (t) => {
  let calls = 0;
  const counts = route('/x', 'open', async (context) => context.json(200, ++calls), { method: 'POST' });
  const app = await httpApp(t, [counts], { cors: ['https://site.example'] });
  const status = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${app.url}/x`, { method: 'POST', headers })).status;
  for (const origin of ['https://evil.example', 'null', 'https://site.example.evil', `https://127.0.0.1:${app.port}`])
    t.equal(await status({ origin }), 403, origin);
  t.equal(calls, 0);
  for (const origin of ['https://site.example', new URL(app.url).origin])
    t.equal(await status({ origin }), 200, origin);
  t.equal(await status({}), 200, 'a program');
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
