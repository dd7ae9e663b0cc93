// Deployed clients compare the media type of an answer with this very text, so each way to answer with JSON is asked here.

import t from 'tap';
import { fetch } from 'undici';
import { jsonMapReport } from '../../../../http/kernel/answers/json-map.ts';
import { jsonReport } from '../../../../http/kernel/answers/json-report.ts';
import { apiDocs } from '../../../../http/kernel/openapi/api-docs.ts';
import { badRequest } from '../../../../http/kernel/pipeline/errors.ts';
import { httpApp, raw, route } from '../../http-app.ts';

const LONG = 'x'.repeat(300 * 1024);

async function* list(...items: readonly unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

async function* batches(): AsyncGenerator<readonly (readonly [string, unknown])[]> {
  yield [['a', 1]];
}

const routes = [
  route('/small', 'open', (context) => context.json(200, { a: 1 })),
  route('/packed', 'open', (context) => context.json(200, { a: LONG })),
  route('/list', 'open', (context) => context.jsonList(list(1))),
  route('/long-list', 'open', (context) => context.jsonList(list(LONG, LONG))),
  route('/report', 'open', (context) => jsonReport(context, { name: 'items', items: list(1) })),
  route('/map', 'open', (context) => jsonMapReport(context, { head: {}, name: 'items', entries: batches() })),
  route('/refused', 'open', async () => {
    throw badRequest('no');
  }),
  route('/broken', 'open', async () => {
    throw new Error('broken');
  }),
  route('/user', 'user', async () => undefined),
];

t.test('every JSON answer has the type application/json, without parameters', async (t) => {
  const app = await httpApp(t, [...routes, ...apiDocs(routes, { title: 'Test', version: '1', basePath: '' })]);
  const paths = [...routes.map(({ path }) => path), '/absent', '/health', '/api/openapi.json'];
  for (const path of paths) {
    for (const encoding of ['identity', 'gzip']) {
      const response = await fetch(app.url + path, { headers: { 'accept-encoding': encoding } });
      t.equal(response.headers.get('content-type'), 'application/json', `${path}, ${encoding}`);
      t.ok(await response.json());
    }
  }
});

t.test('so has the answer to bytes that are no request', async (t) => {
  const app = await httpApp(t, routes);
  t.match(await raw(app.port, 'no request at all\r\n\r\n'), /\r\ncontent-type: application\/json\r\n/);
});
