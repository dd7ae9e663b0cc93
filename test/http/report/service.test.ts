import t from 'tap';
import { cellOf, OPTION_NAMES, OPTIONS } from '../../../engine/model/report/options.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { openApi } from '../../../http/kernel/openapi/openapi.ts';
import { reportApp, START } from './report-app.ts';

t.test('exactly these endpoints are served, to these callers', async (t) => {
  const app = await reportApp(t);
  t.strictSame(app.routes.map(({ method, path, access }) => `${method} ${path} ${access}`).sort(), [
    'DELETE /jobs/:id user-or-guest',
    'DELETE /maintenance/cache admin',
    'DELETE /maintenance/cache/:id admin',
    'GET /health open',
    'GET /jobs user-or-guest',
    'GET /jobs/:id anyone-known',
    'GET /jobs/:id/files user-or-guest',
    'GET /jobs/:id/files/:fileName user-or-guest',
    'GET /jobs/:id/stderr user-or-guest',
    'GET /maintenance/broken-jobs admin',
    'PATCH /jobs/:id user-or-guest',
    'POST /jobs user-or-guest',
    'POST /jobs/:id user-or-guest',
    'POST /link-guest user',
    'POST /statuses user-or-guest',
  ]);
});

t.test('they are documented, with the table of options', async (t) => {
  const app = await reportApp(t);
  const document = openApi(app.routes, { title: 'Report', version: '1', basePath: '' });
  t.match(document.paths['/jobs']?.post?.requestBody, {
    content: { 'application/json': { schema: { $ref: '#/components/schemas/CreateRequest' } } },
  });
  const schema = document.components.schemas.CreateRequest as {
    readonly required: readonly string[];
    readonly properties: Readonly<Record<string, object>>;
  };
  t.strictSame(schema.required, ['queryJobID']);
  const config = schema.properties.blastConfig as { properties: Record<string, { description: string }> };
  t.strictSame(Object.keys(config.properties), OPTION_NAMES);
  for (const name of OPTION_NAMES) {
    t.match(config.properties[name], JSON.parse(JSON.stringify({ ...OPTIONS[name].schema, description: undefined })));
    if (cellOf(name, 'sam') === 'refused') t.match(config.properties[name]?.description, /; refused for other types$/);
  }
});

t.test('a method that a path has not is 405 with those that it has', async (t) => {
  const app = await reportApp(t);
  for (const [method, path, allow] of [
    ['PUT', '/jobs', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', `/jobs/${'0'.repeat(32)}`, 'DELETE, GET, HEAD, OPTIONS, PATCH, POST'],
    ['POST', `/jobs/${'0'.repeat(32)}/files`, 'GET, HEAD, OPTIONS'],
    ['GET', '/statuses', 'OPTIONS, POST'],
  ] as const) {
    const { status, headers, body } = await app.call('1', method, path);
    t.match([status, body], [405, { status: 'bad-method' }], path);
    t.strictSame(headers.get('allow')?.split(', ').sort().join(', '), allow);
  }
});

t.test('/health names what is away, the formatter too, and everything else runs', async (t) => {
  const app = await reportApp(t, {
    dependencies: [
      { name: 'report-db', probe: async () => undefined },
      { name: 'blast_formatter', vital: false, probe: () => Promise.reject(new Error('not installed')) },
      { name: 'object-store', probe: () => Promise.reject(transient('refused', { unreachable: true })) },
    ],
  });
  await app.clock.advance(1_500);
  const { status, body } = await app.call(undefined, 'GET', '/health');
  const dependencies = [
    { name: 'report-db', reachable: true, online: 'yes' },
    { name: 'blast_formatter', reachable: true, online: 'no', message: 'the check failed' },
    { name: 'object-store', reachable: false, online: 'unknown', message: 'refused' },
  ];
  const info = { threads: 3, uptime: '1.500s', uptimeMillis: 1_500 };
  t.strictSame([status, body], [200, { status: 'unhealthy', version: '1', dependencies, info }]);
  t.ok(await app.create('1', app.query()));
});

t.test('/health shows a pause of its lane, without who and why, and stays healthy', async (t) => {
  const since = new Date(START);
  const pause = { kind: 'lane', name: 'report', since, by: 'user 42', reason: 'new disks', until: undefined } as const;
  const app = await reportApp(t, { paused: () => [pause] });
  const { body } = await app.call(undefined, 'GET', '/health');
  t.match(body, { status: 'healthy' });
  t.strictSame((body as { paused?: object }).paused, [{ kind: 'lane', name: 'report', since: since.toISOString() }]);
});
