import { Readable } from 'node:stream';
import t from 'tap';
import { fetch } from 'undici';
import {
  jsonMapReport,
  jsonReport,
  mapText,
  type ReportText,
  reportText,
} from '../../../../http/kernel/answers/json-text.ts';
import { apiDocs } from '../../../../http/kernel/openapi/api-docs.ts';
import { badRequest } from '../../../../http/kernel/pipeline/errors.ts';
import { httpApp, raw, route } from '../../http-app.ts';

async function* listed(items: readonly unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

async function wholeReport(report: ReportText): Promise<string> {
  let text = '';
  for await (const piece of reportText(report)) text += piece;
  return text;
}

t.test('a list, and what is known at its end', async (t) => {
  const rest = (count: number) => ({ meta: { count, owner: '9007199254740993' }, more: [1] });
  t.equal(
    await wholeReport({ name: 'results', items: listed([{ a: 1 }, 'b']), rest }),
    '{"results":[{"a":1},"b"],"meta":{"count":2,"owner":9007199254740993},"more":[1]}',
  );
  t.equal(
    await wholeReport({ name: 'results', items: listed([]), rest: (count) => ({ count }) }),
    '{"results":[],"count":0}',
  );
});

t.test('a list alone', async (t) => {
  t.equal(await wholeReport({ name: 'a "b"', items: listed([1]) }), '{"a \\"b\\"":[1]}');
  t.equal(await wholeReport({ name: 'ids', items: listed([]), rest: () => ({}) }), '{"ids":[]}');
});

t.test('members before the list', async (t) => {
  const head = { meta: { rows: 1, owner: '9007199254740993' } };
  t.equal(
    await wholeReport({ head, name: 'a', items: listed([1]) }),
    '{"meta":{"rows":1,"owner":9007199254740993},"a":[1]}',
  );
  t.equal(await wholeReport({ head: {}, name: 'a', items: listed([]) }), '{"a":[]}');
});

t.test('a long list comes in pieces', async (t) => {
  const items = Array.from({ length: 12_000 }, (_, n) => ({ n, text: 'x'.repeat(20) }));
  const pieces: string[] = [];
  for await (const piece of reportText({ name: 'results', items: listed(items), rest: (count) => ({ count }) }))
    pieces.push(piece);
  t.ok(pieces.length > 3);
  t.strictSame(JSON.parse(pieces.join('')), { results: items, count: 12_000 });
});

const mapPieces = async (head: object, ...batches: (readonly (readonly [string, unknown])[])[]): Promise<string[]> => {
  const entries = Readable.from(batches);
  const pieces = [];
  for await (const piece of mapText({ head: { ...head }, name: 'map', entries })) pieces.push(piece);
  return pieces;
};

t.test('members come first, then the map, a piece for each batch', async (t) => {
  const pieces = await mapPieces(
    { a: 1, b: 'x' },
    [['k', { v: 1 }]],
    [
      ['"quoted"', null],
      ['m', [2]],
    ],
  );
  t.strictSame(pieces, ['{"a":1,"b":"x","map":{"k":{"v":1}', ',"\\"quoted\\"":null,"m":[2]', '}}']);
  t.strictSame(JSON.parse(pieces.join('')), { a: 1, b: 'x', map: { k: { v: 1 }, '"quoted"': null, m: [2] } });
});

t.test('without members, without entries and with empty batches it is still an object', async (t) => {
  t.strictSame(JSON.parse((await mapPieces({})).join('')), { map: {} });
  t.strictSame(JSON.parse((await mapPieces({}, [], [['k', 1]], [])).join('')), { map: { k: 1 } });
  t.strictSame(JSON.parse((await mapPieces({ a: true }, [])).join('')), { a: true, map: {} });
});

t.test('a failure passes through', async (t) => {
  const broken = async function* () {
    yield [['k', 1]] as const;
    throw new Error('lost');
  };
  const read = async (): Promise<void> => {
    for await (const _ of mapText({ head: {}, name: 'map', entries: broken() }));
  };
  await t.rejects(read(), { message: 'lost' });
});

// Deployed clients compare the media type of an answer with this very text, so each way to answer with JSON is asked here.
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
