// The database of the dataset access service: a separate database, or a schema of the cache DB.

import type { Configuration } from '../../config/configuration.ts';
import { PostgresAccessCatalogue } from '../../engine/adapters/access/catalogue.ts';
import { accessMigrations } from '../../engine/adapters/migrations/access.ts';
import { migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { type Logger, silentLogger } from '../../engine/runtime/log.ts';
import { programFile } from '../../engine/runtime/program-files.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { readCatalogue, readCatalogueFile } from './access-catalogue-file.ts';
import { cacheConnection } from './databases.ts';

const SCHEMA = 'access';

type Parts = Pick<Configuration, 'access' | 'installer'>;

export function accessConnection({ access, installer }: Parts): PostgresOptions {
  const db = access?.db;
  const connection = cacheConnection(db ?? installer.cacheDb);
  return { ...connection, schema: db?.schema ?? SCHEMA, applicationName: 'longshore access' };
}

/**
 * Opens and migrates the database for the service itself, and for the installer, which queries its grants. Undefined without
 * dataset access service. The caller has already waited for the database (wait-for-dependencies.ts).
 */
export async function openAccess(
  configuration: Parts,
  log: Logger,
  scope: Scope,
  signal: AbortSignal,
): Promise<Postgres | undefined> {
  if (!configuration.access) return undefined;
  const connection = accessConnection(configuration);
  const db = scope.use('access database', new Postgres(connection, log));
  await migrateAccess(db, connection, signal);
  return db;
}

/** Returns the numbers of the migrations that were applied now. */
export const migrateAccess = async (
  db: Postgres,
  { schema }: Pick<PostgresOptions, 'schema'>,
  signal: AbortSignal,
): Promise<readonly number[]> => migrate(db, schema, await accessMigrations(), signal);

/** Adds or replaces the datasets of a file. Returns how many the file contains, and how many of them differed. */
export async function importCatalogue(
  parts: Parts,
  file: string,
  signal: AbortSignal,
): Promise<{ readonly read: number; readonly changed: number }> {
  const datasets = await readCatalogueFile(file);
  const connection = accessConnection(parts);
  await using db = new Postgres({ ...connection, poolSize: 1 }, silentLogger());
  await migrateAccess(db, connection, signal);
  return { read: datasets.length, changed: await new PostgresAccessCatalogue(db).put(datasets, signal) };
}

/** Adds the missing datasets of the program's own file. Existing ones keep their operator's changes. */
export async function addMissing(parts: Parts, file: string, signal: AbortSignal): Promise<void> {
  const connection = accessConnection(parts);
  await using db = new Postgres({ ...connection, poolSize: 1 }, silentLogger());
  await migrateAccess(db, connection, signal);
  const catalogue = new PostgresAccessCatalogue(db);
  const missing = [];
  for (const one of readCatalogue(file, await programFile(file)))
    if (!(await catalogue.find(one.datasetId, signal))) missing.push(one);
  await catalogue.put(missing, signal);
}
