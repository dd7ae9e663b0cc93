// One site for `serve` and `plugin` as processes of their own, on databases that somebody else runs: a configuration file with
// one install target, one plugin with the scripts of a sample, objects in a directory, and a token issuer of the test.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { stringify } from 'yaml';
import { writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import type { TestDatabase } from './database.ts';
import { freePortBase, ROOT, tempDir } from './longshore.ts';

const ENTRY = join(ROOT, 'bin', 'longshore.ts');

export interface ServedSite {
  readonly dir: string;
  /** The configuration. Its password is taken from the variable DB_PASSWORD, which is set in this process. */
  readonly file: string;
  /** URL of the installer. */
  readonly installer: string;
  readonly adminToken: string;
  /** Folder of the objects. */
  readonly objects: string;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** @param site of the target, whose schemas are `site_control`, made by nobody yet, and `site_data`, made here */
export async function servedSite(t: Teardown, cache: TestDatabase, site: TestDatabase): Promise<ServedSite> {
  const dir = await tempDir(t);
  await createSchema(site, 'site_data'); // the site's own: neither command makes it
  const base = await freePortBase();
  const keys = await newKeyPair();
  await writeFile(join(dir, 'key.pem'), keys.privateKeyPem, { mode: 0o600 });
  await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
  await mkdir(join(dir, 'installed'));
  const launchers = await writeSampleLaunchers(join(dir, 'scripts'), [process.execPath, ENTRY]);
  const scripts = Object.entries(launchers.genelist).map(([key, path]) => [key, { pathOverride: encodeURI(path) }]);
  const adminToken = 'a'.repeat(40);
  const document = {
    containerCore: {
      authentication: {
        adminToken,
        oauth: { issuer: 'tests', publicKeyFile: 'key.pub.pem', privateKeyFile: 'key.pem' },
      },
      ports: { installer: base },
    },
    installer: {
      cacheDb: { ...connection(cache), name: cache.database },
      objectStore: { driver: 'directory', path: 'store' },
      logBroker: { driver: 'postgres' },
      queueBroker: { driver: 'postgres' },
      siteBuild: 'build-1',
      plugins: {
        genes: {
          server: { host: '127.0.0.1', port: base + 1 },
          installRoot: encodeURI(join(dir, 'installed')),
          dataTypes: [{ name: 'genelist', version: '1.0', category: 'Gene List' }],
          scripts: Object.fromEntries(scripts),
        },
      },
      installTargets: [
        { targetId: 'SiteA', controlDb: schemaOf(site, 'site_control'), dataDb: schemaOf(site, 'site_data') },
      ],
    },
  };
  const file = join(dir, 'longshore.yaml');
  await writeFile(file, stringify(document), { mode: 0o600 });
  process.env.DB_PASSWORD = cache.password;
  return { dir, file, installer: `http://127.0.0.1:${base}`, adminToken, objects: join(dir, 'store') };
}

function connection({ host, port, user }: TestDatabase): object {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own placeholder
  return { server: { host, port }, username: user, password: '${env:DB_PASSWORD}' };
}

const schemaOf = (db: TestDatabase, schema: string): object => ({
  ...connection(db),
  name: db.database,
  platform: 'Postgres',
  schema,
});

async function createSchema(db: TestDatabase, name: string): Promise<void> {
  const client = new pg.Client(db);
  await client.connect();
  await client.query(`create schema ${pg.escapeIdentifier(name)}`);
  await client.end();
}
