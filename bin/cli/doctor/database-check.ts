// Checks a database: connection, login, version, clock, and that the schemas exist and are up to date. Uses of one database by
// one role share a connection.

import { type Migration, type MigrationState, migrationState } from '../../../engine/adapters/migrations/migrations.ts';
import { type PostgresOptions, type Sql, sqlState } from '../../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../../engine/adapters/postgres/single-connection.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type Check, type Findings, fault, hostPort, networkFix, type Problem } from './check.ts';

/** One use of a database. */
export interface DatabaseUse {
  /** For example `cache database`. */
  readonly name: string;
  readonly schema: string;
  /** Path of its section in the configuration. */
  readonly key: string;
  /** Set for a schema that Longshore owns; undefined for one of the site. */
  readonly ours?: {
    readonly migrations: readonly Migration[];
    /** The command that migrates it. */
    readonly command: string;
  };
}

export interface DatabaseCheckOptions {
  /** All uses of the same database and role. */
  readonly uses: readonly [DatabaseUse, ...DatabaseUse[]];
  /** `host:port/name`, or the name under which it is looked up. */
  readonly where: string;
  readonly locate: (signal: AbortSignal) => Promise<PostgresOptions>;
  /** Common name of the directory entry, if its address is looked up there. */
  readonly lookupCn?: string | undefined;
  /** What to do when the lookup fails. */
  readonly explainLocate: (error: unknown) => string;
}

/** The oldest server that supports our session settings. */
const OLDEST = 14;

export function databaseCheck(
  { uses, where, locate, lookupCn, explainLocate }: DatabaseCheckOptions,
  clock: Clock,
): Check {
  let options: PostgresOptions | undefined;
  return {
    name: uses.map(({ name }) => name).join(', '),
    where,
    tried: 'log in, read version, clock and schemas',
    async look(signal) {
      options = undefined;
      options = await locate(signal);
      const found = await withConnection(options, (sql) => lookInto(sql, uses, clock), signal);
      return { ...found, where: `${hostPort(options)}/${options.database}` };
    },
    explain: (error) => (options ? explain(error, options, uses[0].key, lookupCn) : explainLocate(error)),
  };
}

async function lookInto(sql: Sql, uses: readonly DatabaseUse[], clock: Clock): Promise<Findings> {
  const before = clock.now();
  const [server] = await sql.query<{ version: string; number: number; now: number; role: string; creates: boolean }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
       (extract(epoch from clock_timestamp()) * 1000)::double precision as now, current_user as role,
       has_database_privilege(current_database(), 'create') as creates`,
  );
  const after = clock.now();
  if (!server) throw new Error('a select without a table returned no row');
  const problems: Problem[] = [];
  if (server.number < OLDEST * 10_000)
    problems.push(
      fault(`PostgreSQL ${server.version} is too old`, `upgrade it to ${OLDEST} or later; 18 is the tested version`),
    );
  problems.push(...clockProblems(server.now, before, after));
  for (const use of uses) problems.push(...(await lookAtSchema(sql, use, server)));
  return { says: `PostgreSQL ${server.version}`, problems };
}

async function lookAtSchema(
  sql: Sql,
  { name, schema, key, ours }: DatabaseUse,
  { role, creates }: { readonly role: string; readonly creates: boolean },
): Promise<readonly Problem[]> {
  const [found] = await sql.query<{ usable: boolean }>(
    `select has_schema_privilege(oid, 'usage') as usable from pg_namespace where nspname = $1`,
    [schema],
  );
  const what = `${name}: schema ${schema}`;
  if (!found && !(ours && creates)) {
    const create = `CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${quoted(role)};`;
    const next = ours ? `then ${ours.command}` : `or correct ${key}.schema`;
    return [fault(`${what} is missing`, `as a superuser: ${create} ${next}`)];
  }
  if (found && !found.usable)
    return [
      fault(
        `${what} cannot be used by role ${role}`,
        `as its owner: GRANT ALL ON SCHEMA ${quoted(schema)} TO ${quoted(role)};`,
      ),
    ];
  if (!ours) return [];
  try {
    return migrationProblems(what, await migrationState(sql, schema, ours.migrations), ours.command);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== '42501') throw error;
    return [
      fault(
        `${what}: role ${role} has no privilege to read its tables`,
        `make ${role} their owner: REASSIGN OWNED, or ALTER TABLE .. OWNER TO`,
      ),
    ];
  }
}

export function migrationProblems(
  what: string,
  { missing, changed, unknown }: MigrationState,
  command: string,
): readonly Problem[] {
  // The other numbers mean nothing then.
  if (changed.length > 0)
    return [
      fault(
        `${what} was made by an unreleased version of this program: migrations ${changed.join(', ')} differ`,
        'use that version, or start with an empty schema, see config/deploy/UPGRADING.md',
      ),
    ];
  return [
    ...(missing.length > 0
      ? [fault(`${what} is not up to date: migrations ${missing.join(', ')} are missing`, command)]
      : []),
    ...(unknown.length > 0
      ? [fault(`${what} is newer than this program: it has migrations ${unknown.join(', ')}`, 'use the newer program')]
      : []),
  ];
}

const SKEW_MS = 5_000;

/** The server read its clock at an unknown time between our two readings. */
export function clockProblems(server: number, before: number, after: number): readonly Problem[] {
  const skewMs = Math.max(before - server, server - after, 0);
  if (skewMs <= SKEW_MS) return [];
  return [
    fault(
      `its clock is ${Math.round(skewMs / 1000)} s ${server > after ? 'ahead of' : 'behind'} that of this machine`,
      'synchronize both with NTP: due times, tokens and retention depend on both',
    ),
  ];
}

/** For a database that was located but that we could not log in to. */
function explain(
  error: unknown,
  { database, user, host }: PostgresOptions,
  key: string,
  lookupCn: string | undefined,
): string {
  // What the configuration does not have cannot be corrected there.
  const entry = lookupCn === undefined ? undefined : `the directory entry cn=${lookupCn}`;
  const tls = { switch: `${key}.tls`, options: `${key}.tlsOptions` };
  switch (sqlState(error)) {
    case '28P01':
      return `correct ${key}.username and password, or as a superuser: ALTER ROLE ${quoted(user)} LOGIN PASSWORD '..';`;
    case '28000':
      return `let role ${user} in: it needs LOGIN, and a line of pg_hba.conf for this machine, this database and ${key}.tls`;
    case '3D000':
      return `as a superuser: CREATE DATABASE ${quoted(database)} OWNER ${quoted(user)}; or correct ${entry ?? `${key}.name`}`;
    case '42501':
      return `as a superuser: GRANT CONNECT ON DATABASE ${quoted(database)} TO ${quoted(user)};`;
    case '53300':
      return `raise max_connections on ${host}, or lower the poolSize of its clients`;
    case '57P03':
      return 'it is starting up, shutting down or recovering: wait, and check its log';
    default:
  }
  return (
    networkFix(error, { server: 'PostgreSQL', key: entry ?? `${key}.server`, tls }) ??
    (error instanceof Failure && sqlState(error) === undefined
      ? `check the log of PostgreSQL; check ${key}.tls: a server without TLS rejects it`
      : 'check the log of PostgreSQL')
  );
}

/** Quotes a name in SQL that is displayed, not executed. */
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
