import t from 'tap';
import { fetch } from 'undici';
import { issueToken } from '../../../../http/kernel/auth/local-issuer.ts';
import { operatorRole, tokenVerifier } from '../../../../http/kernel/auth/tokens.ts';
import type { Access, Method } from '../../../../http/kernel/pipeline/route.ts';
import { ADMIN, httpApp, keys, route } from '../../http-app.ts';

const OPERATORS = { claim: 'roles', operator: ['longshore-admin'], observer: ['longshore-viewer', 'auditor'] };

const LEVELS: readonly Access[] = ['user', 'user-or-guest', 'user-or-admin', 'anyone-known', 'admin'];
const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const verify = tokenVerifier(
  { issuer: 'test', clockToleranceMs: 0, operators: OPERATORS },
  { publicKeyPem: keys.publicKeyPem },
);
t.test(
  'an operator may do what the Admin-Token may, an observer reads reports, and nobody else does either',
  async (t) => {
    const handled = LEVELS.flatMap((access) =>
      METHODS.map((method) =>
        route(`/${access}`, access, async (context) => context.json(200, context.caller.kind), {
          method,
          operationId: `${method} ${access}`,
        }),
      ),
    );
    const app = await httpApp(t, handled, { auth: { verify, operators: true } });
    const seen = async (claims: Record<string, unknown>, access: Access, method: Method): Promise<string> => {
      const token = await issueToken({
        ...{ privateKeyPem: keys.privateKeyPem, issuer: 'test', subject: '42', lifetimeSeconds: 60 },
        claims: claims as Record<string, string | boolean>,
      });
      const response = await fetch(`${app.url}/${access}`, { method, headers: { authorization: `Bearer ${token}` } });
      const text = await response.text();
      return response.ok ? (JSON.parse(text) as string) : String(response.status);
    };
    const nobody: Readonly<Record<string, string>> = { admin: '401' };
    const observerGet: Readonly<Record<string, string>> = { admin: 'admin' };
    const observerElse: Readonly<Record<string, string>> = { admin: '403' };
    const operator: Readonly<Record<string, string>> = {
      'user-or-admin': 'admin',
      'anyone-known': 'admin',
      admin: 'admin',
    };
    const guest: Readonly<Record<string, string>> = {
      ...{ user: '403', 'user-or-guest': 'guest', 'user-or-admin': '403', 'anyone-known': 'guest', admin: '401' },
    };
    for (const method of METHODS)
      for (const access of LEVELS)
        for (const [roles, expected] of [
          [{}, nobody],
          [{ roles: [] }, nobody],
          [{ roles: ['Longshore-Admin', 'longshore-admin '] }, nobody],
          [{ roles: { 'longshore-admin': true } }, nobody],
          [{ roles: [['longshore-admin']] }, nobody],
          [{ roles: true }, nobody],
          [{ role: ['longshore-admin'] }, nobody],
          [{ roles: ['x', 'longshore-admin'] }, operator],
          [{ roles: 'longshore-admin' }, operator],
          [{ roles: ['auditor', 'longshore-admin'] }, operator],
          [{ roles: ['auditor'] }, method === 'GET' ? observerGet : observerElse],
          [{ roles: ['longshore-admin'], guest: true }, guest],
        ] as const)
          t.equal(
            await seen(roles, access, method),
            expected[access] ?? 'user',
            `${method} ${access}: ${JSON.stringify(roles)}`,
          );
  },
);

t.test('without operators in the configuration no token makes one', async (t) => {
  const app = await httpApp(t, [route('/admin', 'admin', async (context) => context.json(200, 1))]);
  const token = await issueToken({
    ...{ privateKeyPem: keys.privateKeyPem, issuer: 'test', subject: '42', lifetimeSeconds: 60 },
    claims: { roles: 'longshore-admin' },
  });
  const headers = { authorization: `Bearer ${token}` };
  t.equal((await fetch(`${app.url}/admin`, { headers })).status, 401);
  t.equal((await fetch(`${app.url}/admin`, { headers: { ...headers, 'admin-token': ADMIN } })).status, 200);
});

t.test('the claim is found by its name, or by a path into claims that are objects', async (t) => {
  const of = (claim: string) => ({ ...OPERATORS, claim });
  t.equal(operatorRole({ realm_access: { roles: ['longshore-admin'] } }, of('realm_access.roles')), 'operator');
  t.equal(operatorRole({ 'https://x.example/roles': ['auditor'] }, of('https://x.example/roles')), 'observer');
  t.equal(operatorRole({ realm_access: null }, of('realm_access.roles')), undefined);
  t.equal(operatorRole({ realm_access: 'roles' }, of('realm_access.length')), undefined);
  t.equal(operatorRole({}, of('constructor.name')), undefined);
  t.equal(operatorRole({ roles: ['longshore-admin'] }, undefined), undefined);
});
