// What the audit trail has of every route of every service, whatever the answer is. The routes are the services' own; what
// they do is not asked for here.

import pino from 'pino';
import t from 'tap';
import { fetch } from 'undici';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { apiDocs } from '../../../../http/kernel/openapi/api-docs.ts';
import { AuditTrail } from '../../../../http/kernel/pipeline/audit-trail.ts';
import type { RequestContext } from '../../../../http/kernel/pipeline/context.ts';
import { conflict, forbidden } from '../../../../http/kernel/pipeline/errors.ts';
import { opsRoutes } from '../../../../http/kernel/pipeline/ops.ts';
import type { Access, Route } from '../../../../http/kernel/pipeline/route.ts';
import { FakeAuditLog } from '../../../fakes/fake-audit-log.ts';
import { ADMIN, bearer, httpApp } from '../../http-app.ts';
import { SERVICES, type Service } from '../../services.ts';

const WRONG = 'w'.repeat(40);
const TOKEN = await bearer();

/** Reads that are downloads of files; a route that is added here or elsewhere has to say what it is. */
const DOWNLOADS = new Set([
  'downloadUpload',
  'downloadInstall',
  'getDocument',
  'getPropertyFile',
  'getVariablePropertyFile',
  'getStoredMetadata',
  'getUploadError',
  'getUploadErrors',
  'downloadReportFile',
  'getReportStderr',
  'getJobResult',
]);

const EVERY_SERVICE: Readonly<Record<string, Service>> = {
  ...SERVICES,
  'every service': async () => {
    const metrics = new Metrics();
    const ops = opsRoutes({
      version: '1',
      checks: [],
      unready: async () => undefined,
      threads: () => 1,
      metrics,
      clock: systemClock,
    });
    return { routes: [...ops, ...apiDocs(ops, { title: 'ops', version: '1', basePath: '' })] };
  },
};

type Headers = Readonly<Record<string, string>>;

const ADMITTED: Readonly<Record<Access, Headers>> = {
  open: {},
  user: { authorization: `Bearer ${TOKEN}` },
  'user-or-guest': { authorization: `Bearer ${TOKEN}` },
  'user-or-admin': { authorization: `Bearer ${TOKEN}` },
  'anyone-known': { 'auth-key': TOKEN },
  admin: { 'admin-token': ADMIN },
};
const TAKES_ADMIN: readonly Access[] = ['admin', 'user-or-admin', 'anyone-known'];

const ACTORS: Readonly<Record<Access, object>> = {
  open: { kind: 'anonymous' },
  user: { kind: 'user', id: '42' },
  'user-or-guest': { kind: 'user', id: '42' },
  'user-or-admin': { kind: 'user', id: '42' },
  'anyone-known': { kind: 'user', id: '42' },
  admin: { kind: 'machine', id: 'Admin-Token' },
};

/** What its handler does, and what the trail says of it. */
const ANSWERS = {
  done: { outcome: 'done', status: 200, act: (context: RequestContext) => context.json(200, 'secret content') },
  empty: { outcome: 'done', status: 204, act: async (context: RequestContext) => context.empty(204) },
  stream: {
    outcome: 'done',
    status: 200,
    act: (context: RequestContext) => context.textStream({ 'content-type': 'text/plain' }, pieces()),
  },
  rejected: {
    outcome: 'rejected',
    status: 409,
    act: async () => {
      throw conflict('no');
    },
  },
  failed: {
    outcome: 'failed',
    status: 500,
    act: async () => {
      throw new Error('broken');
    },
  },
  refused: {
    outcome: 'refused',
    status: 403,
    act: async () => {
      throw forbidden('not yours');
    },
  },
} as const;

async function* pieces(): AsyncGenerator<string> {
  for (let i = 0; i < 5; i++) yield 'x'.repeat(100_000);
}

function kindOf({ method, access, operationId }: Route): string | undefined {
  if (method !== 'GET') return 'change';
  if (access === 'admin') return 'admin-read';
  return DOWNLOADS.has(operationId) ? 'download' : undefined;
}

