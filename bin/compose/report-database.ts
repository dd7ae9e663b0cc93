// The database of the report job service: a separate database, or a schema of the cache DB.

import type { Configuration } from '../../config/configuration.ts';
import { migrate } from '../../engine/adapters/migrations/migrations.ts';
import { reportMigrations } from '../../engine/adapters/migrations/report.ts';
import type { Postgres, PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { cacheConnection } from './databases.ts';

const SCHEMA = 'report';

export function reportConnection({ report, installer }: Pick<Configuration, 'report' | 'installer'>): PostgresOptions {
  const db = report?.db;
  const connection = cacheConnection(db ?? installer.cacheDb);
  return { ...connection, schema: db?.schema ?? SCHEMA, applicationName: 'longshore report' };
}

/** Returns the numbers of the migrations that were applied now. */
export const migrateReport = async (
  db: Postgres,
  { schema }: Pick<PostgresOptions, 'schema'>,
  signal: AbortSignal,
): Promise<readonly number[]> => migrate(db, schema, await reportMigrations(), signal);
