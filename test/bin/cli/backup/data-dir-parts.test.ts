import t from 'tap';
import {
  isLeftOut,
  isLeftOutRunning,
  isLeftOutStopped,
  placesOutside,
} from '../../../../bin/cli/backup/data-dir-parts.ts';
import { dataDir } from '../../../../bin/compose/data-dir.ts';
import type { Configuration } from '../../../../config/configuration.ts';

const PORT = 5_444;
const DIR = dataDir('/data/longshore');

const database = (host: string, port: number) => ({ kind: 'address', name: 'db', server: { host, port } });

/** What the function reads of a configuration. */
const configuration = (installer: object, others: object = {}) =>
  ({
    installer: {
      cacheDb: { server: { host: '127.0.0.1', port: PORT } },
      objectStore: { driver: 'directory', path: DIR.objects },
      plugins: { genelist: { installRoot: DIR.path } },
      installTargets: [
        { targetId: 'AlphaDB', controlDb: database('127.0.0.1', PORT), dataDb: database('127.0.0.1', PORT) },
      ],
      ...installer,
    },
    ...others,
  }) as unknown as Configuration;

t.test('places outside of the directory are named, and only those', async (t) => {
  t.strictSame(placesOutside(DIR, configuration({}), PORT), []);
  const elsewhere = {
    cacheDb: { server: { host: '127.0.0.1', port: PORT + 1 } },
    objectStore: { driver: 's3' },
    plugins: { genelist: { installRoot: '/data/longshore-sites' } },
    installTargets: [
      { targetId: 'A', controlDb: database('db.example', PORT), dataDb: { kind: 'lookup', lookupCn: 'a' } },
    ],
  };
  const report = { queryJobs: { root: DIR.queryJobs }, blastDb: '/srv/blast' };
  t.strictSame(placesOutside(DIR, configuration(elsewhere, { report }), PORT), [
    'the object store: a bucket',
    'BLAST databases: /srv/blast',
    'files of plugin genelist: /data/longshore-sites',
    'the cache database: another server',
    'the control database of A: another server',
    'the data database of A: another server',
  ]);
});

t.test('what a start makes anew, and what is under way, is left out', async (t) => {
  for (const path of ['endpoints.json', 'compiled', 'objects/staging', 'scratch/jobs', 'scratch/handler/running/1'])
    t.ok(isLeftOut(path), path);
  for (const path of [
    'config.yaml',
    'token-key.pem',
    'postgres.password',
    'sites/A',
    'scratch/handler/work/1',
    'objects',
  ])
    t.notOk(isLeftOut(path), path);
  for (const path of ['postgres/postmaster.pid', 'before-restore-2026/config.yaml', 'restore-partial'])
    t.ok(isLeftOutRunning(path) && isLeftOutStopped(path), path);
  for (const path of ['postgres/pg_wal/000000010000000000000001', 'postgres/backup_label', 'postgres/pg_replslot/x'])
    t.ok(isLeftOutRunning(path) && !isLeftOutStopped(path), path);
  for (const path of ['postgres/pg_wal', 'postgres/base/1/1259', 'postgres/PG_VERSION', 'postgres/global/pg_control'])
    t.notOk(isLeftOutRunning(path) || isLeftOutStopped(path), path);
});
