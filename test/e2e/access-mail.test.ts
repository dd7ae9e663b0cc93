// The dataset access service with a database of its own and a mail server.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { LOCALHOST_CERT } from '../fixtures/certificate.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { smtpServer } from '../support/smtp-server.ts';

interface Written {
  readonly installer: { readonly cacheDb: Record<string, unknown> };
  access: Record<string, unknown>;
  mail?: object;
}

t.test('mails go to the mail server of the configuration, tables to the database of the service', async (t) => {
  const dir = await tempDir(t);
  const base = String(await freePortBase());
  await (await up(t, dir, ['--port-base', base])).stop();
  const server = await smtpServer(t, 'starttls');
  const ca = join(dir, 'ca.pem');
  await writeFile(ca, LOCALHOST_CERT);
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Written;
  config.access = { ...config.access, db: { ...config.installer.cacheDb, name: 'installer', schema: 'study_access' } };
  config.mail = {
    ...{ server: `127.0.0.1:${server.port}`, security: 'starttls', from: 'service@site.example' },
    tlsOptions: { caFile: ca },
  };
  await writeFile(file, stringify(config));
  t.match(await longshore(['config', 'check', file]), { code: 0 });

  const app = await up(t, dir, ['--port-base', base]);
  const { access: at, adminToken } = app.endpoints;
  t.match(await (await fetch(`${at}/health`)).json(), {
    status: 'healthy',
    dependencies: [{ name: 'access-db' }, { name: 'account-db' }, { name: 'smtp', reachable: true, online: 'yes' }],
  });
  const post = async (path: string, headers: Record<string, string>, body: object): Promise<number> => {
    const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } };
    const response = await fetch(at + path, { ...init, body: JSON.stringify(body) });
    await response.body?.cancel();
    return response.status;
  };
  t.equal(await post('/staff', { 'admin-token': adminToken }, { userId: 1, isOwner: true }), 200);
  const provider = { datasetId: 'SAMPLE_private', email: 'new@lab.example', isManager: true };
  t.equal(await post('/dataset-providers', { auth_key: await app.token('1') }, provider), 200);
  const sent = /^longshore_access_mails_total\{result="sent"\} 1$/m;
  while (!sent.test(await (await fetch(`${at}/metrics`)).text()));
  t.match(server.mails, [{ from: 'service@site.example', to: ['new@lab.example'], encrypted: true }]);
  t.match(server.mails[0]?.content, /Subject: Case histories of a rare fever: Provider Account/);
  t.match(await longshore(['access', 'mail', '--data', dir]), { code: 0, stdout: '' });
  t.match(await longshore(['migrate', '--config', file]), { stdout: /access database: up to date/ });
});
