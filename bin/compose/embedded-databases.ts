// Sets up the embedded PostgreSQL as the configuration requires: roles, databases, schemas, and migrations of our schemas.

import type { Configuration } from '../../config/configuration.ts';
import { provision } from '../../engine/adapters/embedded-postgres/postgres-provision.ts';
import { cacheMigrations } from '../../engine/adapters/migrations/cache.ts';
import { controlMigrations } from '../../engine/adapters/migrations/control.ts';
import { migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { addressOf, cacheConnection, connectionAt } from './databases.ts';

/** Changes only databases on the embedded server; an operator's own databases are left alone. */
export async function prepareDatabases(
  installer: Configuration['installer'],
  server: { readonly port: number; readonly password: string },
  signal: AbortSignal,
): Promise<void> {
  const ours = (one: { readonly host: string; readonly port: number }): boolean =>
    one.host === '127.0.0.1' && one.port === server.port;
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
}
