import t from 'tap';
import { fetch } from 'undici';
import { ADMIN, bearer, httpApp, route } from './http-app.ts';

t.test('a token in the query is taken only where the route allows it, and never beside another', async (t) => {
  const handler = route('/file', 'user', async (context) => context.json(200, 1)).handler;
  const routes = [route('/file', 'user', handler, { queryToken: true }), route('/other', 'user', handler)];
  const app = await httpApp(t, routes, { auth: { tokenHeaders: ['auth-key', 'auth_key'] } });
  const [mine, another] = [await bearer(), await bearer({}, { subject: '7' })];
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(app.url + path, { headers })).status;
  t.equal(await status(`/file?access_token=${mine}`), 200);
  t.equal(await status(`/other?access_token=${mine}`), 401);
  t.equal(await status(`/file?access_token=${mine}`, { authorization: `Bearer ${another}` }), 400);
  t.equal(await status(`/file?access_token=${mine}&access_token=${another}`), 400);
  t.equal(await status(`/file?access_token=${mine}&access_token=${mine}`), 200);
  t.equal(await status('/other', { 'auth-key': mine }), 200);
  t.equal(await status('/other', { auth_key: `Bearer ${mine}` }), 200);
  t.equal(await status('/other', { auth_key: mine, authorization: `bearer ${mine}` }), 200);
  t.equal(await status('/other', { auth_key: mine, 'auth-key': another }), 400);
  t.equal(await status('/other', { authorization: mine }), 401);
  const off = await httpApp(t, routes, { auth: { queryToken: false } });
  t.equal((await fetch(`${off.url}/file?access_token=${mine}`)).status, 401);
});

t.test('every caller that is known is remembered', async (t) => {
  const seen: string[] = [];
  const remember = async (caller: { readonly kind: string }): Promise<void> => {
    seen.push(caller.kind);
  };
  const routes = [
    route('/me', 'user-or-admin', async (context) => context.json(200, 1)),
    route('/open', 'open', async (context) => context.json(200, 1)),
  ];
  const app = await httpApp(t, routes, { auth: { remember } });
  const authorization = `Bearer ${await bearer()}`;
  await fetch(`${app.url}/me`, { headers: { authorization } });
  await fetch(`${app.url}/open`, { headers: { authorization } });
  await fetch(`${app.url}/me`, { headers: { 'admin-token': ADMIN } });
  t.same(seen, ['user']);
});
