import t from 'tap';
import { Agent, fetch } from 'undici';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../../../fixtures/certificate.ts';
import { httpApp, raw, route } from '../../http-app.ts';

t.test('with a certificate a front end speaks HTTPS, and answers nothing in plain HTTP', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 'answered'))], {
    tls: { cert: LOCALHOST_CERT, key: LOCALHOST_KEY },
  });
  const url = `https://localhost:${app.port}/x`;
  const dispatcher = new Agent({ connect: { ca: LOCALHOST_CERT } });
  t.teardown(() => dispatcher.close());
  t.equal(await (await fetch(url, { dispatcher })).json(), 'answered');
  await t.rejects(fetch(url), 'a client that does not trust the certificate hangs up');
  t.equal(await raw(app.port, 'GET /x HTTP/1.1\r\nhost: x\r\n\r\n'), '');
});
