// The control databases of the install targets: one pool per target, or one shared by all targets with the same server,
// database and user (`installer.sharedTargetDbPooling`). Statements name the target's schema.

import type { Configuration, DatabaseConnection } from '../../config/configuration.ts';
import { LocatedPostgres, type TargetDatabase } from '../../engine/adapters/postgres/located-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { DatabaseAddress, Directory } from '../../engine/ports/directory.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { addressOf, connectionAt, demandDirectory } from './databases.ts';

type Targets = Configuration['installer']['installTargets'];
type SharedPooling = Configuration['installer']['sharedTargetDbPooling'];

interface TargetDatabaseParts {
  readonly directory: Directory | undefined;
  readonly shared: SharedPooling;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openTargetDatabases(
  targets: Targets,
  parts: TargetDatabaseParts,
  scope: Scope,
): ReadonlyMap<TargetId, TargetDatabase> {
  const groups = Map.groupBy(targets, ({ controlDb }) => sameDatabase(controlDb));
  const opened = [...groups.values()].flatMap((group) => {
    const database = openDatabase(group, parts);
    scope.use(`databases of ${group.map(({ targetId }) => targetId).join(', ')}`, database);
    return group.map(({ targetId }) => [targetId, database] as const);
  });
  return new Map(opened);
}

/** Equal for connections that one pool can serve. */
function sameDatabase(db: DatabaseConnection): string {
  const where = db.kind === 'lookup' ? [db.lookupCn] : [db.server.host, db.server.port, db.name];
  return JSON.stringify([db.kind, ...where, db.username, db.password, db.tls, db.tlsOptions]);
}

function openDatabase(group: Targets, { directory, shared, clock, log }: TargetDatabaseParts): TargetDatabase {
  const [first] = group;
  if (!first) throw new Error('a group must have a target');
  const db = first.controlDb;
  const open = (at: DatabaseAddress): TargetDatabase => {
    const own = { ...connectionAt(first.targetId, db, at), groups: true };
    if (group.length === 1) return new Postgres(own, log);
    const { poolSize, idleTimeoutMs } = shared;
    return new Postgres({ ...own, poolSize, idleTimeoutMs, applicationName: 'longshore targets' }, log);
  };
  const at = addressOf(db);
  if (at) return open(at);
  if (db.kind !== 'lookup') throw new Error('a database must have a lookup or an address');
  return new LocatedPostgres({ directory: demandDirectory(directory), commonName: db.lookupCn, open, clock, log });
}
