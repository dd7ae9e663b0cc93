// Connections that say nothing, more than a listener takes. Behind TLS they never begin the handshake.

import t from 'tap';
import { attacker } from './support/attacker.ts';
import { servedVictim, victim } from './support/victim.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.7'];
const COUNT = 1_200;

t.test(`${COUNT} silent connections to a TLS listener: others are served`, async (t) => {
  const app = await servedVictim(t, { tls: true });
  for (const from of [['127.0.0.1'], ADDRESSES])
    await t.test(`of ${from.length} addresses`, async (t) => {
      for (let i = 0; i < COUNT; i++) await attacker(t, app.url, from[i % from.length]);
      await app.holds(t);
    });
});

t.test(`${COUNT} silent connections to plain listeners: others are served`, async (t) => {
  const app = await victim(t);
  for (const at of ['installer', 'handler', 'report', 'access', 'pluginHost'] as const)
    await t.test(at, async (t) => {
      for (let i = 0; i < COUNT; i++) await attacker(t, app.endpoints[at], ADDRESSES[i % ADDRESSES.length]);
      await app.othersWait(`${app.endpoints[at]}/ready`);
      await app.holds(t);
    });
});
