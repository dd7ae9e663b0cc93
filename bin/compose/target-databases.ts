// The install targets, each on its control database: one pool per target, or one shared by all targets with the same server,
// database and user (`installer.sharedTargetDbPooling`). Statements name the target's schema.

import { type Configuration, type DatabaseConnection, dataSchemaOf, platformAt } from '../../config/configuration.ts';
import { LocatedPostgres, type TargetDatabase } from '../../engine/adapters/postgres/located-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import {
  type InstallTargetOptions,
  PostgresInstallTarget,
} from '../../engine/adapters/sites/install-target-postgres.ts';
import { PostgresSiteGrants } from '../../engine/adapters/sites/site-grants-postgres.ts';
import { PostgresTargetIndex, type TargetIndexOptions } from '../../engine/adapters/sites/target-index-postgres.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { SiteGrants } from '../../engine/ports/access-requests.ts';
import type { TargetIndex } from '../../engine/ports/catalog.ts';
import type { DatabaseAddress, Directory } from '../../engine/ports/directory.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { addressOf, connectionAt, demandDirectory, type TargetConnection } from './databases.ts';

type Targets = Configuration['installer']['installTargets'];
type SharedPooling = Configuration['installer']['sharedTargetDbPooling'];

export interface TargetDatabaseParts {
  readonly directory: Directory | undefined;
  readonly shared: SharedPooling;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The ports of one target. */
export interface TargetPorts {
  readonly target: InstallTarget;
  readonly grants: SiteGrants;
}

export interface OpenTarget extends TargetPorts {
  /** Targets may share it. */
  readonly database: TargetDatabase;
}

export interface OpenTargets {
  readonly targets: ReadonlyMap<TargetId, OpenTarget>;
  /** Of all targets together. */
  readonly indexes: readonly TargetIndex[];
}

/** What a database platform provides. */
export interface TargetPlatform {
  open(connection: TargetConnection, parts: Pick<TargetDatabaseParts, 'clock' | 'log'>): TargetDatabase;
  ports(database: TargetDatabase, options: InstallTargetOptions): TargetPorts;
  index(database: TargetDatabase, options: TargetIndexOptions): TargetIndex;
}

export async function openTargets(targets: Targets, parts: TargetDatabaseParts, scope: Scope): Promise<OpenTargets> {
  const opened = new Map<TargetId, OpenTarget>();
  const indexes: TargetIndex[] = [];
  for (const group of Map.groupBy(targets, ({ controlDb }) => sameDatabase(controlDb)).values()) {
    const platform = await platformFor(group);
    const database = openDatabase(group, platform, parts);
    scope.use(`databases of ${group.map(({ targetId }) => targetId).join(', ')}`, database);
    for (const target of group) {
      const options = {
        id: target.targetId,
        displayName: target.targetName,
        schema: target.controlDb.schema,
        dataSchema: dataSchemaOf(target),
      };
      opened.set(target.targetId, { database, ...platform.ports(database, options) });
    }
    for (const [schema, sharing] of Map.groupBy(group, ({ controlDb }) => controlDb.schema))
      indexes.push(platform.index(database, { targets: sharing.map(({ targetId }) => targetId), schema }));
  }
  return { targets: opened, indexes };
}

/** Equal for connections that one pool can serve. */
function sameDatabase(db: DatabaseConnection): string {
  const where = db.kind === 'lookup' ? [db.lookupCn] : [db.platform, db.server.host, db.server.port, db.name];
  return JSON.stringify([db.kind, ...where, db.username, db.password, db.tls, db.tlsOptions]);
}

const POSTGRES: TargetPlatform = {
  open: (connection, { log }) => new Postgres({ ...connection, groups: true }, log),
  ports: (database, options) => ({
    target: new PostgresInstallTarget(database, options),
    grants: new PostgresSiteGrants(database, options),
  }),
  index: (database, options) => new PostgresTargetIndex(database, options),
};

/** The driver of MariaDB is loaded only where it is needed. */
async function platformFor([first]: Targets): Promise<TargetPlatform> {
  if (!first || platformAt(first.controlDb) === 'Postgres') return POSTGRES;
  return (await import('./mariadb-targets.ts')).MARIADB;
}

function openDatabase(
  group: Targets,
  platform: TargetPlatform,
  { directory, shared, clock, log }: TargetDatabaseParts,
): TargetDatabase {
  const [first] = group;
  if (!first) throw new Error('a group must have a target');
  const db = first.controlDb;
  const open = (at: DatabaseAddress): TargetDatabase => {
    const own = connectionAt(first.targetId, db, at);
    const { poolSize, idleTimeoutMs } = shared;
    const common = { poolSize, idleTimeoutMs, applicationName: 'longshore targets' };
    return platform.open(group.length === 1 ? own : { ...own, ...common }, { clock, log });
  };
  const at = addressOf(db);
  if (at) return open(at);
  if (db.kind !== 'lookup') throw new Error('a database must have a lookup or an address');
  return new LocatedPostgres({ directory: demandDirectory(directory), commonName: db.lookupCn, open, clock, log });
}
