// A process that is nobody's victim: it answers on a port of its own, and how long it takes says how busy the machine is.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Test } from 'tap';

const PROGRAM = `
  const server = require('node:http').createServer((_, response) => response.end('here'));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

/** Its URL. */
export async function controlProcess(t: Test): Promise<string> {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [port] = (await once(child.stdout.setEncoding('latin1'), 'data')) as [string];
  return `http://127.0.0.1:${port.trim()}`;
}
