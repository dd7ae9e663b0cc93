import t from 'tap';
import { httpApp, raw, route } from '../../http-app.ts';

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
