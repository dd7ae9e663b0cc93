import t from 'tap';
import { ANONYMOUS, type Caller, type Person } from '../../../../http/kernel/auth/authenticate.ts';
import { type Access, type Found, isAllowed, Router } from '../../../../http/kernel/pipeline/route.ts';
import { route } from '../../http-app.ts';

const person = (kind: Person['kind']): Caller => ({ kind }) as Person;
const CALLERS = {
  anonymous: ANONYMOUS,
  guest: person('guest'),
  user: person('user'),
  admin: { kind: 'admin' },
} as const;
const ALLOWED: Readonly<Record<Access, readonly (keyof typeof CALLERS)[]>> = {
  open: ['anonymous', 'guest', 'user', 'admin'],
  user: ['user'],
  'user-or-guest': ['guest', 'user'],
  'user-or-admin': ['user', 'admin'],
  'anyone-known': ['guest', 'user', 'admin'],
  admin: ['admin'],
};

for (const [access, allowed] of Object.entries(ALLOWED) as [Access, readonly string[]][])
  t.test(`${access} lets in ${allowed.join(', ')}, and nobody else`, async (t) => {
    const verdicts = Object.entries(CALLERS).map(([name, caller]) => [name, isAllowed(access, caller)]);
    t.strictSame(
      verdicts,
      Object.keys(CALLERS).map((name) => [name, allowed.includes(name)]),
    );
  });

const routes = ['/admin/reports', '/datasets/:id', '/datasets/:id/files/:fileName', '/metrics'].map((path) =>
  route(path, 'open', async () => undefined),
);
const router = new Router(routes, '/base');
const found = (path: string): string | Found['params'] => {
  try {
    const { route, params } = router.find('GET', path);
    return Object.keys(params).length > 0 ? { ...params } : route.path;
  } catch (error) {
    return String((error as { code?: number }).code);
  }
};

t.test('a route is found under its own spelling, with the base path and without', async (t) => {
  t.equal(found('/admin/reports'), '/admin/reports');
  t.equal(found('/base/admin/reports'), '/admin/reports');
  t.same(found('/datasets/a%20b'), { id: 'a b' });
  t.same(found('/base/datasets/a/files/%C3%A4%2Fb'), { id: 'a', fileName: 'ä/b' });
});

t.test('no other spelling leads to a route', async (t) => {
  for (const path of [
    ...['/%61dmin/reports', '/admin/report%73', '/%61%64min/reports', '/admin%2Freports', '/admin%2freports'],
    ...['/Admin/reports', '/ADMIN/REPORTS', '//admin/reports', '/admin//reports', '/admin/reports/', '//metrics'],
    ...['/./admin/reports', '/admin/./reports', '/x/../admin/reports', '/%2e/metrics', '/x/%2e%2e/metrics'],
    ...['/admin\\reports', '/admin/reports;x', '/metrics#x', '/metrics%00', '/metrics%20', '/metrics%3Fx'],
    ...['/dataset%73/a', '/datasets/a/%66iles/b', '/datasets/a/files%2Fb/', '/datasets/a#b'],
    ...['/bas%65/admin/reports', '/base//admin/reports', '/BASE/admin/reports', '/base/%61dmin/reports'],
  ])
    t.match(found(path), /^40[04]$/, path);
});
