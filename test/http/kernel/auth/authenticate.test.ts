import crypto from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import type { UserId } from '../../../../engine/model/ids.ts';
import type { Profile } from '../../../../engine/ports/access-people.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { type Caller, profileRecorder } from '../../../../http/kernel/auth/authenticate.ts';
import { checkServiceToken } from '../../../../http/kernel/auth/token-guesses.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { ADMIN, bearer, httpApp, patientGuesses, route } from '../../http-app.ts';

t.test('a token in the query is taken only where the route allows it, and never beside another', async (t) => {
  const handler = route('/file', 'user', async (context) => context.json(200, 1)).handler;
  const routes = [route('/file', 'user', handler, { queryToken: true }), route('/other', 'user', handler)];
  const app = await httpApp(t, routes);
  const [mine, another] = [await bearer(), await bearer({}, { subject: '7' })];
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(app.url + path, { headers })).status;
  t.equal(await status(`/file?access_token=${mine}`), 200);
  t.equal(await status(`/other?access_token=${mine}`), 401);
  t.equal(await status(`/file?access_token=${mine}`, { authorization: `Bearer ${another}` }), 400);
  t.equal(await status(`/file?access_token=${mine}&access_token=${another}`), 400);
  t.equal(await status(`/file?access_token=${mine}&access_token=${mine}`), 200);
  t.equal(await status('/other', { authorization: mine }), 401);
  const off = await httpApp(t, routes, { auth: { queryToken: false } });
  t.equal((await fetch(`${off.url}/file?access_token=${mine}`)).status, 401);
});

t.test(
  'a token is taken from Auth-Key and Auth_Key as from Authorization, and all that are sent have to agree',
  async (t) => {
    const app = await httpApp(t, [route('/me', 'user', async (context) => context.json(200, 1))]);
    const [mine, another] = [await bearer(), await bearer({}, { subject: '7' })];
    const status = async (headers: Record<string, string>) => (await fetch(`${app.url}/me`, { headers })).status;
    for (const name of ['auth-key', 'auth_key'])
      for (const value of [mine, `Bearer ${mine}`]) {
        t.equal(await status({ [name]: value }), 200, `${name}: ${value}`);
        t.equal(await status({ [name]: value, authorization: `bearer ${mine}` }), 200, `${name} twice: ${value}`);
        t.equal(await status({ [name]: value, authorization: `Bearer ${another}` }), 400, `${name} and another`);
      }
    t.equal(await status({ auth_key: mine, 'auth-key': another }), 400);
    t.equal(await status({ 'auth-key': 'no token' }), 401);
  },
);

