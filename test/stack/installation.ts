// One installation on the whole stack: every server, the sample configuration for it, and processes that share it.

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { parse, stringify } from 'yaml';
import { loadConfiguration } from '../../config/load.ts';
import { writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { formatFault } from '../../config/validate.ts';
import { newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { type TestDatabase, type TestServer, testDatabase } from '../support/database.ts';
import { ROOT } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { KafkaCluster } from './kafka.ts';
import type { AnnouncingStore, StartStore } from './object-changes.ts';
import { type RabbitMq, startRabbitMqFor } from './rabbitmq.ts';
import type { Radosgw } from './radosgw.ts';
import { onRadosgw } from './radosgw-changes.ts';
import { BASE_DN, type Slapd, startSlapd } from './slapd.ts';

const SAMPLE = join(ROOT, 'config', 'samples', 'full-stack.yaml');
const ENTRY = join(ROOT, 'bin', 'longshore.ts');
const PARTITIONS = 12;
export const KAFKA_ACCOUNT = { mechanism: 'SCRAM-SHA-512', username: 'longshore', password: 'kafka-word' } as const;
export const TARGETS = ['AlphaDB', 'BetaDB'] as const;

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface Installation<Store extends AnnouncingStore = Radosgw> {
  readonly dir: string;
  /** Of every process. */
  readonly file: string;
  readonly cache: TestDatabase;
  /** Where the target's rows are. */
  readonly sites: Readonly<Record<(typeof TARGETS)[number], TestDatabase>>;
  readonly bucket: string;
  readonly kafka: KafkaCluster;
  readonly rabbit: RabbitMq;
  readonly store: Store;
  readonly directory: Slapd;
  /** For a process; the port is that of its installer API. */
  environment(port: number): Readonly<Record<string, string>>;
}

interface SampleFile {
  containerCore: { ports: Record<string, unknown> };
  installer: {
    plugins: Record<string, { installRoot?: string; scripts?: object }>;
    lanes: Record<string, object>;
    daemons?: Readonly<Record<string, object>>;
  };
}

/** On any store. */
export interface ServicesOptions {
  /** Instead of those of the sample. */
  readonly lanes?: Readonly<Record<string, object>>;
  /** Instead of the sample plugin, which `longshore plugin` would serve. */
  readonly plugin?: { readonly port: number };
  /** Of the sample, by daemon. */
  readonly daemons?: Readonly<Record<string, object>>;
  /** Of the databases of the targets, where they are not on that of the cache database. */
  readonly siteServer?: TestServer;
  /** Beside `installer`, such as `access`; with a port that the environment gives. */
  readonly sections?: Readonly<Partial<Record<'report' | 'access', object>>>;
}

export interface InstallationOptions extends ServicesOptions {
  /** The store's files outlive the store. */
  readonly durable?: boolean;
  /** The store's gateway will be killed and started again. */
  readonly killed?: boolean;
  /** That the store can take. */
  readonly gib?: number;
}

/** On radosgw. */
export function installation(t: Teardown, options: InstallationOptions = {}): Promise<Installation> {
  const { durable = false, killed = false, gib, ...others } = options;
  return installationOn(t, onRadosgw({ durable, killed, ...(gib === undefined ? {} : { gib }) }), others);
}

export async function installationOn<Store extends AnnouncingStore>(
  t: Teardown,
  startStore: StartStore<Store>,
  options: ServicesOptions = {},
): Promise<Installation<Store>> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-stack-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const [cache, alpha, beta] = [
    await testDatabase(t),
    await testDatabase(t, options.siteServer),
    await testDatabase(t, options.siteServer),
  ];
  await Promise.all([createSchema(alpha, 'alpha_data'), createSchema(beta, 'beta_data')]);
  const startingRabbit = startRabbitMqFor(t);
  const [rabbit, { store, bucket }, directory] = await Promise.all([
    startingRabbit,
    startStore(t, startingRabbit),
    startSlapd(await mkdtemp(join(tmpdir(), 'longshore-slapd-'))),
  ]);
  t.teardown(() => directory[Symbol.asyncDispose]());
  const kafka = await KafkaCluster.start(t, { secure: { accounts: [KAFKA_ACCOUNT] } });
  for (const [cn, { host, port, database }] of [
    ['alpha-db', alpha],
    ['beta-db', beta],
  ] as const)
    directory.put({
      cn,
      classes: ['PostgresServiceContext'],
      attributes: { pgConnectionParam: [`host=${host}`, `port=${port}`, `dbname=${database}`] },
    });
  const caFile = join(dir, 'authorities.pem');
  const authorities = [rabbit.caFile, store.certificate.caFile, directory.caFile, kafka.secured.caFile];
  await writeFile(caFile, (await Promise.all(authorities.map((file) => readFile(file, 'utf8')))).join(''));
  const pluginPort = options.plugin?.port ?? (await freePort());
  const file = await writeConfiguration(dir, options);
  const keys = await newKeyPair();
  await writeFile(join(dir, 'key.pem'), keys.privateKeyPem, { mode: 0o600 });
  await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
  const unreachable = await freePort();
  const environment = (port: number): Readonly<Record<string, string>> => ({
    LONGSHORE_ADMIN_TOKEN: 'a'.repeat(40),
    LONGSHORE_ISSUER: 'stack',
    LONGSHORE_PUBLIC_KEY_FILE: join(dir, 'key.pub.pem'),
    LONGSHORE_PRIVATE_KEY_FILE: join(dir, 'key.pem'),
    LONGSHORE_PORT: String(port),
    CA_FILE: caFile,
    CACHE_DB_SERVER: `${cache.host}:${cache.port}`,
    CACHE_DB_NAME: cache.database,
    CACHE_DB_USER: cache.user,
    CACHE_DB_PASSWORD: cache.password,
    CACHE_DB_TLS: 'false',
    S3_SERVER: `127.0.0.1:${store.tlsPort}`,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY: store.accessKey,
    S3_SECRET_KEY: store.secretKey,
    RABBITMQ_SERVER: `localhost:${rabbit.tlsPort}`,
    RABBITMQ_USER: 'guest',
    RABBITMQ_PASSWORD: 'guest',
    KAFKA_SERVER: kafka.secured.login.map(({ host, port }) => `${host}:${port}`).join(),
    KAFKA_USER: KAFKA_ACCOUNT.username,
    KAFKA_PASSWORD: KAFKA_ACCOUNT.password,
    KAFKA_SESSION_TIMEOUT: '6s',
    KAFKA_HEARTBEAT_INTERVAL: '1s',
    // The first does not answer.
    LDAP_SERVERS: `localhost:${unreachable}, localhost:${directory.tlsPort}`,
    LDAP_BASE_DN: BASE_DN,
    TARGET_DB_USER: alpha.user,
    TARGET_DB_PASSWORD: alpha.password,
    DATA_DB_USER: alpha.user,
    DATA_DB_PASSWORD: alpha.password,
    TARGET_DB_TLS: 'false',
    GENELIST_PLUGIN_SERVER: `127.0.0.1:${pluginPort}`,
  });
  await makeTopics(kafka, file, environment(1));
  const sites = { AlphaDB: alpha, BetaDB: beta };
  return { dir, file, cache, sites, bucket, kafka, rabbit, store, directory, environment };
}

/** The sample, with the plugin's scripts and folder of this machine. */
async function writeConfiguration(dir: string, { lanes, daemons, sections }: ServicesOptions): Promise<string> {
  const sample = parse(await readFile(SAMPLE, 'utf8')) as SampleFile;
  const launchers = await writeSampleLaunchers(join(dir, 'scripts'), [process.execPath, ENTRY]);
  await mkdir(join(dir, 'installed'));
  Object.assign(sample.installer.plugins.genelist ?? {}, {
    installRoot: encodeURI(join(dir, 'installed')),
    scripts: Object.fromEntries(
      Object.entries(launchers.genelist).map(([key, path]) => [key, { pathOverride: encodeURI(path) }]),
    ),
  });
  if (lanes) sample.installer.lanes = lanes;
  if (daemons) sample.installer.daemons = daemons;
  Object.assign(sample, sections);
  for (const [n, name] of Object.keys(sections ?? {}).entries())
    sample.containerCore.ports[name] = `\${env:LONGSHORE_${name.toUpperCase()}_PORT:-${8082 + n}}`;
  const file = join(dir, 'longshore.yaml');
  await writeFile(file, stringify(sample), { mode: 0o600 });
  return file;
}

/** What the lanes of the configuration read. */
async function makeTopics(kafka: KafkaCluster, file: string, env: Readonly<Record<string, string>>): Promise<void> {
  const loaded = await loadConfiguration(file, { env });
  if (!loaded.ok) throw new Error(loaded.faults.map(formatFault).join('\n'));
  for (const lane of Object.values(loaded.configuration.installer.lanes))
    if ('eventChannel' in lane) await kafka.createTopic(lane.eventChannel, PARTITIONS);
}

async function createSchema(db: TestDatabase, name: string): Promise<void> {
  const client = new pg.Client(db);
  await client.connect();
  await client.query(`create schema ${pg.escapeIdentifier(name)}`);
  await client.end();
}
