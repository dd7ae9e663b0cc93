import { once } from 'node:events';
import t from 'tap';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../../../fixtures/certificate.ts';
import { dial, httpApp, raw, route } from '../../http-app.ts';

const getOf = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const CLOSING = 'GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';

t.test(
  'a connection beyond the limit is closed unanswered while all are in use, and one that ends makes room',
  async (t) => {
    const app = await httpApp(
      t,
      [
        route('/x', 'open', async (context) => context.json(200, 1)),
        route('/works', 'open', async (context) => {
          context.response.write('at work');
          await once(context.signal, 'abort');
        }),
      ],
      { limits: { maxConnections: 2 } },
    );
    const open = [dial(app.port), dial(app.port)];
    for (const { socket } of open) {
      socket.write(getOf('/works'));
      await once(socket, 'data');
    }
    t.equal(await raw(app.port, CLOSING), '');
    t.match(await app.metrics.text(), /http_connections_cut_total\{front_end="test",reason="full"\} 1/);
    open[0]?.socket.destroy();
    await open[0]?.answer;
    // The server hears of the end a few turns later.
    let answer = '';
    for (let turns = 0; turns < 1_000 && answer === ''; turns++) answer = await raw(app.port, CLOSING);
    t.match(answer, /^HTTP\/1\.1 200 /);
    open[1]?.socket.destroy();
  },
);

t.test('whoever does not finish the handshake of TLS counts, and is cut off', async (t) => {
  const app = await httpApp(t, [], {
    tls: { cert: LOCALHOST_CERT, key: LOCALHOST_KEY },
    limits: { handshakeTimeoutMs: 50, connectionsPerAddress: 2 },
  });
  const silent = [dial(app.port), dial(app.port), dial(app.port)];
  for (const { answer } of silent) t.equal(await answer, '');
  t.match(await app.metrics.text(), /http_connections_cut_total\{front_end="test",reason="room"\} 1/);
});
