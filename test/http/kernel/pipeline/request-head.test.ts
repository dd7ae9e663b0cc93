import t from 'tap';
import { fetch, request } from 'undici';
import { type AppOptions, httpApp, raw, route } from '../../http-app.ts';

const echo = route('/where', 'open', async (context) => context.text(200, 'text/plain', context.publicUrl));

async function where(t: Parameters<typeof httpApp>[0], url: AppOptions['url'], headers: Record<string, string>) {
  const app = await httpApp(t, [echo], url ? { url } : {});
  const { body } = await request(`${app.url}/where`, { headers });
  return (await body.text()).replace(String(app.port), 'PORT');
}

t.test('the address is the one that was asked for, base path included', async (t) => {
  t.equal(await where(t, {}, {}), 'http://127.0.0.1:PORT/base');
  t.equal(await where(t, { basePath: '' }, { host: 'data.example:81' }), 'http://data.example:81');
  t.equal(await where(t, {}, { 'x-forwarded-host': 'evil.example' }), 'http://127.0.0.1:PORT/base');
});

t.test('a trusted proxy tells what it was asked for', async (t) => {
  const trusted = { isProxy: () => true };
  const pair = { 'x-forwarded-proto': 'HTTPS', 'x-forwarded-host': 'data.example, inner.example' };
  t.equal(await where(t, trusted, pair), 'https://data.example/base');
  const standard = { forwarded: 'for=1.2.3.4;host="[2001:db8::1]:8443";proto=https, for=5.6.7.8;host=inner' };
  t.equal(await where(t, trusted, { ...pair, ...standard }), 'https://[2001:db8::1]:8443/base');
  const bare = { forwarded: 'secret;;proto=https;host=data.example' };
  t.equal(await where(t, trusted, bare), 'https://data.example/base', 'what has no value says nothing');
  t.equal(await where(t, trusted, { 'x-forwarded-proto': 'javascript' }), 'http://127.0.0.1:PORT/base');
});

t.test('a host that is no host does not get into an address', async (t) => {
  const app = await httpApp(t, [echo], { url: { isProxy: () => true } });
  for (const host of ['a/b', 'a"b', 'a b', 'a?b=c', 'user@host', '<x>']) {
    const answer = await raw(app.port, `GET /where HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    t.match(answer, new RegExp(`http://127\\.0\\.0\\.1:${app.port}/base$`), host);
  }
});

t.test('a proxy may leave the base path on, and a route of that name is still found', async (t) => {
  const named = route('/base', 'open', async (context) => context.text(200, 'text/plain', 'named like the base path'));
  const app = await httpApp(t, [echo, named]);
  const get = async (path: string) => {
    const response = await fetch(app.url + path);
    return [response.status, await response.text()];
  };
  t.same(await get('/base/where'), [200, `${app.url}/base`]);
  t.same(await get('/base/base/where').then(([status]) => status), 404);
  t.same(await get('/base'), [200, 'named like the base path']);
  t.same(await get('/base/health').then(([status]) => status), 200);
});

const app = await httpApp(t, [
  route('/x', 'open', async (context) => context.json(200, 1)),
  route('/x', 'open', async (context) => context.json(200, 1), { method: 'POST' }),
]);
const ask = (headers: string, method = 'GET'): Promise<string> =>
  raw(app.port, `${method} /x HTTP/1.1\r\nconnection: close\r\n${headers}\r\n`);

for (const name of [
  ...['Authorization', 'Admin-Token', 'Auth-Key', 'Auth_Key', 'User-Id', 'Api-Version', 'Content-Type', 'Origin'],
  ...['Range', 'If-Range', 'If-Modified-Since', 'If-Unmodified-Since', 'traceparent', 'traceid', 'Expect'],
])
  t.test(`${name} twice is refused, whether the values differ or not`, async (t) => {
    for (const second of ['one', 'two']) {
      const answer = await ask(`Host: x\r\n${name}: one\r\n${name.toLowerCase()}: ${second}\r\n`);
      t.match(answer, /^HTTP\/1\.1 400 /);
      t.match(answer, new RegExp(`there are several ${name} headers; expected one`, 'i'));
      t.notMatch(answer, /two/, 'the value may be a secret');
    }
  });

t.test('Host and Content-Length twice are refused', async (t) => {
  t.match(await ask('Host: x\r\nhost: y\r\n'), /^HTTP\/1\.1 400 .*several host headers/s);
  t.match(await ask('Host: x\r\nContent-Length: 0\r\nContent-Length: 1\r\n', 'POST'), /^HTTP\/1\.1 400 /);
});

t.test('a list may come in several headers', async (t) => {
  t.match(
    await ask('Host: x\r\nAccept: a/b\r\nAccept: c/d\r\nX-Forwarded-For: a\r\nX-Forwarded-For: b\r\n'),
    /^HTTP\/1\.1 200 /,
  );
});
