import { once } from 'node:events';
import t from 'tap';
import { dial, httpApp, raw, route } from './http-app.ts';

const GET = 'GET /x HTTP/1.1\r\nhost: x\r\n\r\n';

t.test('a connection beyond the limit is closed unanswered, and one that ends makes room', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 1))], {
    limits: { maxConnections: 2 },
  });
  const open = [dial(app.port), dial(app.port)];
  for (const { socket } of open) {
    socket.write(GET);
    await once(socket, 'data');
  }
  t.equal(await raw(app.port, GET), '');
  open[0]?.socket.destroy();
  await open[0]?.answer;
  // The server hears of the end a few turns later.
  let answer = '';
  for (let turns = 0; turns < 1_000 && answer === ''; turns++) answer = await raw(app.port, GET);
  t.match(answer, /^HTTP\/1\.1 200 /);
  open[1]?.socket.destroy();
});
