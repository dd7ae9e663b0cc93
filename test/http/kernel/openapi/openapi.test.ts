import { createHash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { fetch, request } from 'undici';
import { apiDocs } from '../../../../http/kernel/openapi/api-docs.ts';
import { cached } from '../../../../http/kernel/openapi/cached.ts';
import { type ApiInfo, openApi } from '../../../../http/kernel/openapi/openapi.ts';
import scalar from '../../../../http/kernel/openapi/scalar/package.json' with { type: 'json' };
import type { Route } from '../../../../http/kernel/pipeline/route.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { handlerApp } from '../../handler/handler-app.ts';
import { httpApp, route } from '../../http-app.ts';
import { installerApp } from '../../installer/installer-app.ts';
import { serveHost } from '../../plugin-host/host-server.ts';
import { SERVICES } from '../../services.ts';
import { unsoundSchemas } from '../../sound-schemas.ts';

const INFO = { title: 'Longshore <test>', version: '1.2.3', basePath: '' };
const THING: Route = {
  ...route('/datasets/:id/parts', 'user-or-admin', async () => undefined),
  operationId: 'listParts',
  summary: 'Lists parts & more',
  params: { id: { description: 'The thing', schema: { type: 'string', pattern: '^[a-z]+$' } } },
  query: { limit: { description: 'At most so many', schema: { type: 'integer', minimum: 1 } } },
  headers: { 'User-ID': { description: 'For whom', schema: { type: 'integer' } } },
  body: { description: 'A word', content: { 'application/json': { type: 'string' } } },
  responses: { 200: { description: 'Parts', schema: { type: 'array' } }, 404: { description: 'No such thing' } },
};

t.test('a route is described by what it says of itself', async (t) => {
  const { paths, info, servers } = openApi([THING], { ...INFO, basePath: '/vdi' });
  t.match(info, { title: 'Longshore <test>', version: '1.2.3', license: { identifier: 'Apache-2.0' } });
  t.strictSame(servers, [{ url: '/vdi' }]);
  const operation = paths['/datasets/{id}/parts']?.get;
  t.match(operation, {
    operationId: 'listParts',
    tags: ['Datasets'],
    description: 'Users, operators and administrators may call.',
    security: [{ bearer: [] }, { authKey: [] }, { adminToken: [] }],
    requestBody: { description: 'A word', content: { 'application/json': { schema: { type: 'string' } } } },
    responses: {
      200: { description: 'Parts', content: { 'application/json': { schema: { type: 'array' } } } },
      400: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } } },
      404: { description: 'No such thing' },
    },
  });
  t.strictSame(
    operation?.parameters?.map(({ name, in: place, required }) => [name, place, required]),
    [
      ['id', 'path', true],
      ['limit', 'query', false],
      ['User-ID', 'header', false],
      ['Api-Version', 'header', false],
    ],
  );
});

t.test('the version of requests that name none is the one that is assumed', async (t) => {
  const assumed = (info: ApiInfo): object | undefined =>
    openApi([THING], info).paths['/datasets/{id}/parts']?.get?.parameters?.find(({ name }) => name === 'Api-Version')
      ?.schema;
  t.match(assumed(INFO), { default: '1.8.0' });
  t.match(assumed({ ...INFO, assumedApiVersion: '1.7.0' }), { default: '1.7.0' });
});

for (const [name, app] of Object.entries(SERVICES))
  t.test(`the document of every route of the ${name} is valid OpenAPI 3.1, and none is missing`, async (t) => {
    const { routes } = await app(t);
    const document = openApi(routes, INFO);
    const { valid, errors } = await new Validator().validate(
      structuredClone(document) as unknown as Record<string, unknown>,
    );
    t.ok(valid, JSON.stringify(errors));
    t.strictSame(unsoundSchemas(routes), []);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    t.strictSame(described.sort(), routes.map(({ method, path }) => `${method} ${path}`).sort());
    t.notOk(
      document.tags.some((tag) => (tag as { readonly name: string }).name === 'Other'),
      'every path has a group in http/kernel/openapi/tags.ts',
    );
    const ids = routes.map((each) => each.operationId);
    t.equal(new Set(ids).size, ids.length, 'operation ids are unique');
    for (const { operationId, responses } of routes)
      for (const [code, { schema }] of Object.entries(responses))
        t.ok(Number(code) < 400 || schema, `${operationId} ${code} describes the body of the error`);
  });

