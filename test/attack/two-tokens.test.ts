// Headers that a request may have once, sent twice: a proxy in front may have judged by the one that we do not look at.

import t from 'tap';
import { attacker } from './support/attacker.ts';
import { victim } from './support/victim.ts';

const app = await victim(t);
const token = await app.token('42');
const OTHER = 'Bearer e30.e30.e30';

for (const at of ['installer', 'handler', 'report', 'access', 'pluginHost'] as const)
  t.test(`${at}: a header that may come once is refused twice`, async (t) => {
    for (const [name, values] of [
      ['Authorization', [`Bearer ${token}`, OTHER]],
      ['Authorization', [OTHER, `Bearer ${token}`]],
      ['Admin-Token', [app.endpoints.adminToken, 'x']],
      ['Auth-Key', [token, 'x']],
      ['User-Id', ['1', '2']],
      ['Host', ['x', 'y']],
      ['Content-Length', ['0', '1']],
    ] as const) {
      const one = await attacker(t, app.endpoints[at]);
      const host = name === 'Host' ? [] : ['host: x'];
      const head = [...host, ...values.map((value) => `${name}: ${value}`), 'connection: close'].join('\r\n');
      one.socket.write(`GET /health HTTP/1.1\r\n${head}\r\n\r\n`);
      await one.answered;
      t.match(one.got(), /^HTTP\/1\.1 400 /, `${name}: ${values.length} values`);
    }
    await app.holds(t);
  });
