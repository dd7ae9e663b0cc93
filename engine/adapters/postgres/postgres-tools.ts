// PostgreSQL's own programs for dumps, pg_dump and pg_restore: where they are, and how they reach a database. What they get is in
// their environment, which other users of the machine cannot read; a command line could be read.

import { execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { messageOf, rejected, transient } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import { programFolders } from '../embedded-postgres/postgres-binaries.ts';
import type { PostgresOptions } from './postgres.ts';

const run = promisify(execFile);
const VERSION_MS = 10_000;
/** Of what a program writes to its standard error, the end. */
const SAID_BYTES = 4_096;

export interface PostgresTool {
  readonly path: string;
  readonly name: 'pg_dump' | 'pg_restore';
  readonly major: number;
}

interface ToolSearch {
  /** Directory with the program; undefined = the PATH, then Debian's directories. */
  readonly binDir?: string | undefined;
  readonly path?: string | undefined;
  /** Major version. Older programs do not know what a newer server has. */
  readonly atLeast: number;
  /** Why that version, for the message. */
  readonly because: string;
}

/**
 * The oldest program that is new enough: a newer one may send settings that the server does not know. Throws `rejected`, and says
 * what was found and what to do.
 */
export async function findTool(
  name: PostgresTool['name'],
  { binDir, path, atLeast, because }: ToolSearch,
): Promise<PostgresTool> {
  const fit: PostgresTool[] = [];
  const unfit: string[] = [];
  for (const folder of binDir === undefined ? await programFolders(path) : [binDir]) {
    const file = join(folder, name);
    try {
      await access(file, constants.X_OK);
    } catch {
      continue;
    }
    try {
      const { stdout } = await run(file, ['--version'], { timeout: VERSION_MS });
      const version = /\(PostgreSQL\) (\d+)\S*/.exec(stdout);
      const major = Number(version?.[1]);
      if (major >= atLeast) fit.push({ path: file, name, major });
      else
        unfit.push(`${file} is ${version ? `version ${version[0].slice('(PostgreSQL) '.length)}` : 'another program'}`);
    } catch (error) {
      unfit.push(`${file}: ${messageOf(error).split('\n')[0]}`);
    }
  }
  const [oldest] = fit.toSorted((a, b) => a.major - b.major);
  if (oldest) return oldest;
  const found = unfit.length > 0 ? unfit.join('; ') : `there is none ${binDir ? `in ${binDir}` : 'on PATH'}`;
  throw rejected(
    `${name} of PostgreSQL ${atLeast} or later is needed, because ${because}; ${found}. Install it (Debian: apt-get install ` +
      `postgresql-client-${atLeast}), or name its directory with --postgres-bin DIR`,
  );
}

export interface ToolCall {
  readonly tool: PostgresTool;
  readonly args: readonly string[];
  /** The database to connect to; undefined for none. */
  readonly database?: PostgresOptions | undefined;
  /** File of the authorities for TLS, if the database's connection needs one. */
  readonly caFile?: string | undefined;
  /** What it reads. It may end before it has read everything. */
  readonly input?: Readable | undefined;
  /** Takes its standard output. The program waits meanwhile. */
  readonly output: (chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

/** Fails with `transient`, with what the program said. The program ends with the signal, and with this process. */
export async function runTool(
  { tool, args, database, caFile, input, output }: ToolCall,
  signal: AbortSignal,
): Promise<void> {
  using until = new JoinedSignal(signal);
  const child = spawn(tool.path, args, {
    env: {
      PATH: `${dirname(tool.path)}:/usr/bin:/bin`,
      LC_ALL: 'C',
      ...(database ? environmentOf(database, caFile) : {}),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: until.signal,
  });
  let said = Buffer.alloc(0);
  child.stderr.on('data', (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]).subarray(-SAID_BYTES);
  });
  const exit = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, killed) => resolve(code ?? killed));
  });
  exit.catch(() => undefined);
  // A program that has read enough, or has failed, closes its input: its exit code says which.
  const fed = pipeline(input ?? [], child.stdin).catch(() => undefined);
  try {
    await output(child.stdout);
    await fed;
    const code = await exit;
    if (code === 0) return;
    const where = database ? ` of database ${database.database} at ${database.host}:${database.port}` : '';
    throw transient(`${tool.name}${where} failed (${code}): ${said.toString().trim()}`);
  } catch (error) {
    until.abort(error);
    throw signal.aborted ? signal.reason : error;
  }
}

/** As a connection string without secrets, because a bare name with `=` would be taken for one. */
export const databaseArg = ({ database }: PostgresOptions): string =>
  `--dbname=dbname='${database.replaceAll(/[\\']/g, '\\$&')}'`;

function environmentOf(
  { host, port, user, password, database, applicationName, tls }: PostgresOptions,
  caFile: string | undefined,
): Record<string, string> {
  return {
    ...{ PGHOST: host, PGPORT: String(port), PGUSER: user, PGPASSWORD: password, PGDATABASE: database },
    ...{ PGAPPNAME: applicationName, PGCONNECT_TIMEOUT: '10' },
    PGSSLMODE: tls === undefined ? 'disable' : tls.rejectUnauthorized ? 'verify-full' : 'require',
    ...(caFile === undefined ? {} : { PGSSLROOTCERT: caFile }),
  };
}
