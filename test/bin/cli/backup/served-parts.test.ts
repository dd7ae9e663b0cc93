import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import {
  findFolders,
  isLeftOutOfFolder,
  keptElsewhere,
  namedFolders,
  STORE_KEY,
} from '../../../../bin/cli/backup/served-parts.ts';
import type { Configuration } from '../../../../config/configuration.ts';

const plugin = (host: string, installRoot: string) => ({ server: { host, port: 8081 }, installRoot });
const database = (platform: 'Postgres' | 'MariaDB') => ({
  kind: 'direct',
  platform,
  schema: 'control',
  server: { host: 'sites.example', port: 3306 },
});
const [postgres, mariaDb] = [database('Postgres'), database('MariaDB')];

/** What the functions read of a configuration. */
const configuration = (installer: object, others: object = {}): Configuration =>
  ({
    installer: {
      objectStore: { driver: 'directory', path: '/data/store' },
      siteBuild: 'build-68',
      plugins: { genes: plugin('localhost', '/data/site'), rnaseq: plugin('localhost', '/data/site') },
      installTargets: [
        { targetId: 'AlphaDB', controlDb: postgres, dataDb: postgres },
        { targetId: 'BetaDB', datasetFileRoot: 'beta/files', controlDb: mariaDb, dataDb: { kind: 'lookup' } },
      ],
      logBroker: { driver: 'postgres' },
      queueBroker: { driver: 'postgres' },
      ...installer,
    },
    ...others,
  }) as unknown as Configuration;

t.test('folders are those that the configuration names, each with its settings', async (t) => {
  const others = { report: { queryJobs: { root: '/data/searches' } }, handler: { workspace: '/data/handler' } };
  t.strictSame(
    namedFolders(configuration({}, others)).map(({ key, path }) => `${key}: ${path}`),
    [
      'installer.objectStore.path: /data/store',
      'installer.plugins.genes.installRoot: /data/site/build-68',
      'installer.plugins.genes.installRoot BetaDB: /data/site/beta/files',
      'installer.plugins.rnaseq.installRoot: /data/site/build-68',
      'installer.plugins.rnaseq.installRoot BetaDB: /data/site/beta/files',
      'report.queryJobs.root: /data/searches',
      'handler.workspace: /data/handler',
    ],
  );
  const bucket = configuration({ objectStore: { driver: 's3' }, plugins: {} });
  t.strictSame(namedFolders(bucket), []);
});

t.test('each tree is saved once, and a store in one of them is refused', async (t) => {
  const dir = t.testdir({ store: {}, site: { b: {} } });
  const folder = (key: string, path: string) => ({ key, role: key, path: join(dir, path) });
  const [store, site] = [folder(STORE_KEY, 'store'), folder('a', 'site')];
  const inside = folder('b', 'site/b');
  t.strictSame(await findFolders([store, site, { ...site, key: 'again' }, inside, folder('c', 'none')]), {
    saved: [
      { folder: 'folders/1', path: join(dir, 'store'), keys: [STORE_KEY] },
      { folder: 'folders/2', path: join(dir, 'site'), keys: ['a', 'again'] },
    ],
    missing: [folder('c', 'none')],
  });
  await mkdir(join(dir, 'site/store'));
  await t.rejects(findFolders([folder(STORE_KEY, 'site/store'), site]), {
    kind: 'rejected',
    message: /has to be beside/,
  });
});

t.test('work in progress and what earlier restores moved aside is left out', async (t) => {
  const store = { folder: 'folders/1', path: '/s', keys: [STORE_KEY] };
  // The objects come from their links.
  for (const path of ['objects', 'staging', 'backup-snapshot', 'before-restore-2026', 'restore-partial'])
    t.ok(isLeftOutOfFolder(store, path), path);
  const handler = { folder: 'folders/2', path: '/h', keys: ['handler.workspace'] };
  t.ok(isLeftOutOfFolder(handler, 'running/1'));
  for (const path of ['work', 'running', 'objects', 'staging']) t.notOk(isLeftOutOfFolder(handler, path), path);
});

t.test('what somebody else keeps is named, with what to do', async (t) => {
  const objectStore = { driver: 's3', bucketName: 'datasets', server: { host: 's3.example', port: 443 } };
  const far = configuration(
    {
      objectStore,
      plugins: { genes: plugin('plugins.example', '/far/site'), rnaseq: plugin('127.0.0.1', '/near/site') },
      ldap: { servers: [{ host: 'ldap.example', port: 636 }] },
      logBroker: { driver: 'kafka' },
      queueBroker: { driver: 'rabbitmq' },
    },
    { report: { blastDb: '/srv/blast', queryJobs: { root: '/data/searches' } } },
  );
  const { missing } = await findFolders(namedFolders(far));
  const kept = keptElsewhere(far, missing);
  t.match(kept[0], /^the object store: bucket datasets at s3\.example:443\. Turn on versioning .* never earlier ones/);
  t.match(
    kept[1],
    /^files of plugin genes: \/far\/site\/build-68 on the machine of plugins\.example:8081; copy it there/,
  );
  t.strictSame(
    kept.filter((line) => line.includes('database of')).map((line) => line.split(';')[0]),
    ['the control database of BetaDB: control on MariaDB at sites.example:3306'],
  );
  t.match(
    kept.join('\n'),
    /BLAST databases: \/srv\/blast.*\nthe directory: ldap\.example:636.*\nmessages of kafka and rabbitmq/,
  );
  t.notMatch(kept.join('\n'), /near|searches/, 'what is of this machine and was never made');
  t.match(keptElsewhere(configuration({ installTargets: [] }), []), [
    /^roles of the databases/,
    /^files that the configuration names/,
  ]);
});