t.test('every operation that takes an upload describes its parts', async (t) => {
  const app = await installerApp(t, await cacheDatabase(t));
  const { paths, components } = openApi(app.routes, INFO);
  for (const [path, method] of [
    ['/datasets', 'post'],
    ['/datasets/{id}', 'put'],
    ['/admin/rpc/datasets/proxy-upload', 'post'],
  ] as const) {
    const body = paths[path]?.[method]?.requestBody as Body | undefined;
    const properties = body?.content['multipart/form-data'].schema.properties ?? {};
    t.strictSame(
      Object.keys(properties),
      ['details', 'dataFile', 'url', 'uploadIds', 'docFile', 'dataPropertiesFile'],
      path,
    );
    const own = method === 'put' ? 'revisionNote' : path === '/datasets' ? 'visibility' : 'createdOn';
    const name = properties.details?.$ref.split('/').at(-1) ?? '';
    const details = components.schemas[name] as { readonly properties: object };
    t.ok(own in details.properties, `${path}: ${name} has ${own}`);
  }
});

t.test('every call of the plugin protocol, and of the handler service, describes what it takes', async (t) => {
  const members = (routes: readonly Route[]): Record<string, readonly string[]> =>
    Object.fromEntries(
      routes.flatMap(({ operationId, body }) =>
        Object.entries(body?.content ?? {}).map(([type, schema]) => [
          `${operationId} ${type}`,
          Object.keys((schema as { readonly properties?: object }).properties ?? {}),
        ]),
      ),
    );
  t.strictSame(members((await serveHost(t)).routes), {
    'importDataset multipart/form-data': ['details', 'payload'],
    'installData multipart/form-data': ['details', 'meta', 'manifest', 'payload'],
    'installMeta multipart/form-data': ['details', 'dataProperties'],
    'installFiles multipart/form-data': ['details'],
    'uninstallDataset application/json': ['event-id', 'vdi-id', 'install-target', 'type'],
    'uninstallFiles application/json': ['event-id', 'vdi-id', 'install-target', 'type'],
  });
  t.strictSame(members((await handlerApp(t)).routes), {
    'putJob application/json': ['projects', 'owner', 'name', 'description', 'summary', 'origin', 'handlerParams'],
    'postJob application/binary': [],
    'postJob application/octet-stream': [],
    'postJob application/zip': [],
    'postJob application/gzip': [],
    'postJob multipart/form-data': ['file'],
  });
});

interface Body {
  readonly content: {
    readonly 'multipart/form-data': {
      readonly schema: { readonly properties: Readonly<Record<string, { readonly $ref: string }>> };
    };
  };
}

t.test('the page and the document are served to anybody, and the page runs no script but its own', async (t) => {
  const app = await httpApp(t, [THING, ...apiDocs([THING], { ...INFO, basePath: '/base' })]);
  const page = await fetch(`${app.url}/api`);
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  const policy = String(page.headers.get('content-security-policy'));
  t.match(policy, /default-src 'none'; script-src 'self';.*connect-src 'self'; object-src 'none'; base-uri 'none'/);
  t.match(policy, "frame-ancestors 'none'");
  const html = await page.text();
  t.match(html, 'Longshore &lt;test&gt; 1.2.3');
  t.match(html, 'data-document="/base/api/openapi.json"');
  const scripts = [...html.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)];
  t.equal(scripts.length, 2);
  for (const [, attributes, inline] of scripts) {
    t.match(attributes, /^ src="\/base\/api\/scripts\/[\w.-]+"$/, 'from this server, under its base path');
    t.equal(inline, '');
  }
  const document = (await (await fetch(`${app.url}/api/openapi.json`)).json()) as { paths: object };
  t.strictSame(Object.keys(document.paths), [
    '/datasets/{id}/parts',
    '/api',
    '/api/scripts/{name}',
    '/api/openapi.json',
  ]);
});

t.test('what is made once is shared by all who ask; a failure is not kept', async (t) => {
  let calls = 0;
  const bytes = cached(async () => {
    calls++;
    if (calls === 1) throw new Error('no file');
    return Buffer.alloc(1);
  });
  await t.rejects(bytes(), { message: 'no file' });
  const [one, other] = await Promise.all([bytes(), bytes()]);
  t.equal(one, other);
  t.equal(calls, 2);
});

t.test('the reader of the page is the file that was published, packed or not', async (t) => {
  const app = await httpApp(t, apiDocs([], INFO));
  const url = `${app.url}/api/scripts/scalar-${scalar.version}.js`;
  for (const encoding of ['br', 'gzip', 'br;q=0', 'identity']) {
    const answer = await request(url, { headers: { 'accept-encoding': encoding } });
    t.equal(answer.statusCode, 200);
    t.equal(answer.headers['content-encoding'], encoding === 'br' ? 'br' : undefined, encoding);
    t.equal(answer.headers['content-type'], 'text/javascript; charset=utf-8');
    t.match(answer.headers['cache-control'], /immutable/);
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const script = encoding === 'br' ? brotliDecompressSync(bytes) : bytes;
    t.equal(createHash('sha256').update(script).digest('hex'), scalar.sha256);
  }
  for (const name of ['scalar-0.0.0.js', 'scalar.js.br', '..%2f..%2fpackage.json'])
    t.equal((await fetch(`${app.url}/api/scripts/${name}`)).status, 404, name);
});
