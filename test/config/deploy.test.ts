// Files that operators start from: what they name is there, and what they configure is taken.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { COMMANDS } from '../../bin/cli/command-table.ts';
import { OF_PLUGIN_HOST } from '../../bin/commands/plugin.ts';
import { loadConfiguration } from '../../config/load.ts';
import { formatFault } from '../../config/validate.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DEPLOY = join(ROOT, 'config', 'deploy');
const SECRETS = {
  LONGSHORE_ADMIN_TOKEN: 'a'.repeat(64),
  LONGSHORE_ISSUER: 'https://accounts.lab.example',
  LONGSHORE_JWKS_URL: 'https://accounts.lab.example/keys',
  DB_PASSWORD: 'secret-of-the-database',
  DATA_DB_PASSWORD: 'secret-of-the-data',
};

async function faultsOf(file: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const loaded = await loadConfiguration(join(DEPLOY, file), { env });
  return loaded.ok ? loaded.warnings : loaded.faults.map(formatFault);
}

t.test('the example for one machine is without faults and warnings', async (t) => {
  t.strictSame(await faultsOf('examples/one-machine.yaml', SECRETS), []);
});

t.test('the example for three machines is without faults and warnings', async (t) => {
  const env = {
    ...SECRETS,
    CACHE_DB_SERVER: 'postgres.lab.example',
    CACHE_DB_PASSWORD: 'secret-of-the-cache',
    S3_SERVER: 's3.lab.example',
    S3_ACCESS_KEY: 'access-key',
    S3_SECRET_KEY: 'secret-of-the-store',
    RABBITMQ_SERVER: 'rabbitmq.lab.example',
    RABBITMQ_PASSWORD: 'secret-of-the-queue',
    KAFKA_SERVER: 'kafka.lab.example:9092',
    ALPHA_DB_SERVER: 'alpha.lab.example:5432',
    ALPHA_DB_PASSWORD: 'secret-of-the-site',
    ALPHA_DATA_DB_PASSWORD: 'secret-of-the-data',
    GENELIST_PLUGIN_SERVER: 'plugins.lab.example:8090',
    CA_FILE: join(ROOT, 'package.json'), // any file that can be read
  };
  t.strictSame(await faultsOf('examples/three-machines.yaml', env), []);
});

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment: Readonly<Record<string, string>>;
        readonly volumes: readonly string[];
        readonly command?: readonly string[];
        readonly build?: { readonly context: string; readonly dockerfile: string };
        readonly depends_on?: Readonly<Record<string, object>>;
      }
    >
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

t.test(
  'the containers get files that are there, volumes that are named, and a configuration that is taken',
  async (t) => {
    const folder = join(DEPLOY, 'container');
    const compose = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as ComposeFile;
    t.strictSame(Object.keys(compose.services), ['postgres', 'migrate', 'migrate-target', 'longshore']);
    for (const [name, { environment, volumes, command, build, depends_on = {} }] of Object.entries(compose.services)) {
      for (const volume of volumes) {
        const [from = ''] = volume.split(':');
        t.ok(from.startsWith('.') ? existsSync(join(folder, from)) : from in compose.volumes, `${name}: ${from}`);
      }
      for (const other of Object.keys(depends_on)) t.ok(other in compose.services, `${name} after ${other}`);
      if (!build) continue;
      t.ok(existsSync(join(folder, build.context, build.dockerfile)), build.dockerfile);
      if (command) t.ok(command[0] !== undefined && command[0] in COMMANDS, `${name}: ${command[0]}`);
      // `${NAME:?}` is demanded of the environment.
      const env = Object.entries(environment).map(([key, value]) => {
        const wanted = /^\$\{(\w+):\?\}$/.exec(value)?.[1];
        return [key, wanted === undefined ? value : (SECRETS[wanted as keyof typeof SECRETS] ?? '')];
      });
      t.strictSame(await faultsOf('examples/one-machine.yaml', Object.fromEntries(env)), [], name);
    }
  },
);

t.test('the image starts what the unit starts', async (t) => {
  const image = readFileSync(join(DEPLOY, 'container', 'Dockerfile'), 'utf8');
  const unit = readFileSync(join(DEPLOY, 'systemd', 'longshore.service'), 'utf8');
  const words = (name: string): readonly string[] =>
    JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(image)?.[1] ?? '[]') as readonly string[];
  t.equal([...words('ENTRYPOINT'), ...words('CMD')].join(' '), /^ExecStart=(.*)$/m.exec(unit)?.[1]);
});

t.test('a plugin host takes the examples with the secret of the data role alone', async (t) => {
  for (const [file, env] of [
    ['examples/one-machine.yaml', { DATA_DB_PASSWORD: 'secret-of-the-data' }],
    [
      'examples/three-machines.yaml',
      {
        ALPHA_DATA_DB_PASSWORD: 'secret-of-the-data',
        ALPHA_DB_SERVER: 'alpha.lab.example:5432',
        GENELIST_PLUGIN_SERVER: 'plugins.lab.example:8090',
        CA_FILE: join(ROOT, 'package.json'), // any file that can be read
      },
    ],
    [
      '../samples/full-stack.yaml',
      {
        DATA_DB_PASSWORD: 'secret-of-the-data',
        LDAP_SERVERS: 'directory.lab.example',
        LDAP_BASE_DN: 'dc=lab,dc=example',
        CA_FILE: join(ROOT, 'package.json'),
      },
    ],
  ] as const) {
    const loaded = await loadConfiguration(join(DEPLOY, file), { env, ...OF_PLUGIN_HOST });
    t.strictSame(loaded.ok ? [] : loaded.faults.map(formatFault), [], file);
    for (const target of loaded.ok ? loaded.configuration.installer.installTargets : []) {
      t.equal(target.dataDb.password, 'secret-of-the-data', file);
      t.not(target.dataDb.username, 'longshore', `${file}: a role of its own`);
    }
  }
});
