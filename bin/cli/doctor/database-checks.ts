// The databases that a configuration names, grouped so that doctor connects to each once per role.

import type { Configuration } from '../../../config/configuration.ts';
import {
  accessMigrations,
  cacheMigrations,
  controlMigrations,
  type Migration,
  mariaDbControlMigrations,
  reportMigrations,
} from '../../../engine/adapters/migrations/migrations.ts';
import type { Directory } from '../../../engine/ports/directory.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type NamedDatabase, namedDatabases } from '../../compose/named-databases.ts';
import type { Check } from './check.ts';
import { type DatabaseUse, databaseCheck } from './database-check.ts';
import { mariaDbCheck } from './mariadb-check.ts';

interface DatabaseChecksParts {
  readonly directory: Directory | undefined;
  readonly explainEntry: (error: unknown) => string;
  /** Path of the configuration, for suggested commands. */
  readonly file: string;
  readonly clock: Clock;
}

export async function databaseChecks(
  configuration: Pick<Configuration, 'installer' | 'report' | 'access'>,
  { directory, explainEntry, file, clock }: DatabaseChecksParts,
): Promise<readonly Check[]> {
  const migrations: Readonly<Record<Exclude<NamedDatabase['kind'], 'data'>, readonly Migration[]>> = {
    cache: await cacheMigrations(),
    report: await reportMigrations(),
    access: await accessMigrations(),
    control: await controlMigrations(),
  };
  const onMariaDb = await mariaDbControlMigrations();
  const use = ({ name, key, schema, kind, target, platform }: NamedDatabase): DatabaseUse => {
    if (kind === 'data') return { name, key, schema };
    const command = target
      ? `longshore migrate-target ${target} --config ${file}`
      : `longshore migrate --config ${file} (serve also does this at startup)`;
    return { name, key, schema, ours: { migrations: platform === 'MariaDB' ? onMariaDb : migrations[kind], command } };
  };
  const named = namedDatabases(configuration, directory);
  return [...Map.groupBy(named, ({ same }) => same).values()].flatMap(([first, ...others]) => {
    if (!first) return [];
    const uses = [use(first), ...others.map(use)] as const;
    const { where, locate, lookupCn, platform } = first;
    const check = platform === 'MariaDB' ? mariaDbCheck : databaseCheck;
    return [check({ uses, where, locate, lookupCn, explainLocate: explainEntry }, clock)];
  });
}