for (const [service, app] of Object.entries(EVERY_SERVICE))
  t.test(`${service}: each route leaves one row for each answer that is to be recorded, and no secret`, async (t) => {
    const { routes } = await app(t);
    const table = new FakeAuditLog();
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    const trail = new AuditTrail({ table, clock: systemClock, log, metrics: new Metrics() });
    const handler: Route['handler'] = (context) =>
      ANSWERS[context.request.headers['x-answer'] as keyof typeof ANSWERS].act(context);
    const { url } = await httpApp(
      t,
      routes.map((route) => ({ ...route, handler })),
      { trail },
    );
    const ask = async (route: Route, headers: Headers, query = ''): Promise<number> => {
      const path = route.path.replaceAll(/:(\w+)/g, 'p-$1');
      const response = await fetch(`${url}${path}${query}`, { method: route.method, headers });
      await response.arrayBuffer();
      return response.status;
    };
    for (const route of routes) {
      const name = `${route.method} ${route.path}`;
      if (route.method === 'GET' && route.access !== 'admin')
        t.ok(route.audit !== undefined, `${name} says whether it is a download`);
      const params = [...route.path.matchAll(/:(\w+)/g)].map(([, param]) => [param, `p-${param}`]);
      const row = {
        ...{ address: '127.0.0.1', service: 'test', method: route.method, route: route.path, count: 1 },
        records: Object.fromEntries(params),
        ...(/\/datasets\/:id(\/|$)/.test(route.path) ? { dataset: 'p-id' } : {}),
      };
      const seen = (): object[] =>
        table.entries.splice(0).map(({ at: _at, number: _number, request: _request, ...rest }) => rest);
      const kind = kindOf(route);
      for (const [answer, { outcome, status }] of Object.entries(ANSWERS)) {
        t.equal(await ask(route, { ...ADMITTED[route.access], 'x-answer': answer }), status, `${name}: ${answer}`);
        const isRefusal = outcome === 'refused';
        const own = { kind: isRefusal ? 'refusal' : kind, actor: ACTORS[route.access], outcome, status };
        const expected = isRefusal || kind ? [{ ...row, ...own }] : [];
        // Changes and what administrators read are there before the answer is.
        const isBefore = !isRefusal && (kind === 'change' || kind === 'admin-read');
        if (!isBefore) await trail.flush();
        t.strictSame(seen().map(sorted), expected.map(sorted), `${name}: ${answer}`);
      }
      const refusal = { ...row, kind: 'refusal', actor: { kind: 'anonymous' }, outcome: 'refused' };
      if (route.access !== 'open') {
        t.equal(await ask(route, {}), 401);
        await trail.flush();
        t.strictSame(seen().map(sorted), [sorted({ ...refusal, status: 401 })], `${name}: no token`);
        t.equal(await ask(route, { authorization: `Bearer ${WRONG}` }), 401);
        await trail.flush();
        t.strictSame(seen().map(sorted), [sorted({ ...refusal, status: 401 })], `${name}: a wrong token`);
      }
      if (TAKES_ADMIN.includes(route.access)) {
        t.equal(await ask(route, { 'admin-token': WRONG }), 403);
        await trail.flush();
        t.strictSame(seen().map(sorted), [sorted({ ...refusal, status: 403 })], `${name}: a wrong Admin-Token`);
        t.equal(await ask(route, { 'admin-token': ADMIN, 'x-answer': 'done' }), 200);
        const actor = { kind: 'machine', id: 'Admin-Token' };
        const own = { kind: kind ?? 'admin-read', actor, outcome: 'done', status: 200 };
        t.strictSame(seen().map(sorted), [sorted({ ...row, ...own })], `${name}: of an administrator`);
      }
      if (route.queryToken) {
        const query = `?access_token=${TOKEN}`;
        t.equal(await ask(route, { 'x-answer': 'done' }, query), 200);
        await trail.flush();
        const own = { kind, actor: { kind: 'user', id: '42' }, outcome: 'done', status: 200 };
        t.strictSame(seen().map(sorted), [sorted({ ...row, ...own })], `${name}: a token in the query`);
      }
    }
    t.ok(lines.length > 0 || service === 'every service');
    const logged = lines.join('');
    for (const secret of [ADMIN, WRONG, TOKEN, 'access_token', 'secret content'])
      t.notOk(logged.includes(secret), `the log has no ${secret.slice(0, 14)}`);
  });

t.test('every download of a file that is listed here is one, and is a route', async (t) => {
  const found: string[] = [];
  for (const app of Object.values(EVERY_SERVICE)) {
    const { routes } = await app(t);
    found.push(...routes.filter(({ audit }) => audit === 'download').map(({ operationId }) => operationId));
  }
  t.strictSame(found.sort(), [...DOWNLOADS].sort());
});

const sorted = (row: object): object => Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
