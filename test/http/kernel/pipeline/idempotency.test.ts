import t, { type Test } from 'tap';
import { fetch } from 'undici';
import type { IdempotencyKeys } from '../../../../engine/ports/idempotency-keys.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { readJson } from '../../../../http/kernel/bodies/body.ts';
import { openApi } from '../../../../http/kernel/openapi/openapi.ts';
import { conflict } from '../../../../http/kernel/pipeline/errors.ts';
import { FakeIdempotencyKeys } from '../../../fakes/fake-idempotency-keys.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { ADMIN, bearer, httpApp, raw, route } from '../../http-app.ts';

const HOUR = 3_600_000;
const TOKEN = await bearer();
const GUEST = await bearer({ guest: true });

interface Options {
  readonly keys?: IdempotencyKeys;
  /** What the n-th creation waits for, or fails with. */
  readonly meanwhile?: (made: number) => Promise<void>;
}

/** A route that makes thing 1, 2, ... */
async function setup(t: Test, { keys = new FakeIdempotencyKeys(), meanwhile = async () => {} }: Options = {}) {
  const clock = new VirtualClock();
  let made = 0;
  const things = (method: 'POST' | 'PUT', path: string, more: { readonly keyed?: true } = { keyed: true }) =>
    route(
      path,
      'anyone-known',
      async (context) => {
        const body = await readJson(context.request);
        await context.onceFor(body, async () => {
          const id = ++made;
          await meanwhile(id);
          return { code: 201, body: { id }, path: `${context.param('id')}/things/${id}` };
        });
      },
      { method, operationId: `${method} ${path}`, ...more },
    );
  const routes = [things('POST', '/things'), things('PUT', '/of/:id'), things('POST', '/unkeyed', {})];
  const { url, port, trail } = await httpApp(t, routes, { keys, clock });
  const send = async (key: string | undefined, body: unknown = { a: 1 }, more: SendOptions = {}) => {
    const { path = '/things', method = 'POST', headers = { authorization: `Bearer ${TOKEN}` } } = more;
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...headers,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    });
    const { status } = response;
    const got = (name: string) => response.headers.get(name);
    return {
      status,
      replayed: got('idempotent-replayed'),
      location: got('location'),
      retry: got('retry-after'),
      body: await response.json(),
    };
  };
  return { send, clock, keys, port, trail, url, made: () => made, routes };
}

