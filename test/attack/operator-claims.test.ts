// Somebody tries to become an operator by what stands in a token, and an observer tries to change something.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { signedClaims } from './signed-claims.ts';

const REPORTS = ['/admin/reports/datasets/list-all', '/admin/reports/jobs', '/admin/reports/imports/failed'];
const CHANGES = ['/admin/rpc/datasets/prune', '/admin/rpc/datasets/reconcile', '/admin/rpc/installs/clear-failed'];

t.test('operators do everything, observers read reports, and nobody else is either', async (t) => {
  const dir = join(await tempDir(t), 'data');
  const base = String(await freePortBase());
  await (await up(t, dir, ['--port-base', base])).stop();
  const file = dataDir(dir).config;
  const config = parse(await readFile(file, 'utf8')) as { containerCore: { authentication: object } };
  const operators = { operator: ['longshore-admin'], observer: ['longshore-viewer'] };
  config.containerCore.authentication = { ...config.containerCore.authentication, operators };
  await writeFile(file, stringify(config));
  const app = await up(t, dir, ['--port-base', base]);
  const codes = async (claims: Record<string, unknown>) => {
    const headers = { authorization: `Bearer ${await signedClaims(dataDir(dir).tokenKey, '951', claims)}` };
    const seen = { reports: new Set<number>(), changes: new Set<number>(), staff: 0 };
    for (const path of REPORTS) seen.reports.add((await fetch(app.endpoints.installer + path, { headers })).status);
    for (const path of CHANGES)
      seen.changes.add((await fetch(app.endpoints.installer + path, { method: 'POST', headers })).status);
    const staff = await fetch(`${app.endpoints.access}/staff`, { headers });
    return { reports: [...seen.reports], changes: [...seen.changes], staff: staff.status };
  };
  const nobody = { reports: [401], changes: [401], staff: 403 };
  for (const claims of [
    {},
    { roles: ['LONGSHORE-ADMIN'] },
    { roles: 'longshore-admin,longshore-viewer' },
    { roles: { 0: 'longshore-admin' } },
    { role: ['longshore-admin'], admin: true, operator: true, kind: 'admin' },
  ])
    t.strictSame(await codes(claims), nobody, JSON.stringify(claims));
  t.strictSame(await codes({ roles: ['longshore-admin'], guest: true }), nobody, 'a guest');
  t.strictSame(await codes({ roles: ['longshore-viewer'] }), { reports: [200], changes: [403], staff: 403 });
  const operator = await codes({ roles: ['longshore-admin'] });
  t.strictSame(operator, { reports: [200], changes: operator.changes, staff: 200 });
  t.notOk(operator.changes.includes(401) || operator.changes.includes(403), `changes: ${operator.changes}`);
});
