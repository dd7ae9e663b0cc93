import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { listens } from './listeners.ts';

const SERVES = `const server = require('net').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))`;

t.test('whoever listens is told from who does not, and from another port', async (t) => {
  const child = spawn(process.execPath, ['-e', SERVES], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  t.teardown(() => child.kill('SIGKILL'));
  const group = child.pid as number;
  const port = Number(String((await once(child.stdout, 'data'))[0]));
  const own = createServer().listen(0, '127.0.0.1');
  t.teardown(() => own.close());
  await once(own, 'listening');
  const ours = (own.address() as { port: number }).port;
  t.strictSame([listens(group, port), listens(group, ours)], [true, false]);
  child.kill('SIGKILL');
  await closed;
  t.equal(listens(group, port), false, 'nobody any more');
});