interface SendOptions {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

t.test('a repetition creates nothing and gets the same answer, for 24 hours', async (t) => {
  const { send, clock, made, url } = await setup(t);
  const first = { status: 201, replayed: null, location: `${url}/base/things/1`, retry: null, body: { id: 1 } };
  t.strictSame(await send('k', { a: 1, b: 2 }), first);
  await clock.advance(24 * HOUR - 1);
  t.strictSame(await send('k', { b: 2, a: 1 }), { ...first, replayed: 'true' });
  t.strictSame(await send('"k"', { a: 1, b: 2 }), { ...first, replayed: 'true' }, 'quotation marks do not count');
  t.equal(made(), 1);
  await clock.advance(1);
  t.match(await send('k', { another: 'body' }), { status: 201, replayed: null, body: { id: 2 } });
});

t.test('without a key each request creates something, as on a route that takes none', async (t) => {
  const { send, made } = await setup(t);
  await send(undefined);
  await send(undefined);
  await send('k', {}, { path: '/unkeyed' });
  t.match(await send('k k', {}, { path: '/unkeyed' }), { status: 201, body: { id: 4 } });
  t.equal(made(), 4);
});

t.test('a key with another body or path is 422, whoever comes first', async (t) => {
  const { send, made } = await setup(t);
  await send('k');
  t.match(await send('k', { a: 2 }), {
    status: 422,
    body: { status: 'invalid-input', message: /^header Idempotency-Key is 'k', which belongs to another request/ },
  });
  await send('k', {}, { method: 'PUT', path: '/of/1' });
  t.match(await send('k', {}, { method: 'PUT', path: '/of/2' }), { status: 422 });
  t.match(await send('k', {}, { method: 'PUT', path: '/of/1' }), { status: 201, replayed: 'true', body: { id: 2 } });
  t.equal(made(), 2);
});

t.test('a key is one of its caller', async (t) => {
  const { send } = await setup(t);
  const callers = [TOKEN, await bearer({}, { subject: '43' }), GUEST].map((token) => ({
    authorization: `Bearer ${token}`,
  }));
  const ids = [];
  for (const headers of [...callers, { 'admin-token': ADMIN }]) ids.push((await send('k', {}, { headers })).body);
  t.strictSame(ids, [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]);
});

t.test('while the first is under way, all others are 409 with Retry-After', async (t) => {
  const going = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { send, clock, made } = await setup(t, {
    meanwhile: () => {
      begun.resolve();
      return going.promise;
    },
  });
  const first = send('k');
  await begun.promise;
  t.match(await send('k'), {
    status: 409,
    retry: '5',
    body: { message: "a request with Idempotency-Key 'k' is under way; try again" },
  });
  await clock.advance(HOUR);
  t.match(await send('k', { another: 'body' }), { status: 409 }, 'its claim is renewed as long as it lasts');
  going.resolve();
  t.match(await first, { status: 201 });
  t.match(await send('k'), { status: 201, replayed: 'true' });
  t.equal(made(), 1);
});

t.test('of 50 at once one creates', async (t) => {
  const { send, made } = await setup(t);
  const all = await Promise.all(Array.from({ length: 50 }, () => send('k')));
  t.equal(made(), 1);
  for (const { status, body } of all) t.ok(status === 409 || (status === 201 && body), `${status}`);
  t.ok(all.some(({ status, replayed }) => status === 201 && replayed === null));
});

t.test('what was refused or failed leaves its key free, for any body', async (t) => {
  const errors = [conflict('not now'), new Error('a fault'), transient('away')];
  const { send, made } = await setup(t, {
    meanwhile: async (n) => {
      const error = errors[n - 1];
      if (error) throw error;
    },
  });
  const codes = [];
  for (const a of [1, 2, 3, 4]) codes.push((await send('k', { a })).status);
  t.strictSame(codes, [409, 500, 503, 201]);
  t.equal(made(), 4);
});

t.test('a killed process keeps a key for as long as its claim, and no longer', async (t) => {
  const keys = new FakeIdempotencyKeys();
  const { send, clock } = await setup(t, { keys });
  await send('seen');
  const [seen] = keys.keys.values();
  const bounds = { nowMs: clock.now(), untilMs: clock.now() + 20_000, most: 10 };
  const dead = { operation: 'POST /things', caller: seen?.claim.caller ?? '', key: 'k', holder: 'of the dead' };
  t.strictSame(await keys.claim(dead, bounds, new AbortController().signal), { kind: 'claimed' });
  t.equal((await send('k')).status, 409);
  await clock.advance(20_000);
  t.match(await send('k'), { status: 201, replayed: null, body: { id: 2 } });
});

t.test('a value that cannot be a key is 400, naming it and what is allowed', async (t) => {
  const { send, made, port } = await setup(t);
  const wrong = ['', '""', 'a b', 'a"b', '"a', 'a\\b', 'ä', 'x'.repeat(256), `"${'x'.repeat(256)}"`];
  for (const key of wrong)
    t.match(await send(key), {
      status: 400,
      body: { message: /^header Idempotency-Key is '.*': expected 1 to 255 visible/ },
    });
  t.equal(made(), 0);
  for (const key of ['!', "#[]^~'", 'x'.repeat(255), `"${'y'.repeat(255)}"`])
    t.equal((await send(key)).status, 201, key);
  const twice = await raw(
    port,
    `POST /things HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nIdempotency-Key: k\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
  );
  t.match(twice, /^HTTP\/1.1 400 .*there are several Idempotency-Key headers; expected one/s);
});

t.test('too many keys of a caller are 429', async (t) => {
  const keys = new FakeIdempotencyKeys();
  const { send } = await setup(t, { keys });
  await send('first');
  const [first] = keys.keys.values();
  if (!first) throw new Error('no key');
  for (let i = 1; i < 10_000; i++) keys.keys.set(`${i}`, first);
  t.match(await send('k'), { status: 429, retry: '3600', body: { message: /10000 values of Idempotency-Key/ } });
  t.match(await send('first'), { status: 201, replayed: 'true' }, 'a repetition still gets its answer');
  t.match(await send(undefined), { status: 201 });
});

t.test('the document has the header and its answers, only where a route takes a key', async (t) => {
  const { routes } = await setup(t);
  const { paths } = openApi(routes, { title: 't', version: '1', basePath: '' });
  const keyed = paths['/things']?.post;
  t.match(keyed?.parameters, [{ name: 'Idempotency-Key', in: 'header', required: false }, { name: 'Api-Version' }]);
  t.match(keyed?.responses, {
    409: { description: /^A request with the same/ },
    422: { description: /^The Idempotency-Key belongs/ },
  });
  t.strictSame(Object.keys(paths['/unkeyed']?.post?.responses ?? {}), ['200', '400']);
});
