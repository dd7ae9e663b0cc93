// `longshore serve` with the configuration, the directory and the sample plugins of `longshore up`, on a PostgreSQL server of the
// test, whose version is that of the machine's pg_dump. Helpers that read the directory of `up` read this one, too.

import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { embeddedConfig } from '../../bin/compose/embedded-config.ts';
import { writeHandlerCommand, writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { SAMPLE_NAMES, SAMPLES } from '../../config/samples/samples.ts';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { provision } from '../../engine/adapters/embedded-postgres/postgres-provision.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { freePortBase, longshore, ROOT, tempDir } from './longshore.ts';
import { freePort } from './ports.ts';

const DEBIAN = '/usr/lib/postgresql';
const PASSWORD = 'longshore-tests';
const signal = new AbortController().signal;

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** The directory of a server and its pg_dump, which Debian installs beside it; undefined if there is none. */
export function postgresWithDump(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).filter((name) => /^\d+$/.test(name)) : [];
  return versions
    .map((version) => join(DEBIAN, version, 'bin'))
    .find((dir) => ['initdb', 'postgres', 'pg_dump', 'pg_restore'].every((name) => existsSync(join(dir, name))));
}

interface Db {
  readonly name: string;
  readonly username: string;
  readonly password: string;
  readonly schema: string;
}

interface File {
  readonly containerCore: { readonly ports: { readonly installer: number } };
  readonly installer: {
    readonly cacheDb: Db;
    readonly installTargets: readonly { readonly targetId: string; readonly controlDb: Db; readonly dataDb: Db }[];
  };
}

export interface ServedUp {
  readonly dir: string;
  /** The configuration. */
  readonly file: string;
  /** URL of the installer. */
  readonly installer: string;
  /** Of a user. */
  token(user: string): Promise<string>;
  /** Drops and makes the databases, with empty schemas of targets. */
  emptyDatabases(): Promise<void>;
  /** `migrate` of everything. */
  migrate(): Promise<void>;
}

/** @param binDir of the PostgreSQL server's programs */
export async function servedUp(t: Teardown, binDir: string): Promise<ServedUp> {
  const dir = dataDir(join(await tempDir(t), 'data'));
  const serverDir = await tempDir(t);
  const server = await startEmbeddedPostgres(
    { dir: serverDir, port: await freePort(), password: PASSWORD, binDir, unsafeFast: true },
    systemClock,
    silentLogger(),
    signal,
  );
  t.teardown(() => server.stop());
  await mkdir(dir.objects, { recursive: true });
  await writeFile(dir.postgresPort, String(server.port));
  const keys = await newKeyPair();
  await writeFile(dir.tokenKey, keys.privateKeyPem, { mode: 0o600 });
  await writeFile(dir.tokenPublicKey, keys.publicKeyPem);
  const launchers = await writeSampleLaunchers(dir.plugins, [process.execPath, join(ROOT, 'bin', 'longshore.ts')]);
  await writeHandlerCommand(dir.handlerCommand);
  const plugins = SAMPLE_NAMES.map((name) => ({ ...SAMPLES[name], name, scripts: launchers[name] }));
  await writeFile(dir.config, embeddedConfig(dir, await freePortBase(), plugins), { mode: 0o600 });
  const { containerCore, installer } = parse(await readFile(dir.config, 'utf8')) as File;
  const wanted = [
    { ...installer.cacheDb, schema: 'installer' },
    ...installer.installTargets.flatMap(({ controlDb, dataDb }) => [controlDb, dataDb]),
  ];
  const superuser = { host: '127.0.0.1', port: server.port, user: 'postgres', password: PASSWORD };
  const emptyDatabases = async (): Promise<void> => {
    const client = new pg.Client({ ...superuser, database: 'postgres' });
    await client.connect();
    for (const name of new Set(wanted.map((one) => one.name)))
      await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
    await client.end();
    await provision(
      { ...superuser, applicationName: 'test' },
      wanted.map(({ name, username, ...one }) => ({ ...one, database: name, user: username })),
      signal,
    );
  };
  await emptyDatabases();
  const demand = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await longshore(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  return {
    dir: dir.path,
    file: dir.config,
    installer: `http://127.0.0.1:${containerCore.ports.installer}`,
    token: (user) => demand('token', '--data', dir.path, '--user', user),
    emptyDatabases,
    async migrate() {
      await demand('migrate', '--config', dir.config);
      for (const { targetId } of installer.installTargets)
        await demand('migrate-target', targetId, '--config', dir.config);
    },
  };
}

/** Changes the configuration. */
export async function reconfigure(file: string, change: (document: never) => void): Promise<void> {
  const document = parse(await readFile(file, 'utf8')) as never;
  change(document);
  await writeFile(file, stringify(document), { mode: 0o600 });
}
