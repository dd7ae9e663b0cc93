// Connections to the databases that the configuration names.

import type { Configuration, DatabaseConnection } from '../../config/configuration.ts';
import { migrate, reportMigrations } from '../../engine/adapters/migrations/migrations.ts';
import { LocatedPostgres, type TargetDatabase } from '../../engine/adapters/postgres/located-postgres.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { DatabaseAddress, Directory } from '../../engine/ports/directory.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { ConfigurationError } from '../cli/command.ts';
import { tls } from './verification.ts';

/** Schema of the cache DB's tables. */
export const CACHE_SCHEMA = 'installer';
const CACHE_IDLE_MS = 10 * 60_000;
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
    idleTimeoutMs: CACHE_IDLE_MS,
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

/** Connection to a database at a configured address, or at one that the directory returned. */
export function connectionAt(target: TargetId, db: DatabaseConnection, at: DatabaseAddress): PostgresOptions {
  return {
    ...at,
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
): Promise<PostgresOptions> {
  const at = db.kind === 'lookup' ? await demandDirectory(directory).find(db.lookupCn, signal) : addressOf(db);
  if (!at) throw new Error('a database without lookup must have an address');
  return connectionAt(target, db, at);
}

/** The configuration's rules require a directory if a database is looked up. */
function demandDirectory(directory: Directory | undefined): Directory {
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
  const { servers, baseDn } = section;
  const { CachedDirectory, LdapDirectory } = await import('../../engine/adapters/ldap/ldap-directory.ts');
  return new CachedDirectory(new LdapDirectory({ servers, baseDn, ...tls(section) }), log);
}

// The database of the report job service: a separate database, or a schema of the cache DB.

const REPORT_SCHEMA = 'report';

export function reportConnection({ report, installer }: Pick<Configuration, 'report' | 'installer'>): PostgresOptions {
  const db = report?.db;
  const connection = cacheConnection(db ?? installer.cacheDb);
  return { ...connection, schema: db?.schema ?? REPORT_SCHEMA, applicationName: 'longshore report' };
}

/** Returns the numbers of the migrations that were applied now. */
export const migrateReport = async (
  db: Postgres,
  { schema }: Pick<PostgresOptions, 'schema'>,
  signal: AbortSignal,
): Promise<readonly number[]> => migrate(db, schema, await reportMigrations(), signal);

// The control databases of the install targets: one pool per target, or one shared by all targets with the same server,
// database and user (`installer.sharedTargetDbPooling`). Statements name the target's schema.

type Targets = Configuration['installer']['installTargets'];
type SharedPooling = Configuration['installer']['sharedTargetDbPooling'];

interface TargetDatabaseParts {
  readonly directory: Directory | undefined;
  readonly shared: SharedPooling;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openTargetDatabases(
  targets: Targets,
  parts: TargetDatabaseParts,
  scope: Scope,
): ReadonlyMap<TargetId, TargetDatabase> {
  const groups = Map.groupBy(targets, ({ controlDb }) => sameDatabase(controlDb));
  const opened = [...groups.values()].flatMap((group) => {
    const database = openDatabase(group, parts);
    scope.use(`databases of ${group.map(({ targetId }) => targetId).join(', ')}`, database);
    return group.map(({ targetId }) => [targetId, database] as const);
  });
  return new Map(opened);
}

/** Equal for connections that one pool can serve. */
function sameDatabase(db: DatabaseConnection): string {
  const where = db.kind === 'lookup' ? [db.lookupCn] : [db.server.host, db.server.port, db.name];
  return JSON.stringify([db.kind, ...where, db.username, db.password, db.tls, db.tlsOptions]);
}

function openDatabase(group: Targets, { directory, shared, clock, log }: TargetDatabaseParts): TargetDatabase {
  const [first] = group;
  if (!first) throw new Error('a group must have a target');
  const db = first.controlDb;
  const open = (at: DatabaseAddress): TargetDatabase => {
    const own = connectionAt(first.targetId, db, at);
    if (group.length === 1) return new Postgres(own, log);
    const { poolSize, idleTimeoutMs } = shared;
    return new Postgres({ ...own, poolSize, idleTimeoutMs, applicationName: 'longshore targets' }, log);
  };
  const at = addressOf(db);
  if (at) return open(at);
  if (db.kind !== 'lookup') throw new Error('a database must have a lookup or an address');
  return new LocatedPostgres({ directory: demandDirectory(directory), commonName: db.lookupCn, open, clock, log });
}
