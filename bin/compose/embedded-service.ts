// Everything of `longshore up` except the database server, which starts in the meantime. Creates the missing parts of the data
// directory, reads the configuration, and runs the service once the server is up.

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { Configuration } from '../../config/configuration.ts';
import { writeHandlerCommand, writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { SAMPLE_NAMES, SAMPLES } from '../../config/samples/samples.ts';
import type { EmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { provision } from '../../engine/adapters/embedded-postgres/postgres-provision.ts';
import { endBackupPauses } from '../../engine/adapters/jobs/pauses-postgres.ts';
import { cacheMigrations, controlMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import { writeWhole } from '../../engine/runtime/files.ts';
import { type Logger, type LogThreshold, silentLogger } from '../../engine/runtime/log.ts';
import { runtimeArgv } from '../../engine/runtime/program-files.ts';
import type { RecentLog } from '../../engine/runtime/recent-log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import type { CommandIo } from '../cli/command.ts';
import { loadConfigFile } from '../cli/load-config.ts';
import { addMissing } from './access-database.ts';
import { type DataDir, type Endpoints, removeEndpoints } from './data-dir.ts';
import { addressOf, cacheConnection, connectionAt } from './databases.ts';
import { embeddedConfig } from './embedded-config.ts';
import { localSignIn } from './local-sign-in.ts';
import { ResidentSamples } from './resident-samples.ts';
import { runService } from './run-service.ts';
import { consoleUrl } from './web-console.ts';

const DEFAULT_PORT_BASE = 8080;
const SAMPLE_STUDIES = 'config/samples/access-studies.yaml';

export interface EmbeddedService {
  readonly dir: DataDir;
  /** Undefined = as configured. */
  readonly portBase: number | undefined;
  readonly starting: Promise<EmbeddedPostgres>;
  /** The server's port, and its superuser's password. */
  readonly server: { readonly port: number; readonly password: string };
  readonly threshold: LogThreshold;
  readonly log: Logger;
  readonly recent: RecentLog;
  readonly demo: boolean;
  /** Exit when the demo is over. */
  readonly exit: boolean;
}

/**
 * Resolves with how it ended: `stopped` by the signal or the end of the demo, or `broken` by its own failure. The server is
 * stopped then.
 */
export async function embeddedService(
  { dir, portBase, starting, server, threshold, log, recent, demo, exit }: EmbeddedService,
  io: CommandIo,
): Promise<'stopped' | 'broken'> {
  await writeOnce(dir, portBase ?? DEFAULT_PORT_BASE);
  const { configuration: written, source } = await loadConfigFile(dir.config, io, { takesMails: true });
  const configuration = withPorts(written, portBase);
  const postgres = await starting;
  await prepareDatabases(configuration.installer, server, io.signal);
  if (configuration.access) await addMissing(configuration, SAMPLE_STUDIES, io.signal);
  threshold.set(configuration.containerCore.log.level);

  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  let page = '';
  const signIn = await localSignIn(dir, configuration, demo, (code) =>
    io.err(
      `console: open ${page}#/sign-in?code=${code} to sign in as its operator; the link works once, within an hour\n`,
    ),
  );
  const foundation = postgres.ended.then(() => new Promise<never>(() => undefined));
  try {
    return await runService(
      {
        ...{ configuration: bySocket(configuration, postgres), source, threshold, log, recent, foundation },
        clock: systemClock,
        close: () => postgres.stop(),
        env: io.env,
        scratchDir: dir.scratch,
        mailDir: dir.mail,
        first: [residentSamples(dir, log)],
        signIn,
        ready: async (addresses) => {
          const adminToken = configuration.containerCore.authentication?.adminToken ?? '';
          const endpoints: Endpoints = { ...addresses, adminToken, pid: process.pid };
          await writeWhole(dir.endpoints, `${JSON.stringify(endpoints, null, 2)}\n`, 0o600);
          page = consoleUrl(configuration.containerCore, addresses.installer);
          // Before `ready`, which programs wait for.
          signIn?.codes.issue();
          io.err(`ready: installer ${addresses.installer}, endpoints in ${dir.endpoints}\n`);
          if (demo) await (await import('../cli/demo.ts')).runDemo(dir, configuration, addresses.installer, io, signal);
          if (exit) stop.abort(aborted('the demo is over'));
          else io.err('press Ctrl-C to stop\n');
        },
      },
      signal,
    );
  } finally {
    await removeEndpoints(dir);
    io.err('stopped\n');
  }
}

const residentSamples = (dir: DataDir, log: Logger): ChildSpec => ({
  name: 'sampleScripts',
  create: () =>
    new ResidentSamples({
      ...{ name: 'sampleScripts', clock: systemClock, log },
      ...{ dir: dir.sampleCalls, runtimeArgv: runtimeArgv(dir.compiled) },
    }),
});

/** Existing files belong to the operator. Launchers contain this program's path, so they are rewritten each time. */
async function writeOnce(dir: DataDir, portBase: number): Promise<void> {
  // They contain private data: other users may traverse the data directory, but not enter these.
  for (const own of [dir.objects, dir.queryJobs, dir.blastDb, dir.compiled])
    await mkdir(own, { recursive: true, mode: 0o700 });
  const launchers = await writeSampleLaunchers(dir.plugins, runtimeArgv(dir.compiled), dir.sampleCalls);
  await writeHandlerCommand(dir.handlerCommand);
  if (!existsSync(dir.tokenKey) || !existsSync(dir.tokenPublicKey)) {
    const pair = await newKeyPair();
    await writeWhole(dir.tokenPublicKey, pair.publicKeyPem, 0o644);
    await writeWhole(dir.tokenKey, pair.privateKeyPem, 0o600);
  }
  if (existsSync(dir.config)) return;
  const plugins = SAMPLE_NAMES.map((name) => ({ ...SAMPLES[name], name, scripts: launchers[name] }));
  await writeWhole(dir.config, embeddedConfig(dir, portBase, plugins), 0o600);
}

/** `--port-base` overrides the written configuration for this run, including the address of the in-process plugin host. */
function withPorts(configuration: Configuration, portBase: number | undefined): Configuration {
  if (portBase === undefined) return configuration;
  const { containerCore, installer } = configuration;
  const before = containerCore.ports.pluginHost;
  const ports = {
    installer: portBase,
    handler: portBase + 1,
    report: portBase + 2,
    access: portBase + 3,
    pluginHost: portBase + 4,
  };
  const plugins = Object.fromEntries(
    Object.entries(installer.plugins).map(([key, plugin]) => {
      const own = configuration.pluginHost?.inProcess.includes(key) && plugin.server.port === before;
      return [key, own ? { ...plugin, server: { ...plugin.server, port: ports.pluginHost } } : plugin];
    }),
  );
  return { ...configuration, containerCore: { ...containerCore, ports }, installer: { ...installer, plugins } };
}

/** Uses the socket of the embedded server. Databases of plugins keep host and port, because scripts need those. */
export function bySocket(
  configuration: Configuration,
  { port, socketDir }: Pick<EmbeddedPostgres, 'port' | 'socketDir'>,
): Configuration {
  if (socketDir === undefined) return configuration;
  const { installer, report, access } = configuration;
  const reached = <Db extends object>(db: Db): Db =>
    'server' in db && isEmbedded(db.server as Endpoint, port) && !(db as { readonly tls?: boolean }).tls
      ? { ...db, server: { host: socketDir, port } }
      : db;
  return {
    ...configuration,
    installer: {
      ...installer,
      cacheDb: reached(installer.cacheDb),
      installTargets: installer.installTargets.map((one) => ({ ...one, controlDb: reached(one.controlDb) })),
    },
    ...(report?.db ? { report: { ...report, db: reached(report.db) } } : {}),
    ...(access?.db ? { access: { ...access, db: reached(access.db) } } : {}),
  };
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const isEmbedded = ({ host, port }: Endpoint, own: number): boolean => host === '127.0.0.1' && port === own;

// Sets up the embedded PostgreSQL as the configuration requires: roles, databases, schemas, and migrations of our schemas.

/** Changes only databases on the embedded server; an operator's own databases are left alone. */
async function prepareDatabases(
  installer: Configuration['installer'],
  server: { readonly port: number; readonly password: string },
  signal: AbortSignal,
): Promise<void> {
  const ours = (one: Endpoint): boolean => isEmbedded(one, server.port);
  const cache = cacheConnection(installer.cacheDb);
  // Databases that are looked up in a directory are not on the embedded server.
  const named = (key: 'controlDb' | 'dataDb'): readonly PostgresOptions[] =>
    installer.installTargets.flatMap((target) => {
      const at = addressOf(target[key]);
      return at && ours(at) ? [connectionAt(target.targetId, target[key], at)] : [];
    });
  const controls = named('controlDb');
  const data = named('dataDb');
  const superuser = {
    host: '127.0.0.1',
    port: server.port,
    user: 'postgres',
    password: server.password,
    applicationName: 'longshore up',
  };
  await provision(superuser, [...(ours(cache) ? [cache] : []), ...controls, ...data], signal);
  const migrations = await controlMigrations();
  for (const control of controls) {
    await using db = new Postgres({ ...control, poolSize: 1 }, silentLogger());
    await migrate(db, control.schema, migrations, signal);
  }
  if (!ours(cache)) return;
  await using db = new Postgres({ ...cache, poolSize: 1 }, silentLogger());
  await migrate(db, cache.schema, await cacheMigrations(), signal);
  await endBackupPauses(db);
}
