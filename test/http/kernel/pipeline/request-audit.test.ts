import { once } from 'node:events';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { issueToken } from '../../../../http/kernel/auth/local-issuer.ts';
import { tokenVerifier } from '../../../../http/kernel/auth/tokens.ts';
import { AuditTrail } from '../../../../http/kernel/pipeline/audit-trail.ts';
import type { Route } from '../../../../http/kernel/pipeline/route.ts';
import { FakeAuditLog } from '../../../fakes/fake-audit-log.ts';
import { ADMIN, bearer, dial, httpApp, keys, route } from '../../http-app.ts';

const OPERATORS = { claim: 'roles', operator: ['op'], observer: ['ob'] };

async function setup(t: Test, routes: readonly Route[]) {
  const table = new FakeAuditLog();
  const trail = new AuditTrail({ table, clock: systemClock, log: silentLogger(), metrics: new Metrics() });
  const verify = tokenVerifier(
    { issuer: 'test', clockToleranceMs: 0, operators: OPERATORS },
    { publicKeyPem: keys.publicKeyPem },
  );
  const app = await httpApp(t, routes, {
    trail,
    auth: { verify, operators: true },
    url: { isProxy: () => true },
  });
  return { ...app, table, trail };
}

const ok: Route['handler'] = (context) => context.json(200, 1);
const tokenOf = (claims: Record<string, unknown>): Promise<string> =>
  issueToken({
    ...{ privateKeyPem: keys.privateKeyPem, issuer: 'test', subject: '42', lifetimeSeconds: 60 },
    claims: claims as Record<string, string | boolean>,
  });

t.test('who asked is known by role and id, also of those who are refused, and from where', async (t) => {
  const { url, table, trail } = await setup(t, [
    route('/change', 'admin', ok, { method: 'POST' }),
    route('/read', 'admin', ok),
    route('/own', 'user', ok, { method: 'PUT' }),
  ]);
  for (const [claims, method, path, who, outcome] of [
    [{ roles: ['op'] }, 'POST', '/change', 'operator 42', 'done'],
    [{ roles: ['ob'] }, 'GET', '/read', 'observer 42', 'done'],
    [{ roles: ['ob'] }, 'POST', '/change', 'observer 42', 'refused'],
    [{}, 'GET', '/read', 'user 42', 'refused'],
    [{}, 'PUT', '/own', 'user 42', 'done'],
    [{ guest: true }, 'PUT', '/own', 'guest 42', 'refused'],
    [undefined, 'PUT', '/own', 'anonymous undefined', 'refused'],
  ] as const) {
    const authorization = claims && { authorization: `Bearer ${await tokenOf(claims)}` };
    const headers = { ...authorization, 'x-forwarded-for': '198.51.100.1, 203.0.113.9' };
    const response = await fetch(url + path, { method, headers });
    await response.arrayBuffer();
    await trail.flush();
    const [entry, ...more] = table.entries.splice(0);
    t.strictSame(more, []);
    t.equal(`${entry?.actor.kind} ${entry?.actor.id}`, who, `${method} ${path}`);
    t.equal(entry?.outcome, outcome);
    t.equal(entry?.address, '203.0.113.9', 'as our proxy saw it');
    t.equal(entry?.request, response.headers.get('x-request-id'));
  }
});

t.test('the answer to a change waits for its row, and comes without it when the table is away', async (t) => {
  const { url, table, trail } = await setup(t, [route('/change', 'admin', ok, { method: 'POST' })]);
  const gate = Promise.withResolvers<void>();
  table.gate = gate.promise;
  let answered = false;
  const asked = fetch(`${url}/change`, { method: 'POST', headers: { 'admin-token': ADMIN } }).then((response) => {
    answered = true;
    return response;
  });
  const appended = once(watched(table), 'append');
  await appended;
  t.notOk(answered);
  gate.resolve();
  t.equal((await asked).status, 200);
  t.equal(table.entries.length, 1);
  table.away = true;
  const response = await fetch(`${url}/change`, { method: 'POST', headers: { 'admin-token': ADMIN } });
  t.equal(response.status, 200);
  await trail.flush();
  t.equal(table.entries.length, 1);
});

t.test('an answer that breaks while it is held is cut off, and not made of two', async (t) => {
  const broken = async function* (): AsyncGenerator<string> {
    yield 'half';
    throw new Error('broken');
  };
  const { url, table } = await setup(t, [
    route('/list', 'admin', (context) => context.textStream({ 'content-type': 'text/plain' }, broken())),
  ]);
  const headers = { 'admin-token': ADMIN, 'accept-encoding': 'identity' };
  const asked = fetch(`${url}/list`, { headers }).then((response) => response.text());
  await t.rejects(asked, { message: /fetch failed|terminated/ });
  t.match(table.entries, [{ kind: 'admin-read', outcome: 'done', status: 200 }]);
});

t.test('of a change whose caller went away the row says so', async (t) => {
  const begun = Promise.withResolvers<AbortSignal>();
  const {
    port,
    pipeline: _pipeline,
    table,
    trail,
  } = await setup(t, [
    route(
      '/change',
      'user',
      async (context) => {
        begun.resolve(context.signal);
        await once(context.signal, 'abort');
        throw context.signal.reason;
      },
      { method: 'POST' },
    ),
  ]);
  const { socket } = dial(port);
  socket.write(
    `POST /change HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${await bearer()}\r\ncontent-length: 0\r\n\r\n`,
  );
  const signal = await begun.promise;
  socket.destroy();
  if (!signal.aborted) await once(signal, 'abort');
  while (table.entries.length === 0) {
    await trail.flush();
    await new Promise(setImmediate);
  }
  const { status, ...entry } = table.entries[0] ?? {};
  t.equal(status, undefined);
  t.match(entry, { kind: 'change', outcome: 'cut', actor: { kind: 'user', id: '42' } });
});

t.test('what a handler says of its request is in the row, and long ids are shortened', async (t) => {
  const { url, table } = await setup(t, [
    route(
      '/datasets/:id/things/:name',
      'user',
      (context) => {
        context.concerns({ machine: 'nobody', records: { made: 'new1' } });
        return ok(context);
      },
      { method: 'POST' },
    ),
  ]);
  const headers = { authorization: `Bearer ${await bearer()}` };
  await fetch(`${url}/datasets/set1/things/${'ü'.repeat(300)}`, { method: 'POST', headers });
  t.match(table.entries, [
    {
      dataset: 'set1',
      route: '/datasets/:id/things/:name',
      records: { id: 'set1', name: `${'ü'.repeat(255)}…`, made: 'new1' },
      actor: { kind: 'user' },
    },
  ]);
});

t.test('requests without a route, and reads that are of no interest, leave no row', async (t) => {
  const { url, table, trail } = await setup(t, [route('/read', 'user', ok, { audit: 'none' })]);
  const headers = { authorization: `Bearer ${await bearer()}` };
  for (const path of ['/read', '/nothing', '/read?unknown=1', '/%00'])
    await (await fetch(url + path, { headers })).arrayBuffer();
  await (await fetch(`${url}/read`, { headers: { ...headers, 'api-version': '0' } })).arrayBuffer();
  await (await fetch(`${url}/read`, { method: 'OPTIONS' })).arrayBuffer();
  await trail.flush();
  t.strictSame(table.entries, []);
});

/** Tells of the next batch that is brought. */
function watched(table: FakeAuditLog): EventTarget {
  const target = new EventTarget();
  const { append } = table;
  table.append = (rows, signal) => {
    target.dispatchEvent(new Event('append'));
    return append(rows, signal);
  };
  return target;
}
