import { Readable } from 'node:stream';
import t from 'tap';
import { fetch } from 'undici';
import {
  checkedJsonBody,
  jsonBody,
  mediaType,
  parseJsonText,
  readBytes,
  readJson,
} from '../../../../http/kernel/bodies/body.ts';
import { Type } from '../../../../http/kernel/openapi/schema-node.ts';
import { httpApp, route } from '../../http-app.ts';

const parse = (text: string): unknown => parseJsonText(Buffer.from(text), 'the body');

t.test('JSON is read with its big user ids, the last of duplicate keys counts', async (t) => {
  t.same(parse('{"owner":9007199254740993,"a":1,"a":[2]}'), { owner: '9007199254740993', a: [2] });
  t.equal(parse(' "text" '), 'text');
  t.same(parse(`"[[[[${'['.repeat(100)}\\"{"`), `[[[[${'['.repeat(100)}"{`);
});

t.test('what is not JSON of UTF-8 is 400 and names what was read', async (t) => {
  for (const text of ['', '{', '{a:1}', 'NaN', '[1,]', '"\n"', '{}{}'])
    t.throws(() => parse(text), { code: 400, message: /^the body is not JSON/ }, JSON.stringify(text));
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0x22, 0xe2, 0x82, 0x22]])
    t.throws(() => parseJsonText(Buffer.from(bytes), 'part x'), { code: 400, message: 'part x is not UTF-8' });
});

t.test('nesting is bounded before anything walks it', async (t) => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  t.ok(parse(nested(64)));
  for (const levels of [65, 500_000])
    t.throws(() => parse(nested(levels)), { code: 400, message: /deeper than 64 levels/ });
  t.throws(() => parse('{"a":'.repeat(100_000)), { code: 400, message: /deeper than 64/ });
});

t.test('__proto__ is no key, however it is spelled', async (t) => {
  for (const text of ['{"__proto__":{}}', '{"a":[{"\\u005f_proto__":1}]}'])
    t.throws(() => parse(text), { code: 400, message: /'__proto__'/ }, text);
  t.same(parse('{"a":"__proto__ \\u0041"}'), { a: '__proto__ A' });
  t.same(parse('{"constructor":{"prototype":1}}'), { constructor: { prototype: 1 } });
});

t.test('bytes are read up to the bound, and not one more', async (t) => {
  const body = (size: number): Readable => Readable.from([Buffer.alloc(3), Buffer.alloc(size - 3)]);
  t.equal((await readBytes(body(10), 10)).length, 10);
  await t.rejects(readBytes(body(11), 10), { code: 400, message: 'the body is larger than 10 bytes' });
});

t.test('media types are compared without case and parameters', async (t) => {
  t.equal(mediaType('Application/JSON; charset=utf-8'), 'application/json');
  t.equal(mediaType(undefined), '');
});

t.test('only JSON is taken for JSON', async (t) => {
  const app = await httpApp(t, [
    route('/json', 'open', async (context) => context.json(200, await readJson(context.request, 100)), {
      method: 'POST',
    }),
  ]);
  const status = async (type: string | undefined): Promise<number> => {
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    return (await fetch(`${app.url}/json`, { method: 'POST', headers, body: Buffer.from('{}') })).status;
  };
  for (const good of ['application/json', 'application/json;charset=UTF-8', 'application/json-patch+json'])
    t.equal(await status(good), 200, good);
  for (const bad of ['text/plain', 'application/jsonp', undefined]) t.equal(await status(bad), 415, String(bad));
});

t.test('a JSON body is held against its schema, and nulls count as absent', async (t) => {
  const schema = Type.Object(
    { name: Type.String(), inner: Type.Optional(Type.Object({ size: Type.Optional(Type.Integer()) })) },
    { additionalProperties: false },
  );
  const [read, readSound] = [jsonBody(schema), checkedJsonBody(schema, { maxBytes: 100, notAnObject: 422 })];
  const post = { method: 'POST' } as const;
  const app = await httpApp(t, [
    route(
      '/read',
      'open',
      async (context) => {
        const { body, given, faults } = await read(context.request);
        await context.json(200, { body, given, faults: faults.errors() });
      },
      post,
    ),
    route('/sound', 'open', async (context) => context.json(200, await readSound(context.request)), post),
  ]);
  const send = async (path: string, body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return [response.status, await response.json()];
  };
  const given = { name: null, inner: { size: null } };
  const missing = { name: ['is missing; text is required'] };
  t.strictSame(await send('/read', given), [
    200,
    { body: { inner: {} }, given, faults: { general: [], byKey: missing } },
  ]);
  t.match(await send('/read', [1]), [400, { message: 'the body is a list of 1; expected a JSON object' }]);
  t.strictSame(await send('/sound', { name: 'a', inner: null }), [200, { name: 'a' }]);
  t.match(await send('/sound', given), [422, { errors: { byKey: missing } }]);
  t.match(await send('/sound', [1]), [422, { errors: { general: [/list of 1/] } }]);
  t.match(await send('/sound', { name: 'a'.repeat(100) }), [400, { message: 'the body is larger than 100 bytes' }]);
});
