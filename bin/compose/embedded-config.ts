// The configuration that `longshore up` writes once: the embedded drivers, two install targets, the sample plugins, random
// secrets. Afterwards it belongs to the operator and is never overwritten.

import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { stringify } from 'yaml';
import type { DataDir } from './data-dir.ts';

export interface SamplePlugin {
  readonly name: string;
  readonly category: string;
  readonly allowedFileExtensions: readonly string[];
  readonly usesDataProperties: boolean;
  /** Script files by configuration key. */
  readonly scripts: Readonly<Record<string, string>>;
}

/** Databases and roles that are created in the embedded PostgreSQL. */
const EMBEDDED = {
  cacheDatabase: 'installer',
  siteDatabase: 'sites',
  /** Owns the cache DB and the control schemas. */
  serviceRole: 'longshore',
  /** Used by plugin scripts; has access to the data schemas only. */
  pluginRole: 'longshore_plugins',
  targets: [
    { id: 'AlphaDB', controlSchema: 'alphadb_control', dataSchema: 'alphadb_data' },
    { id: 'BetaDB', controlSchema: 'betadb_control', dataSchema: 'betadb_data' },
  ],
} as const;

/** Scripts, database and service share one machine: with more scripts than this, each one only gets slower. */
const scriptsAtOnce = (): number => Math.min(10, 2 * availableParallelism());

/** Shorter than the default, which is for servers across a network: the memory of this machine is wanted back. */
const IDLE_CONNECTION = '1m';

const secret = (): string => randomBytes(24).toString('base64url');

/** The file's text. It contains passwords, so the caller writes it with mode 0600. */
export function embeddedConfig(dir: DataDir, portBase: number, plugins: readonly SamplePlugin[]): string {
  const servicePassword = secret();
  const pluginPassword = secret();
  const server = { host: '127.0.0.1', port: `\${file:${dir.postgresPort}}` };
  const target = (entry: (typeof EMBEDDED.targets)[number]): object => ({
    targetId: entry.id,
    controlDb: {
      server,
      name: EMBEDDED.siteDatabase,
      platform: 'Postgres',
      username: EMBEDDED.serviceRole,
      password: servicePassword,
      schema: entry.controlSchema,
    },
    dataDb: {
      server,
      name: EMBEDDED.siteDatabase,
      platform: 'Postgres',
      username: EMBEDDED.pluginRole,
      password: pluginPassword,
      schema: entry.dataSchema,
    },
  });
  const configuration = {
    containerCore: {
      authentication: {
        adminToken: randomBytes(32).toString('hex'),
        oauth: { issuer: 'longshore-local', publicKeyFile: dir.tokenPublicKey },
        operators: { operator: ['operator'] },
      },
      http: { bindHost: '127.0.0.1' },
      ports: {
        installer: portBase,
        handler: portBase + 1,
        report: portBase + 2,
        access: portBase + 3,
        pluginHost: portBase + 4,
      },
    },
    installer: {
      cacheDb: { server, name: EMBEDDED.cacheDatabase, username: EMBEDDED.serviceRole, password: servicePassword },
      objectStore: { driver: 'directory', path: dir.objects },
      logBroker: { driver: 'postgres' },
      queueBroker: { driver: 'postgres' },
      siteBuild: 'sites',
      plugins: Object.fromEntries(
        plugins.map((plugin) => [
          plugin.name,
          {
            server: { host: '127.0.0.1', port: portBase + 4 },
            // Paths are written as URI references, because a directory's name may contain a space.
            installRoot: encodeURI(dir.path),
            dataTypes: [
              {
                name: plugin.name,
                version: '1.0',
                category: plugin.category,
                ...(plugin.allowedFileExtensions.length > 0
                  ? { allowedFileExtensions: plugin.allowedFileExtensions }
                  : {}),
                usesDataProperties: plugin.usesDataProperties,
              },
            ],
            scripts: Object.fromEntries(
              Object.entries(plugin.scripts).map(([key, path]) => [key, { pathOverride: encodeURI(path) }]),
            ),
          },
        ]),
      ),
      installTargets: EMBEDDED.targets.map(target),
      sharedTargetDbPooling: { idleTimeout: IDLE_CONNECTION },
    },
    pluginHost: {
      token: secret(),
      inProcess: plugins.map((plugin) => plugin.name),
      limits: { scripts: scriptsAtOnce() },
    },
    handler: {
      serviceName: 'sample-handler',
      port: portBase + 1,
      configPath: dir.config,
      commands: [{ command: dir.handlerCommand, arguments: ['<<input-files>>'] }],
    },
    report: { queryJobs: { root: dir.queryJobs }, blastDb: dir.blastDb },
    access: { siteUrl: `http://127.0.0.1:${portBase}`, supportEmail: 'support@longshore.example' },
  };
  const head =
    "# Written once by 'longshore up' and yours from then on: it is never overwritten.\n" +
    '# `longshore config check FILE` checks it, `longshore config schema` documents every key.\n';
  return head + stringify(configuration, { lineWidth: 0, aliasDuplicateObjects: false });
}
