// Connections to the databases that the configuration names.

import { type Configuration, type DatabaseConnection, platformAt } from '../../config/configuration.ts';
import type { Platform } from '../../config/schema/database.ts';
import type { Postgres, PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { DatabaseAddress, Directory } from '../../engine/ports/directory.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { ConfigurationError } from '../cli/command.ts';
import { tls } from './verification.ts';

/** Schema of the cache DB's tables. */
export const CACHE_SCHEMA = 'installer';
/** A connection takes 4 to 12 MB of the server's memory, and a new one takes milliseconds. */
const IDLE_CONNECTION_MS = 60_000;
const EDITS_AT_ONCE = 4;
const JOURNAL_CONNECTIONS = 4;
const COUNTS_CONNECTIONS = 4;
const AUDIT_CONNECTIONS = 2;

type CacheDb = Configuration['installer']['cacheDb'];

export function cacheConnection(db: CacheDb): PostgresOptions {
  return {
    host: db.server.host,
    port: db.server.port,
    user: db.username,
    password: db.password,
    database: db.name,
    schema: CACHE_SCHEMA,
    poolSize: db.poolSize,
    idleTimeoutMs: IDLE_CONNECTION_MS,
    applicationName: 'longshore',
    ...tls(db),
  };
}

/**
 * For edits of datasets by their owners. An edit holds its connection, and the lock of the dataset's row, while it puts an
 * object. With a shared pool, edits could deadlock: those that hold a row would wait for a connection.
 */
export function editsConnection(db: CacheDb): PostgresOptions {
  return { ...cacheConnection(db), poolSize: Math.min(EDITS_AT_ONCE, db.poolSize) };
}

/**
 * For the journal of the directory store's changes. It records an edit's object while the edit holds its row, and lanes that
 * wait for rows may hold all connections of the other pool. No statement of the journal waits for a dataset's row.
 */
export function journalConnection(db: CacheDb): PostgresOptions {
  return { ...cacheConnection(db), poolSize: Math.min(JOURNAL_CONNECTIONS, db.poolSize) };
}

/** For counting an owner's stored objects, which an edit does while it holds a row. No such statement waits for a row. */
export function countsConnection(db: CacheDb): PostgresOptions {
  return { ...cacheConnection(db), poolSize: Math.min(COUNTS_CONNECTIONS, db.poolSize) };
}

/** For the audit trail: a change is answered after it is recorded, so this must not wait for lanes and listings. */
export function auditConnection(db: CacheDb): PostgresOptions {
  return { ...cacheConnection(db), poolSize: Math.min(AUDIT_CONNECTIONS, db.poolSize) };
}

/** Connection to a database of an install target. All platforms have the same options. */
export interface TargetConnection extends PostgresOptions {
  readonly platform: Platform;
}

/** Connection to a database at a configured address, or at one that the directory returned. */
export function connectionAt(target: TargetId, db: DatabaseConnection, at: DatabaseAddress): TargetConnection {
  return {
    ...at,
    platform: platformAt(db),
    user: db.username,
    password: db.password,
    schema: db.schema,
    poolSize: db.poolSize,
    idleTimeoutMs: db.idleTimeoutMs,
    applicationName: `longshore ${target}`,
    ...tls(db),
  };
}

/** Undefined if the directory must be queried. */
export function addressOf(db: DatabaseConnection): DatabaseAddress | undefined {
  return db.kind === 'lookup' ? undefined : { host: db.server.host, port: db.server.port, database: db.name };
}

/** Looks the address up in the directory if necessary. For a single use. */
export async function targetConnection(
  target: TargetId,
  db: DatabaseConnection,
  directory: Directory | undefined,
  signal: AbortSignal,
): Promise<TargetConnection> {
  const at = db.kind === 'lookup' ? await demandDirectory(directory).find(db.lookupCn, signal) : addressOf(db);
  if (!at) throw new Error('a database without lookup must have an address');
  return connectionAt(target, db, at);
}

/** The configuration's rules require a directory if a database is looked up. */
export function demandDirectory(directory: Directory | undefined): Directory {
  if (!directory) throw new ConfigurationError('installer.ldap: missing, but a database is to be looked up there');
  return directory;
}

// Opens the directory that the configuration names; its client is loaded only if there is one.

/** Undefined when none is configured. */
export async function openDirectory(
  section: Configuration['installer']['ldap'],
  log: Logger,
): Promise<Directory | undefined> {
  if (!section) return undefined;
  const { servers, baseDn, bindDn, bindPassword } = section;
  // The schema requires both or none.
  const login = bindDn === undefined ? undefined : { dn: bindDn, password: bindPassword ?? '' };
  const { CachedDirectory, LdapDirectory } = await import('../../engine/adapters/ldap/ldap-directory.ts');
  return new CachedDirectory(new LdapDirectory({ servers, baseDn, login, ...tls(section) }), log);
}

// The database of the report job service: a separate database, or a schema of the cache DB.

const REPORT_SCHEMA = 'report';

export function reportConnection({ report, installer }: Pick<Configuration, 'report' | 'installer'>): PostgresOptions {
  const db = report?.db;
  const connection = cacheConnection(db ?? installer.cacheDb);
  return { ...connection, schema: db?.schema ?? REPORT_SCHEMA, applicationName: 'longshore report' };
}

/** Returns the numbers of the migrations that were applied now. The migrations are loaded on demand: a plugin host has none. */
export async function migrateReport(
  db: Postgres,
  { schema }: Pick<PostgresOptions, 'schema'>,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const { migrate, reportMigrations } = await import('../../engine/adapters/migrations/migrations.ts');
  return migrate(db, schema, await reportMigrations(), signal);
}
