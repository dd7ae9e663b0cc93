// Connections to the databases that the configuration names.

import { readFileSync } from 'node:fs';
import type { Configuration, DatabaseConnection } from '../config/configuration.ts';
import type { PostgresOptions } from '../engine/adapters/postgres.ts';
import type { TargetId } from '../engine/model/ids.ts';
import { ConfigurationError } from './configuration-error.ts';

/** Schema of the cache DB's tables. */
export const CACHE_SCHEMA = 'installer';
const CACHE_IDLE_MS = 10 * 60_000;
const EDITS_AT_ONCE = 4;

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
 * For edits of datasets by their owners. An edit holds its connection while it puts an object, and the journal of the
 * store's changes needs one of the others then: out of one pool, as many edits at once as it has connections would all
 * wait for one more.
 */
export function editsConnection(db: CacheDb): PostgresOptions {
  return { ...cacheConnection(db), poolSize: Math.min(EDITS_AT_ONCE, db.poolSize) };
}

/** Named targets only: a directory lookup is refused, naming the key. */
export function targetConnection(
  target: TargetId,
  key: 'controlDb' | 'dataDb',
  db: DatabaseConnection,
): PostgresOptions {
  if (db.kind === 'lookup')
    throw new ConfigurationError(
      `installer.installTargets (${target}) ${key}.lookupCn: this version has no directory lookup; give server, name and platform`,
    );
  return {
    host: db.server.host,
    port: db.server.port,
    user: db.username,
    password: db.password,
    database: db.name,
    schema: db.schema,
    poolSize: db.poolSize,
    idleTimeoutMs: db.idleTimeoutMs,
    applicationName: `longshore ${target}`,
    ...tls(db),
  };
}

function tls(db: CacheDb | DatabaseConnection): Pick<PostgresOptions, 'tls'> {
  if (!db.tls) return {};
  const { caFile, verify } = db.tlsOptions;
  return { tls: { rejectUnauthorized: verify, ...(caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }) } };
}
