// Many requests in one write, whose answers nobody reads: only a bounded part of them may be held in memory.

import t from 'tap';
import { attacker } from './support/attacker.ts';
import { victim } from './support/victim.ts';

const CONNECTIONS = 8;
const WRITE_BYTES = 64 * 1024;

const app = await victim(t);

t.test('pipelined requests whose answers are not read cost a bounded amount of memory', async (t) => {
  for (const at of ['installer', 'handler', 'report', 'access', 'pluginHost'] as const) {
    const one = `GET /api HTTP/1.1\r\nhost: x\r\n\r\n`;
    const many = one.repeat(Math.floor(WRITE_BYTES / one.length));
    const attackers = await Promise.all(Array.from({ length: CONNECTIONS }, () => attacker(t, app.endpoints[at])));
    for (const { socket } of attackers) socket.pause().write(many);
    // Requests of others are taken after those that came before.
    for (let i = 0; i < CONNECTIONS; i++) await app.othersWait(`${app.endpoints[at]}/ready`);
    await app.holds(t);
    for (const { socket } of attackers) socket.destroy();
  }
});
