// Facts about the databases that a configuration names: version, size, tables, migrations, sessions. Reads only catalogs.

import type { Configuration } from '../../../config/configuration.ts';
import { withMariaDb } from '../../../engine/adapters/mariadb/mariadb.ts';
import { mariaDbMigrationState } from '../../../engine/adapters/mariadb/mariadb-migrations.ts';
import {
  accessMigrations,
  cacheMigrations,
  controlMigrations,
  type Migration,
  mariaDbControlMigrations,
  migrationState,
  reportMigrations,
} from '../../../engine/adapters/migrations/migrations.ts';
import type { PostgresOptions, Sql } from '../../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../../engine/adapters/postgres/single-connection.ts';
import { Failure, messageOf } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { accessConnection } from '../../compose/access-database.ts';
import {
  cacheConnection,
  openDirectory,
  reportConnection,
  type TargetConnection,
  targetConnection,
} from '../../compose/databases.ts';

type Located = PostgresOptions & Partial<Pick<TargetConnection, 'platform'>>;

interface Wanted {
  readonly name: string;
  readonly locate: (signal: AbortSignal) => Promise<Located>;
  readonly migrations: readonly Migration[] | undefined;
}

/** The largest tables of a schema. */
const MOST_TABLES = 100;

const SERVER = `select version(), pg_database_size(current_database()) as "databaseBytes", pg_is_in_recovery() as "inRecovery",
  current_setting('max_connections') as "maxConnections", pg_postmaster_start_time() as started,
  (select count(*)::integer from pg_stat_activity) as sessions`;

const TABLES = `select relname as table, c.reltuples::bigint as "estimatedRows", pg_total_relation_size(c.oid) as bytes,
  s.n_dead_tup as "deadRows", s.last_autovacuum as "lastAutovacuum"
from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_all_tables s on s.relid = c.oid
where n.nspname = $1 and c.relkind in ('r', 'p') order by bytes desc, relname limit $2`;

/** Reads one database after the other. Those that do not respond are named. */
export async function databaseFacts(
  configuration: Configuration,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const facts: Record<string, unknown> = {};
  for (const { name, locate, migrations } of await wantedOf(configuration)) {
    try {
      const options = await locate(signal);
      facts[name] =
        options.platform === 'MariaDB'
          ? await withMariaDb(options, (sql) => readMariaDb(sql, options.schema, migrations !== undefined), signal)
          : await withConnection(options, (sql) => read(sql, options.schema, migrations), signal);
    } catch (error) {
      signal.throwIfAborted();
      // Only messages of our own failures: others may contain what the server was sent.
      facts[name] = { failure: error instanceof Failure ? messageOf(error) : 'it could not be read' };
    }
  }
  return facts;
}

async function read(sql: Sql, schema: string, migrations: readonly Migration[] | undefined): Promise<object> {
  const [server] = await sql.query(SERVER);
  const tables = await sql.query(TABLES, [schema, MOST_TABLES]);
  return {
    ...server,
    schema,
    tables,
    ...(migrations && { migrations: await migrationState(sql, schema, migrations) }),
  };
}

async function readMariaDb(sql: Sql, schema: string, isOurs: boolean): Promise<object> {
  const [server] = await sql.query(`select version() as version, @@max_connections as maxConnections,
    @@read_only as readOnly, @@binlog_format as binlogFormat, @@max_allowed_packet as maxAllowedPacket,
    (select count(*) from information_schema.processlist) as ownSessions`);
  const tables = await sql.query(
    `select table_name as \`table\`, table_rows as estimatedRows, data_length + index_length as bytes
     from information_schema.tables where table_schema = ? and table_type = 'BASE TABLE' order by bytes desc limit ?`,
    [schema, MOST_TABLES],
  );
  const migrations = isOurs && (await mariaDbMigrationState(sql, schema, await mariaDbControlMigrations()));
  return { ...server, schema, tables, ...(migrations && { migrations }) };
}

async function wantedOf({ installer, report, access }: Configuration): Promise<readonly Wanted[]> {
  const directory = await openDirectory(installer.ldap, silentLogger());
  const control = await controlMigrations();
  const own = async (name: string, options: PostgresOptions, migrations: Promise<readonly Migration[]>) => ({
    name,
    locate: async () => options,
    migrations: await migrations,
  });
  return [
    await own('cache', cacheConnection(installer.cacheDb), cacheMigrations()),
    ...(report ? [await own('report', reportConnection({ report, installer }), reportMigrations())] : []),
    ...(access ? [await own('access', accessConnection({ access, installer }), accessMigrations())] : []),
    ...installer.installTargets.flatMap(({ targetId, controlDb, dataDb }): readonly Wanted[] => [
      {
        name: `${targetId} control`,
        locate: (signal) => targetConnection(targetId, controlDb, directory, signal),
        migrations: control,
      },
      {
        name: `${targetId} data`,
        locate: (signal) => targetConnection(targetId, dataDb, directory, signal),
        migrations: undefined,
      },
    ]),
  ];
}
