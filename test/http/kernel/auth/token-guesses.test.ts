import pino from 'pino';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { TokenGuesses } from '../../../../http/kernel/auth/token-guesses.ts';
import { AuditTrail } from '../../../../http/kernel/pipeline/audit-trail.ts';
import type { Route } from '../../../../http/kernel/pipeline/route.ts';
import { FakeAuditLog } from '../../../fakes/fake-audit-log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { handlerApp } from '../../handler/handler-app.ts';
import { ADMIN, httpApp, route } from '../../http-app.ts';
import { serveHost } from '../../plugin-host/host-server.ts';

interface Line {
  readonly msg: string;
  readonly address: string;
}

async function setup(t: Test) {
  const clock = new VirtualClock();
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const guesses = new TokenGuesses({ isProxy: () => true, clock, log });
  const report = route('/report', 'admin', async (context) => context.json(200, 1));
  const app = await httpApp(t, [report], { auth: { guesses } });
  const call = async (address: string, token = 'x'.repeat(40)) => {
    const headers = { 'admin-token': token, 'x-forwarded-for': `10.9.9.9, ${address}` };
    const response = await fetch(`${app.url}/report`, { headers });
    await response.body?.cancel();
    return { status: response.status, retryAfter: response.headers.get('retry-after') };
  };
  const statuses = async (address: string, times: number) => {
    const seen = [];
    for (let i = 0; i < times; i++) seen.push((await call(address)).status);
    return seen;
  };
  return { clock, lines, guesses, call, statuses };
}

const times = (count: number, status: number): readonly number[] => Array<number>(count).fill(status);

t.test('an address that sends wrong tokens is not listened to for a while, and no other one is', async (t) => {
  const { clock, call, statuses } = await setup(t);
  t.strictSame(await statuses('192.0.2.1', 22), [...times(20, 403), 429, 429]);
  t.strictSame(await call('192.0.2.1', ADMIN), { status: 429, retryAfter: '6' }, 'not even to the right one');
  t.equal((await call('192.0.2.2', ADMIN)).status, 200, 'another address');
  await clock.advance(5_999);
  t.strictSame(await call('192.0.2.1', ADMIN), { status: 429, retryAfter: '1' });
  await clock.advance(1);
  t.equal((await call('192.0.2.1', ADMIN)).status, 200, 'one more every 6 s');
  t.strictSame(await statuses('192.0.2.1', 2), [403, 429]);
  await clock.advance(12_000);
  t.strictSame(await statuses('192.0.2.1', 3), [403, 403, 429]);
});

t.test('right tokens cost nothing', async (t) => {
  const { call } = await setup(t);
  for (let i = 0; i < 50; i++) t.equal((await call('192.0.2.1', ADMIN)).status, 200);
});

t.test('whoever has a network of addresses has the guesses of one', async (t) => {
  const { statuses } = await setup(t);
  t.strictSame(await statuses('2001:db8:1:2::1', 20), times(20, 403));
  t.strictSame(await statuses('2001:db8:1:2:ffff::9', 1), [429]);
  t.strictSame(await statuses('2001:db8:1:3::1', 1), [403]);
  t.strictSame(await statuses('::ffff:192.0.2.7', 20), times(20, 403));
  t.strictSame(await statuses('192.0.2.7', 1), [429]);
});

t.test(
  'every wrong token that was looked at is logged, that an address is held off once, and never a token',
  async (t) => {
    const { clock, lines, statuses } = await setup(t);
    await statuses('192.0.2.1', 40);
    const refused = lines.filter(({ msg }) => msg === 'a wrong token was refused');
    t.equal(refused.length, 20);
    t.match(refused[0], { address: '192.0.2.1', method: 'GET', route: '/report' });
    const held = () => lines.filter(({ msg }) => msg === 'token guesses are throttled').length;
    t.equal(held(), 1);
    await clock.advance(60_000);
    await statuses('192.0.2.1', 20);
    t.equal(held(), 1, 'it has not ceased meanwhile');
    await clock.advance(10 * 60_000);
    await statuses('192.0.2.1', 30);
    t.equal(held(), 2);
    t.notMatch(JSON.stringify(lines), /xxxx/);
  },
);

t.test('what is remembered of addresses is bounded', async (t) => {
  const { guesses } = await setup(t);
  const from = (n: number) => {
    const forwarded = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
    return { headers: { 'x-forwarded-for': forwarded }, socket: {} } as unknown as Parameters<typeof guesses.wrong>[0];
  };
  for (let n = 0; n < 12_000; n++) guesses.wrong(from(n), { method: 'GET', path: '/report' });
  t.equal(guesses.size, 10_000);
});

// The secrets of the services that have no users, at each route that needs one.

const SECRET = 's'.repeat(40);
const WRONG = 'w'.repeat(40);

interface Service {
  readonly machine: string;
  routes(t: Test): Promise<readonly Route[]>;
  /** Routes that need no secret. */
  readonly open: readonly string[];
}

