// `serve` and `plugin` as separate processes on a PostgreSQL that somebody else runs, set up by `migrate` and
// `migrate-target`.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { newKeyPair } from '../../http/local-issuer.ts';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { freePortBase, longshore, ROOT, running, tempDir } from '../support/longshore.ts';

const ENTRY = join(ROOT, 'bin', 'longshore.ts');

async function createSchema(db: TestDatabase, name: string): Promise<void> {
  const client = new pg.Client(db);
  await client.connect();
  await client.query(`create schema ${pg.escapeIdentifier(name)}`);
  await client.end();
}

async function configure(t: Test): Promise<{ file: string; installer: string }> {
  const dir = await tempDir(t);
  const db = await testDatabase(t);
  await createSchema(db, 'site_data'); // the site's own: neither command makes it
  const base = await freePortBase();
  const keys = await newKeyPair();
  await writeFile(join(dir, 'key.pem'), keys.privateKeyPem, { mode: 0o600 });
  await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
  await mkdir(join(dir, 'installed'));
  const launchers = await writeSampleLaunchers(join(dir, 'scripts'), [process.execPath, ENTRY]);
  const server = { host: db.host, port: db.port };
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own placeholder
  const password = '${env:DB_PASSWORD}';
  const target = (schema: string): object => ({
    server,
    name: db.database,
    platform: 'Postgres',
    username: db.user,
    password,
    schema,
  });
  const file = join(dir, 'longshore.yaml');
  await writeFile(
    file,
    stringify({
      containerCore: {
        authentication: {
          adminToken: 'a'.repeat(40),
          oauth: { issuer: 'tests', publicKeyFile: 'key.pub.pem', privateKeyFile: 'key.pem' },
        },
        ports: { installer: base },
      },
      installer: {
        cacheDb: { server, username: db.user, password, name: db.database },
        objectStore: { driver: 'directory', path: 'store' },
        logBroker: { driver: 'postgres' },
        queueBroker: { driver: 'postgres' },
        siteBuild: 'build-1',
        plugins: {
          genes: {
            server: { host: '127.0.0.1', port: base + 1 },
            installRoot: encodeURI(join(dir, 'installed')),
            dataTypes: [{ name: 'genelist', version: '1.0', category: 'Gene List' }],
            scripts: Object.fromEntries(
              Object.entries(launchers.genelist).map(([key, path]) => [key, { pathOverride: encodeURI(path) }]),
            ),
          },
        },
        installTargets: [{ targetId: 'SiteA', controlDb: target('site_control'), dataDb: target('site_data') }],
      },
    }),
    { mode: 0o600 },
  );
  process.env.DB_PASSWORD = db.password;
  return { file, installer: `http://127.0.0.1:${base}` };
}

t.test('migrate, serve and plugin work together from one file', async (t) => {
  const { file, installer } = await configure(t);
  t.same(await longshore(['config', 'check', file]), {
    code: 0,
    stdout: `${file}: ok, 1 enabled install target, 1 plugin\n`,
    stderr: '',
  });
  t.match(await longshore(['migrate', '--config', file]), { code: 0, stdout: /^cache database: applied 1, 2, 3/ });
  t.match(await longshore(['migrate', '--config', file]), { code: 0, stdout: 'cache database: up to date\n' });
  t.match(await longshore(['migrate-target', 'SiteA', '--config', file]), {
    code: 0,
    stdout: /^target SiteA: applied 1/,
  });
  t.match(await longshore(['migrate-target', 'SiteB', '--config', file]), { code: 2, stderr: /one of: SiteA/ });

  const plugin = await running(t, ['plugin', '--config', file, '--id', 'genes']);
  const service = await running(t, ['serve', '--config', file]);
  const checked = await longshore(['doctor', '--config', file]);
  t.equal(checked.code, 0, checked.stdout);
  t.match(checked.stdout, /^ok +plugin genes .* GET \/health: version /m);
  const token = (await longshore(['token', '--config', file, '--user', '8'])).stdout.trim();
  const api = new Api(installer, token);
  const id = await api.upload(detailsOf('genelist', { installTargets: ['SiteA'] }), [
    { name: 'genes.txt', content: geneList(20) },
  ]);
  const watched = await longshore(['watch', id, '--server', installer, '--token', token]);
  t.equal(watched.stdout, 'installed\n', watched.stderr);
  t.equal(await service.stop(), 0);
  t.equal(await plugin.stop(), 0);
});

t.test('a database that is not there ends the start with exit code 4', async (t) => {
  const { file } = await configure(t);
  t.match(await longshore(['token', '--config', `${file}.missing`, '--user', '1']), { code: 3 });
  t.match(await longshore(['datasets', 'list', '--server', 'http://127.0.0.1:9', '--token', 'x']), { code: 4 });
});
