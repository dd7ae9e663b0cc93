// The databases that a configuration names, grouped so that doctor connects to each once per role.

import type { Configuration, DatabaseConnection } from '../../../config/configuration.ts';
import {
  accessMigrations,
  cacheMigrations,
  controlMigrations,
  reportMigrations,
} from '../../../engine/adapters/migrations/migrations.ts';
import type { PostgresOptions } from '../../../engine/adapters/postgres/postgres.ts';
import type { Directory } from '../../../engine/ports/directory.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { accessConnection } from '../../compose/access-database.ts';
import { cacheConnection, reportConnection, targetConnection } from '../../compose/databases.ts';
import { type Check, hostPort } from './check.ts';
import { type DatabaseUse, databaseCheck } from './database-check.ts';

interface DatabaseChecksParts {
  readonly directory: Directory | undefined;
  readonly explainEntry: (error: unknown) => string;
  /** Path of the configuration, for suggested commands. */
  readonly file: string;
  readonly clock: Clock;
}

interface Wanted {
  readonly use: DatabaseUse;
  readonly where: string;
  readonly locate: (signal: AbortSignal) => Promise<PostgresOptions>;
  readonly lookupCn?: string;
  /** Equal for uses that can share a connection. */
  readonly same: string;
}

export async function databaseChecks(
  configuration: Pick<Configuration, 'installer' | 'report' | 'access'>,
  parts: DatabaseChecksParts,
): Promise<readonly Check[]> {
  const { installer, report, access } = configuration;
  const migrate = `longshore migrate --config ${parts.file} (serve also does this at startup)`;
  const wanted: Wanted[] = [
    ours(cacheConnection(installer.cacheDb), {
      name: 'cache database',
      key: 'installer.cacheDb',
      ours: { migrations: await cacheMigrations(), command: migrate },
    }),
  ];
  if (report)
    wanted.push(
      ours(reportConnection({ report, installer }), {
        name: 'report database',
        key: report.db ? 'report.db' : 'installer.cacheDb',
        ours: { migrations: await reportMigrations(), command: migrate },
      }),
    );
  if (access)
    wanted.push(
      ours(accessConnection({ access, installer }), {
        name: 'access database',
        key: access.db ? 'access.db' : 'installer.cacheDb',
        ours: { migrations: await accessMigrations(), command: migrate },
      }),
    );
  const migrations = await controlMigrations();
  for (const [index, { targetId, controlDb, dataDb }] of installer.installTargets.entries()) {
    const command = `longshore migrate-target ${targetId} --config ${parts.file}`;
    const key = `installer.installTargets[${index}]`;
    wanted.push(
      target(targetId, controlDb, parts, {
        name: `target ${targetId} control`,
        key: `${key}.controlDb`,
        ours: { migrations, command },
      }),
      target(targetId, dataDb, parts, { name: `target ${targetId} data`, key: `${key}.dataDb` }),
    );
  }
  return [...Map.groupBy(wanted, ({ same }) => same).values()].flatMap(([first, ...others]) => {
    if (!first) return [];
    const uses = [first.use, ...others.map(({ use }) => use)] as const;
    const { where, locate, lookupCn } = first;
    return [databaseCheck({ uses, where, locate, lookupCn, explainLocate: parts.explainEntry }, parts.clock)];
  });
}

function ours(options: PostgresOptions, use: Omit<DatabaseUse, 'schema'>): Wanted {
  const { host, port, database, user, password, schema, tls } = options;
  return {
    use: { ...use, schema },
    where: `${hostPort(options)}/${database}`,
    locate: async () => options,
    same: JSON.stringify([host, port, database, user, password, tls]),
  };
}

function target(
  id: Configuration['installer']['installTargets'][number]['targetId'],
  db: DatabaseConnection,
  { directory }: DatabaseChecksParts,
  use: Omit<DatabaseUse, 'schema'>,
): Wanted {
  const { username, password, tls, tlsOptions, schema } = db;
  const place = db.kind === 'lookup' ? [db.lookupCn] : [db.server.host, db.server.port, db.name];
  return {
    use: { ...use, schema },
    where: db.kind === 'lookup' ? `cn=${db.lookupCn}` : `${hostPort(db.server)}/${db.name}`,
    ...(db.kind === 'lookup' ? { lookupCn: db.lookupCn } : {}),
    locate: (signal) => targetConnection(id, db, directory, signal),
    same: JSON.stringify([...place, username, password, tls && tlsOptions]),
  };
}
