// Other spellings of the paths that a proxy in front keeps from the public: none of them leads to a route.

import t from 'tap';
import { attacker } from './support/attacker.ts';
import { victim } from './support/victim.ts';

const PATHS = [
  ...['/%61dmin/reports/jobs', '/ADMIN/reports/jobs', '//admin/reports/jobs', '/admin//reports/jobs'],
  ...['/x/../admin/reports/jobs', '/./admin/reports/jobs', '/admin%2Freports%2Fjobs', '/admin/reports/jobs/'],
  ...['/%6detrics', '//metrics', '/metrics/', '/Metrics', '/metrics#x', '/x/%2e%2e/metrics', '/%68ealth'],
  ...['/%63onfig', '//config', '/%73tatuses', '/%6daintenance/cache', '/maintenance//cache'],
];

const app = await victim(t);

for (const at of ['installer', 'handler', 'report', 'access', 'pluginHost'] as const)
  t.test(`${at}: a path that is spelled in another way is not found`, async (t) => {
    for (const path of PATHS) {
      const one = await attacker(t, app.endpoints[at]);
      const head = ['host: x', `admin-token: ${app.endpoints.adminToken}`, 'connection: close'].join('\r\n');
      one.socket.write(`GET ${path} HTTP/1.1\r\n${head}\r\n\r\n`);
      await one.answered;
      t.match(one.got(), /^HTTP\/1\.1 404 /, path);
    }
    await app.holds(t);
  });
