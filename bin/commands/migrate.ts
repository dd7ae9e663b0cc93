// `longshore migrate` and `migrate-target`: run schema migrations as separate commands. `serve` never migrates a target's
// database, because a site may share it.

import {
  accessMigrations,
  cacheMigrations,
  controlMigrations,
  type Migration,
  mariaDbControlMigrations,
  migrateWithProgress,
  reportMigrations,
} from '../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import { type ShowValues, showProgress } from '../cli/client/transfer.ts';
import { type Command, type CommandIo, EXIT, UsageError } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { jsonLine } from '../cli/terminal/text.ts';
import { MIGRATE, MIGRATE_TARGET } from '../cli/tree/machine.ts';
import { accessConnection } from '../compose/access-database.ts';
import { cacheConnection, openDirectory, reportConnection, targetConnection } from '../compose/databases.ts';

export const migrateCommand: Command = implement(MIGRATE, async ({ values }, io) => {
  const { installer, report, access } = await loadConfig(values.config, io);
  await apply('cache database', cacheConnection(installer.cacheDb), await cacheMigrations(), values, io);
  if (report)
    await apply('report database', reportConnection({ report, installer }), await reportMigrations(), values, io);
  if (access)
    await apply('access database', accessConnection({ access, installer }), await accessMigrations(), values, io);
  return EXIT.ok;
});

export const migrateTargetCommand: Command = implement(MIGRATE_TARGET, async ({ values, args: { target: id } }, io) => {
  const { installer } = await loadConfig(values.config, io);
  const target = installer.installTargets.find((one) => one.targetId === id);
  if (!target) {
    const known = installer.installTargets.map((one) => one.targetId).join(', ');
    throw new UsageError(`'${id}' is not an enabled install target; expected one of: ${known}`);
  }
  const directory = await openDirectory(installer.ldap, silentLogger());
  const connection = await targetConnection(target.targetId, target.controlDb, directory, io.signal);
  if (connection.platform === 'MariaDB') {
    const { migrateMariaDb } = await import('../../engine/adapters/mariadb/mariadb-migrations.ts');
    const migrations = await mariaDbControlMigrations();
    const run: Run = (tell) => migrateMariaDb(connection, migrations, tell, io.signal);
    await show(`target ${id}`, migrations.length, run, values, io);
  } else await apply(`target ${id}`, connection, await controlMigrations(), values, io);
  return EXIT.ok;
});

async function apply(
  what: string,
  connection: PostgresOptions,
  migrations: readonly Migration[],
  values: ShowValues,
  io: CommandIo,
): Promise<void> {
  await using db = new Postgres({ ...connection, poolSize: 1 }, silentLogger());
  const run: Run = (tell) => migrateWithProgress(db, connection.schema, migrations, tell, io.signal);
  await show(what, migrations.length, run, values, io);
}

/** Applies the migrations, tells how many are applied, and returns the numbers of the new ones. */
type Run = (tell: (applied: number) => void) => Promise<readonly number[]>;

async function show(what: string, total: number, run: Run, values: ShowValues, io: CommandIo): Promise<void> {
  using progress = showProgress({ label: what, unit: 'migrations', total }, values, io, systemClock);
  const applied = await run((done) => progress.at(done));
  progress.finish();
  if (values.json) return io.out(jsonLine({ database: what, applied }));
  io.out(applied.length === 0 ? `${what}: up to date\n` : `${what}: applied ${applied.join(', ')}\n`);
}
