// The console's routes: settings, who the caller is, tokens for a code and for a sample user, and files.

import t from 'tap';
import { fetch } from 'undici';
import { consoleOrigins, consoleUrl } from '../../../../bin/compose/web-console.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { SignInCodes } from '../../../../http/installer/console/sign-in-codes.ts';
import { SignOuts } from '../../../../http/kernel/auth/sign-outs.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { installerApp } from '../installer-app.ts';

const shown: string[] = [];
const codes = new SignInCodes(systemClock, (code) => shown.push(code));
const written: object[] = [];
const signOuts = new SignOuts({
  ...{ times: {}, lifetimeMs: 86_400_000, clock: systemClock },
  write: async (times) => void written.push(times),
});
const app = await installerApp(t, await cacheDatabase(t), {
  console: {
    oidc: { issuer: 'https://login.example', clientId: 'console', scopes: 'openid' },
    issuerOrigins: ['https://login.example'],
    services: (url) => ({ access: url.replace(/\d+$/, '8083') }),
    local: {
      codes,
      samples: [],
      signOuts,
      operatorToken: async () => 'token of the operator',
      userToken: async () => 'token of a user',
    },
  },
});

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

t.test('the settings name the services and the ways to sign in, and the policy allows no other server', async (t) => {
  const settings = (await (await fetch(`${app.url}/console/settings.json`)).json()) as object;
  t.match(settings, {
    services: { access: 'http://127.0.0.1:8083' },
    signIn: {
      oidc: { issuer: 'https://login.example', clientId: 'console', scopes: 'openid' },
      code: true,
      everywhere: true,
    },
  });
  const page = await fetch(`${app.url}/?code=x&state=y`);
  const policy = page.headers.get('content-security-policy') ?? '';
  if (page.status === 200) t.match(policy, "connect-src 'self' http://127.0.0.1:8083 https://login.example;");
  t.notMatch(policy, 'unsafe');
});

t.test('a code gives one token, and pages of others get none', async (t) => {
  codes.issue();
  const code = shown.at(-1) ?? '';
  t.equal((await post('/console/sign-in', { code }, { origin: 'https://elsewhere.example' })).status, 403);
  const first = await post('/console/sign-in', { code });
  t.same(await first.json(), { token: 'token of the operator' });
  t.equal(first.headers.get('cache-control'), 'no-store');
  const second = await post('/console/sign-in', { code });
  t.equal(second.status, 403);
  t.match(await second.json(), { message: /was used or has expired/ });
  t.match(await (await post('/console/sign-in', { code: 'wrong' })).json(), { message: 'the sign-in code is wrong' });
});

t.test('signing out everywhere is for the caller alone', async (t) => {
  t.equal((await post('/console/sign-out-everywhere', {})).status, 401);
  t.strictSame(written, []);
  t.equal((await app.call('42', 'POST', '/console/sign-out-everywhere')).status, 204);
  t.match(written, [{ 'user 42': Number }]);
  t.equal(signOuts.isOver({ kind: 'user', userId: '42' as UserId, issuedMs: Date.now() - 2_000 }), true);
});

t.test('a server without sample users has no route for them', async (t) => {
  t.equal((await post('/console/sample-sign-in', { user: '1' })).status, 404);
});

t.test('sample users are for pages of this machine', async (t) => {
  const demo = await installerApp(t, await cacheDatabase(t));
  const url = `${demo.url}/console/sample-sign-in`;
  const send = (user: string) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user }) });
  t.same(await (await send('1')).json(), { token: 'user' });
  t.equal((await send('7')).status, 403);
});

t.test('tells the caller who they are', async (t) => {
  t.match((await app.call('42', 'GET', '/console/self')).body, { userId: 42, role: 'user' });
  t.equal((await app.call(undefined, 'GET', '/console/self')).status, 401);
});

t.test('pages of this machine may call the services of a listener on a loopback address', async (t) => {
  const core = { console: {}, http: { bindHost: '127.0.0.1' }, ports: { installer: 8080 } } as never;
  t.same(consoleOrigins(core), ['http://127.0.0.1:8080', 'http://[::1]:8080', 'http://localhost:8080']);
  t.same(consoleOrigins({ ...(core as object), http: { bindHost: '0.0.0.0' } } as never), []);
});

t.test('the link leads to the page that people open', async (t) => {
  const core = { console: {}, http: { bindHost: '127.0.0.1', basePath: '' }, ports: { installer: 8080 } };
  const urlOf = (more: object, listener = 'http://127.0.0.1:8080'): string =>
    consoleUrl({ ...core, ...more } as never, listener);
  t.equal(urlOf({}), 'http://127.0.0.1:8080/');
  t.equal(urlOf({}, 'https://0.0.0.0:8443'), 'https://localhost:8443/');
  t.equal(urlOf({}, 'http://[::]:8080'), 'http://localhost:8080/');
  t.equal(urlOf({ http: { basePath: '/data' } }), 'http://127.0.0.1:8080/data/console');
  t.equal(
    urlOf({ console: { origin: 'https://data.example' }, http: { basePath: { installer: '/in' } } }),
    'https://data.example/in/console',
  );
});
