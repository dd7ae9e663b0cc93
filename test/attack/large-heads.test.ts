// Request heads beyond every bound: refused after as much as may be read of them, on every listener.

import t from 'tap';
import { attacker } from './support/attacker.ts';
import { victim } from './support/victim.ts';

const CONNECTIONS = 20;
const MIB = 1024 * 1024;

const app = await victim(t);

for (const at of ['installer', 'handler', 'report', 'access', 'pluginHost'] as const)
  t.test(`${at}: a head of a megabyte is refused with 431, and costs no more than what was read of it`, async (t) => {
    const attackers = await Promise.all(Array.from({ length: CONNECTIONS }, () => attacker(t, app.endpoints[at])));
    for (const { socket } of attackers) socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(MIB)}\r\n\r\n`);
    await app.holds(t);
    for (const one of attackers) {
      // The answer is lost where the rest of the head arrives after the connection was closed.
      await one.answered;
      t.match(one.got(), /^(?:HTTP\/1\.1 431 |$)/);
    }
  });
