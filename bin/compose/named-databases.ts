// Every database that a configuration names, with the role that uses it: one entry per use. Several uses may be of one database.

import { type Configuration, type DatabaseConnection, platformAt } from '../../config/configuration.ts';
import type { Platform } from '../../config/schema/database.ts';
import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { Directory } from '../../engine/ports/directory.ts';
import { hostPort } from '../cli/doctor/check.ts';
import { accessConnection } from './access-database.ts';
import { cacheConnection, reportConnection, targetConnection } from './databases.ts';

export interface NamedDatabase {
  /** For people, for example `target AlphaDB control`. */
  readonly name: string;
  /** Path of its section in the configuration. */
  readonly key: string;
  readonly kind: 'cache' | 'report' | 'access' | 'control' | 'data';
  readonly platform: Platform;
  /** Of a control or data database. */
  readonly target?: TargetId;
  readonly schema: string;
  /** `host:port/name`, or the name under which it is looked up. */
  readonly where: string;
  /** Common name of the directory entry, if its address is looked up there. */
  readonly lookupCn?: string;
  /** May query the directory. */
  readonly locate: (signal: AbortSignal) => Promise<PostgresOptions>;
  /** Equal for uses that can share a connection. */
  readonly same: string;
}

/** The cache database comes first. */
export function namedDatabases(
  { installer, report, access }: Pick<Configuration, 'installer' | 'report' | 'access'>,
  directory: Directory | undefined,
): readonly NamedDatabase[] {
  const ours = (kind: 'cache' | 'report' | 'access', key: string, options: PostgresOptions): NamedDatabase => {
    const { host, port, database, user, password, schema, tls } = options;
    return {
      ...{
        kind,
        key,
        schema,
        platform: 'Postgres',
        name: `${kind} database`,
        where: `${hostPort(options)}/${database}`,
      },
      locate: async () => options,
      same: JSON.stringify(['Postgres', host, port, database, user, password, tls]),
    };
  };
  const ofTarget = (target: TargetId, kind: 'control' | 'data', key: string, db: DatabaseConnection): NamedDatabase => {
    const { username, password, tls, tlsOptions, schema } = db;
    const place = db.kind === 'lookup' ? [db.lookupCn] : [db.server.host, db.server.port, db.name];
    return {
      ...{ kind, key, target, schema, platform: platformAt(db), name: `target ${target} ${kind}` },
      where: db.kind === 'lookup' ? `cn=${db.lookupCn}` : `${hostPort(db.server)}/${db.name}`,
      ...(db.kind === 'lookup' ? { lookupCn: db.lookupCn } : {}),
      locate: (signal) => targetConnection(target, db, directory, signal),
      same: JSON.stringify([platformAt(db), ...place, username, password, tls && tlsOptions]),
    };
  };
  return [
    ours('cache', 'installer.cacheDb', cacheConnection(installer.cacheDb)),
    ...(report
      ? [ours('report', report.db ? 'report.db' : 'installer.cacheDb', reportConnection({ report, installer }))]
      : []),
    ...(access
      ? [ours('access', access.db ? 'access.db' : 'installer.cacheDb', accessConnection({ access, installer }))]
      : []),
    ...installer.installTargets.flatMap(({ targetId, controlDb, dataDb }, index) => [
      ofTarget(targetId, 'control', `installer.installTargets[${index}].controlDb`, controlDb),
      ofTarget(targetId, 'data', `installer.installTargets[${index}].dataDb`, dataDb),
    ]),
  ];
}
