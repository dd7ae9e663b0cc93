// Every route of every service, called by operators, observers, users, guests, nobody and the Admin-Token: who is let in, and as
// what. The routes are the services' own, so a new one cannot be forgotten; what they do is not asked for here.

import t from 'tap';
import { fetch } from 'undici';
import { tokenVerifier } from '../../../../http/kernel/auth/tokens.ts';
import type { Access, Route } from '../../../../http/kernel/pipeline/route.ts';
import { ADMIN, bearer, httpApp, keys } from '../../http-app.ts';
import { SERVICES } from '../../services.ts';

const OPERATORS = { claim: 'role', operator: ['longshore-admin'], observer: ['longshore-viewer'] };
const verify = tokenVerifier(
  { issuer: 'test', clockToleranceMs: 0, operators: OPERATORS },
  { publicKeyPem: keys.publicKeyPem },
);
const as = async (claims: Record<string, string | boolean>) => ({ authorization: `Bearer ${await bearer(claims)}` });
const CALLERS: readonly Readonly<Record<string, string>>[] = [
  {},
  await as({ guest: true }),
  await as({}),
  await as({ role: 'longshore-viewer' }),
  await as({ role: 'longshore-admin' }),
  { 'admin-token': ADMIN },
];

/** As what each is let in, or the status of the refusal: nobody, guest, user, observer, operator, Admin-Token. */
const TABLE: Readonly<Record<Access | 'admin change', readonly (number | string)[]>> = {
  admin: [401, 401, 401, 'admin', 'admin', 'admin'],
  'admin change': [401, 401, 401, 403, 'admin', 'admin'],
  'user-or-admin': [401, 403, 'user', 'user', 'admin', 'admin'],
  'anyone-known': [401, 'guest', 'user', 'user', 'admin', 'admin'],
  user: [401, 403, 'user', 'user', 'user', 401],
  'user-or-guest': [401, 'guest', 'user', 'user', 'user', 401],
  open: Array(6).fill('anonymous'),
};
const rowOf = ({ access, method }: Route): keyof typeof TABLE =>
  access === 'admin' && method !== 'GET' ? 'admin change' : access;

for (const [service, app] of Object.entries(SERVICES))
  t.test(`${service}: who is let in to each route, and as what`, async (t) => {
    const { routes } = await app(t);
    const handler: Route['handler'] = (context) => context.json(200, context.caller.kind);
    const open = routes.map(({ token: _, ...route }) => ({ ...route, handler }));
    const { url } = await httpApp(t, open, { auth: { verify, operators: true } });
    for (const route of routes) {
      const path = route.path.replaceAll(/:(\w+)/g, 'p-$1');
      const found = await Promise.all(
        CALLERS.map(async (headers) => {
          const response = await fetch(`${url}${path}`, { method: route.method, headers });
          const text = await response.text();
          return response.ok ? (JSON.parse(text) as string) : response.status;
        }),
      );
      t.strictSame(found, TABLE[rowOf(route)], `${route.method} ${route.path}`);
    }
  });

/** Its path is part of the contract. */
const ELSEWHERE = 'POST /approve-eligible-access-requests';

t.test('what is for administrators is below /admin/ or /maintenance/, and nothing else is there', async (t) => {
  for (const app of Object.values(SERVICES))
    for (const { method, path, access } of (await app(t)).routes) {
      const name = `${method} ${path}`;
      t.equal(/^\/(admin|maintenance)\//.test(path) || name === ELSEWHERE, access === 'admin', name);
    }
});
