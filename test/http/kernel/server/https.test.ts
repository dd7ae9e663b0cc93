import { once } from 'node:events';
import { type ConnectionOptions, connect } from 'node:tls';
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

t.test(
  'a listener speaks TLS 1.3, and of 1.2 only what has forward secrecy and authenticated encryption',
  async (t) => {
    const app = await httpApp(t, [], { tls: { cert: LOCALHOST_CERT, key: LOCALHOST_KEY } });
    const agreed = async (options: ConnectionOptions): Promise<string> => {
      const socket = connect({
        host: '127.0.0.1',
        port: app.port,
        ca: LOCALHOST_CERT,
        servername: 'localhost',
        ...options,
      });
      try {
        await once(socket, 'secureConnect');
        return `${socket.getProtocol()} ${socket.getCipher().name}`;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? String(error);
      } finally {
        socket.destroy();
      }
    };
    const old = (ciphers: string): ConnectionOptions => ({ maxVersion: 'TLSv1.2', ciphers });
    t.match(await agreed({}), /^TLSv1\.3 /);
    t.equal(await agreed(old('ECDHE-ECDSA-AES128-GCM-SHA256')), 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256');
    const refused = /^(?:ERR_SSL_|ECONNRESET)/;
    for (const ciphers of ['AES128-SHA', 'AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES128-SHA256'])
      t.match(await agreed(old(ciphers)), refused, ciphers);
    t.match(
      await agreed({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
      refused,
      'TLS 1.1',
    );
  },
);
