import { once } from 'node:events';
import t from 'tap';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { dial, httpApp } from '../../http-app.ts';

t.test('a client that waits for the answer before it sends its body gets it, whatever the method', async (t) => {
  // It stands still: nothing here is answered because a time is over.
  const app = await httpApp(t, [], { clock: new VirtualClock() });
  for (const method of ['GET', 'HEAD', 'POST']) {
    const { socket, got } = dial(app.port);
    t.teardown(() => socket.destroy());
    socket.write(`${method} /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n`);
    while (!got().includes('\r\n\r\n')) await once(socket, 'data');
    t.match(got(), /^HTTP\/1\.1 404 /, method);
    t.match(got().toLowerCase(), /\r\nconnection: close\r\n/, method);
  }
});