const SERVICES: Readonly<Record<string, Service>> = {
  'plugin host': {
    machine: 'plugin host token',
    routes: async (t) => (await serveHost(t, { routes: { token: SECRET } })).routes,
    open: ['getServiceInfo'],
  },
  'handler service': {
    machine: 'handler token',
    routes: async (t) => (await handlerApp(t, { token: SECRET })).routes,
    open: ['getConfig', 'getHealth'],
  },
};

for (const [service, { machine, routes: routesOf, open }] of Object.entries(SERVICES)) {
  /** The service's own routes, each answering 200 to whoever is let in. */
  const setup = async (t: Test) => {
    const all = await routesOf(t);
    const routes = all.filter(({ token }) => token !== undefined);
    const lines: { readonly msg: string }[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as { msg: string }) });
    const table = new FakeAuditLog();
    const clock = new VirtualClock();
    const trail = new AuditTrail({ table, clock: systemClock, log, metrics: new Metrics() });
    const isProxy = () => true;
    const handler: Route['handler'] = async (context) => context.empty(204);
    const { url } = await httpApp(
      t,
      routes.map((route) => ({ ...route, handler })),
      { trail, url: { isProxy }, auth: { guesses: new TokenGuesses({ isProxy, clock, log }) } },
    );
    const ask = async ({ method, path }: Route, from: string, token?: string) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const target = url + path.replaceAll(/:\w+/g, 'x');
      const response = await fetch(target, { method, headers: { ...authorization, 'x-forwarded-for': from } });
      await response.body?.cancel();
      return response.status;
    };
    const logged = (msg: string) => lines.filter((line) => line.msg === msg);
    const rows = async () => {
      await trail.flush();
      return table.entries;
    };
    return { all, routes, clock, lines, ask, logged, rows };
  };

  t.test(`${service}: each route needs the secret, but those that are for everybody`, async (t) => {
    const { all, routes, ask } = await setup(t);
    t.strictSame(
      all.filter(({ token }) => token === undefined).map(({ operationId }) => operationId),
      open,
    );
    for (const route of routes) {
      t.equal(await ask(route, '192.0.2.1'), 401, `${route.operationId}: none`);
      t.equal(await ask(route, '192.0.2.1', WRONG), 401, `${route.operationId}: a wrong one`);
      t.equal(await ask(route, '192.0.2.1', SECRET), 204, `${route.operationId}: the right one`);
      t.ok(route.responses[401] && route.responses[429], `${route.operationId}: the refusals are documented`);
    }
  });

  t.test(`${service}: an address that guesses is held off, and the caller’s is not`, async (t) => {
    const { routes, clock, ask, logged } = await setup(t);
    const [route] = routes;
    if (!route) throw new Error('there is no route');
    const guesses = [];
    for (let i = 0; i < 25; i++) guesses.push(await ask(route, '192.0.2.1', WRONG));
    t.strictSame(guesses, [...Array<number>(20).fill(401), ...Array<number>(5).fill(429)]);
    t.equal(await ask(route, '192.0.2.1', SECRET), 429, 'not even the right one');
    t.equal(await ask(route, '192.0.2.2', SECRET), 204, 'another address');
    for (let i = 0; i < 25; i++) await ask(route, '192.0.2.2', WRONG);
    t.equal(await ask(route, '192.0.2.2', SECRET), 204, 'whoever guesses beside the caller does not keep it out');
    t.equal(logged('a wrong token was refused').length, 40, 'what comes beyond that is not logged');
    t.match(logged('a wrong token was refused')[0], { address: '192.0.2.1', route: route.path, token: machine });
    t.equal(logged('token guesses are throttled').length, 2);
    await clock.advance(6_000);
    t.equal(await ask(route, '192.0.2.1', SECRET), 204, 'one more every 6 s');
  });

  t.test(`${service}: refused secrets are in the audit trail, and no secret is there or in the log`, async (t) => {
    const { routes, lines, ask, rows } = await setup(t);
    for (const route of routes) await ask(route, '192.0.2.1', WRONG);
    const [route] = routes;
    if (!route) throw new Error('there is no route');
    for (let i = 0; i < 25; i++) await ask(route, '192.0.2.1', WRONG);
    const found = await rows();
    const refused = found.filter(({ outcome, kind }) => outcome === 'refused' && kind === 'refusal');
    t.strictSame(
      [...new Set(refused.map(({ route }) => route))].sort(),
      [...new Set(routes.map(({ path }) => path))].sort(),
      'each route',
    );
    t.strictSame([...new Set(refused.map(({ status }) => status))].sort(), [401, 429]);
    t.equal(
      refused.reduce((sum, { count }) => sum + count, 0),
      routes.length + 25,
      'each request counts',
    );
    t.notMatch(JSON.stringify([found, lines]), new RegExp(`${WRONG}|${SECRET}`));
  });
}