t.test('a sound token is refused behind anything but the word Bearer, or before anything', async (t) => {
  const app = await httpApp(t, [route('/me', 'user', async (context) => context.json(200, 1))]);
  const mine = await bearer();
  const status = async (headers: Record<string, string>) => (await fetch(`${app.url}/me`, { headers })).status;
  for (const value of [`Basic ${mine}`, `Basic Bearer ${mine}`, `Bearer, Bearer ${mine}`, `Bearer ${mine} Basic`]) {
    t.equal(await status({ authorization: value }), 401, `authorization: ${value}`);
    t.equal(await status({ 'auth-key': value }), 401, `auth-key: ${value}`);
  }
  t.equal(await status({ authorization: `  BEARER   ${mine}  ` }), 200);
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

t.test('without a configured token there are no administrators', async (t) => {
  const reports = route('/reports', 'admin', async (context) => context.json(200, context.caller.kind));
  const status = async (app: { readonly url: string }, headers: Record<string, string>) =>
    (await fetch(`${app.url}/reports`, { headers })).status;
  const closed = await httpApp(t, [reports], { auth: { adminToken: undefined } });
  for (const token of [ADMIN, '', 'undefined', 'null'])
    t.equal(await status(closed, { 'admin-token': token }), 403, `'${token}'`);
  t.equal(await status(closed, { authorization: `Bearer ${await bearer({ admin: true })}` }), 401);
  t.equal(await status(await httpApp(t, [reports]), { 'admin-token': ADMIN }), 200);
});

/** Lengths of what is compared in constant time from now on, a pair for each comparison. */
function comparisons(t: Test): readonly (readonly [number, number])[] {
  const seen: [number, number][] = [];
  const { timingSafeEqual } = crypto;
  crypto.timingSafeEqual = (a, b) => {
    seen.push([a.byteLength, b.byteLength]);
    return timingSafeEqual(a, b);
  };
  syncBuiltinESMExports();
  t.teardown(() => {
    crypto.timingSafeEqual = timingSafeEqual;
    syncBuiltinESMExports();
  });
  return seen;
}

t.test('secrets are compared in constant time, whatever their length', async (t) => {
  const seen = comparisons(t);
  const app = await httpApp(t, [route('/reports', 'admin', async (context) => context.json(200, 1))]);
  const given = ['b'.repeat(ADMIN.length), `${ADMIN.slice(0, -1)}b`, ADMIN.slice(1), `${ADMIN}a`, 'x'];
  for (const token of given)
    t.equal((await fetch(`${app.url}/reports`, { headers: { 'admin-token': token } })).status, 403, token);
  for (const token of given) {
    const request = { headers: { authorization: `Bearer ${token}` }, socket: {} } as IncomingMessage;
    const holder = { secret: ADMIN, host: 'the service', machine: 'its token' };
    const call = () => checkServiceToken(holder, request, { method: 'GET', path: '/' }, patientGuesses());
    t.throws(call, { code: 401 }, token);
  }
  t.strictSame(
    seen,
    [...given, ...given].map(() => [32, 32]),
    'the digests, once for each',
  );
});

const caller = (id: string, firstName: string): Extract<Caller, { readonly kind: 'user' | 'guest' }> => {
  const userId = id as UserId;
  return { kind: 'user', userId, profile: { userId, firstName, lastName: '', email: '', affiliation: '' } };
};

function setup() {
  const written: string[] = [];
  const state = { answer: async (): Promise<void> => undefined };
  const clock = new VirtualClock();
  const accounts = {
    remember: async (profile: Profile) => {
      written.push(`${profile.userId} ${profile.firstName}`);
      await state.answer();
    },
  };
  return { written, state, clock, remember: profileRecorder(accounts, clock, silentLogger()) };
}

t.test('a profile is written once until it changes', async (t) => {
  const { remember, written } = setup();
  for (const name of ['Ada', 'Ada', 'Ada B', 'Ada B']) await remember(caller('1', name));
  t.same(written, ['1 Ada', '1 Ada B']);
});

t.test('a token that says nothing of the person writes nothing', async (t) => {
  const { remember, written } = setup();
  await remember(caller('1', ''));
  await remember({ kind: 'admin' });
  t.same(written, []);
});

t.test('a guest does not take the place of the user with the same number', async (t) => {
  const { remember, written } = setup();
  const user = caller('1', 'Ada');
  await remember(user);
  await remember({ ...user, kind: 'guest', profile: { ...user.profile, firstName: 'Somebody' } });
  t.same(written, ['1 Ada']);
});

t.test('accounts that fail or hang delay one request, and fail none', async (t) => {
  const { remember, written, state, clock } = setup();
  state.answer = () => new Promise(() => undefined);
  const waiting = remember(caller('1', 'Ada'));
  await clock.advance(2_000);
  await waiting;
  await remember(caller('2', 'Bob'));
  t.same(written, ['1 Ada'], 'left alone for a while');
  state.answer = async () => undefined;
  await clock.advance(10_000);
  await remember(caller('1', 'Ada'));
  t.same(written, ['1 Ada', '1 Ada']);
});

t.test('what is remembered has a bound', async (t) => {
  const { remember, written } = setup();
  for (let i = 1; i <= 10_001; i++) await remember(caller(String(i), 'x'));
  await remember(caller('10001', 'x'));
  t.equal(written.length, 10_001);
  await remember(caller('1', 'x'));
  t.equal(written.length, 10_002, 'the oldest was forgotten, and is written again');
});
