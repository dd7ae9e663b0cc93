// Checks a MariaDB database of an install target: like database-check.ts.

import { type MariaDbOptions, withMariaDb } from '../../../engine/adapters/mariadb/mariadb.ts';
import { DENIED, FULL, NO_DATABASE, serverError } from '../../../engine/adapters/mariadb/mariadb-failure.ts';
import { mariaDbMigrationState } from '../../../engine/adapters/mariadb/mariadb-migrations.ts';
import type { Sql } from '../../../engine/adapters/postgres/postgres.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type Check, codeOf, type Findings, fault, hostPort, networkFix, type Problem } from './check.ts';
import { clockProblems, type DatabaseCheckOptions, type DatabaseUse, migrationProblems } from './database-check.ts';

/** The oldest server that supports our statements. */
const OLDEST = [10, 6] as const;
const OLDEST_TEXT = OLDEST.join('.');

/** Targets on MariaDB are not looked up in a directory. */
export function mariaDbCheck({ uses, where, locate, explainLocate }: DatabaseCheckOptions, clock: Clock): Check {
  let options: MariaDbOptions | undefined;
  return {
    name: uses.map(({ name }) => name).join(', '),
    where,
    tried: 'log in, read version, clock and schemas',
    async look(signal) {
      options = undefined;
      const at = await locate(signal);
      options = at;
      const found = await withMariaDb(at, (sql) => lookInto(sql, at, uses, clock), signal);
      return { ...found, where: `${hostPort(at)}/${at.database}` };
    },
    explain: (error) => (options ? explain(error, options, uses[0].key) : explainLocate(error)),
  };
}

async function lookInto(
  sql: Sql,
  { user }: MariaDbOptions,
  uses: readonly DatabaseUse[],
  clock: Clock,
): Promise<Findings> {
  const before = clock.now();
  const [server] = await sql.query<{ version: string; now: string; log: number; format: string }>(
    `select version() as version, unix_timestamp(sysdate(3)) * 1000 as now, @@log_bin as log, @@binlog_format as format`,
  );
  const after = clock.now();
  if (!server) throw new Error('a select without a table returned no row');
  const { version } = server;
  const problems: Problem[] = [...clockProblems(Number(server.now), before, after)];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (!/mariadb/i.test(version))
    problems.push(fault(`it is not MariaDB: its version is ${version}`, `use MariaDB ${OLDEST_TEXT} or later`));
  else if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    problems.push(fault(`MariaDB ${version} is too old`, `upgrade it to ${OLDEST_TEXT} or later`));
  if (server.log === 1 && server.format === 'STATEMENT')
    problems.push(
      fault(
        'it refuses our transactions, because it logs statements for its replicas',
        'set binlog_format to MIXED, which is the default, or to ROW',
      ),
    );
  for (const use of uses) problems.push(...(await lookAtSchema(sql, user, use)));
  return { says: `MariaDB ${version}`, problems };
}

/** Only schemas in which the user may do something are visible. */
async function lookAtSchema(
  sql: Sql,
  user: string,
  { name, schema, key, ours }: DatabaseUse,
): Promise<readonly Problem[]> {
  const [found] = await sql.query('select 1 from information_schema.schemata where schema_name = ?', [schema]);
  const what = `${name}: schema ${schema}`;
  if (!found) {
    const create = `as an administrator: CREATE DATABASE IF NOT EXISTS ${quoted(schema)}; ${grant(schema, user)}`;
    const next = ours ? `then ${ours.command}` : `or correct ${key}.schema`;
    return [fault(`${what} is missing, or ${user} may do nothing there`, `${create} ${next}`)];
  }
  if (!ours) return [];
  return migrationProblems(what, await mariaDbMigrationState(sql, schema, ours.migrations), ours.command);
}

function explain(error: unknown, { database, user, host }: MariaDbOptions, key: string): string {
  const number = serverError(error) ?? 0;
  if (number === NO_DATABASE)
    return `as an administrator: CREATE DATABASE ${quoted(database)}; ${grant(database, user)} or correct ${key}.name`;
  if (number === NO_RIGHTS) return `as an administrator: ${grant(database, user)} or correct ${key}.name`;
  if (DENIED.has(number) || number === NO_HOST)
    return `correct ${key}.username and password, or as an administrator: CREATE USER '${user}'@'%' IDENTIFIED BY '..';`;
  if (FULL.has(number)) return `raise max_connections on ${host}, or lower the poolSize of its clients`;
  const code = codeOf(error);
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT')
    return `it has no TLS: set ssl_cert and ssl_key there, or turn off ${key}.tls`;
  // The driver replaces the code that says why.
  if (code === 'HANDSHAKE_SSL_ERROR')
    return `put the PEM file of the authority that signed its certificate into ${key}.tlsOptions.caFile; the certificate has to name ${host}`;
  if (code === 'AUTH_SWITCH_PLUGIN_ERROR')
    return `let ${user} log in with a password of mysql_native_password: ALTER USER .. IDENTIFIED VIA mysql_native_password`;
  const tls = { switch: `${key}.tls`, options: `${key}.tlsOptions` };
  return networkFix(error, { server: 'MariaDB', key: `${key}.server`, tls }) ?? 'check the log of MariaDB';
}

/** The user may not use the database. */
const NO_RIGHTS = 1044;
/** No user may log in from this machine. */
const NO_HOST = 1130;

const grant = (schema: string, user: string): string => `GRANT ALL ON ${quoted(schema)}.* TO '${user}'@'%';`;

/** Quotes a name in SQL that is displayed, not executed. */
const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
