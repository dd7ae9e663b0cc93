// An embedded PostgreSQL server: set up, started and stopped by this process. It listens on 127.0.0.1, and on a Unix socket that
// only this program uses, which costs less processor time per statement.
//
// States:  absent --initdb--> stopped --start--> running --stop--> stopped
//          running --supervisor killed--> orphan --next start--> stopped   (postgres-orphan.ts)
// Since postgres refuses to run as root, root runs it with a separate account or, without one, as nobody (postgres-binaries.ts).

import { spawn } from 'node:child_process';
import { chown, constants, type FileHandle, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Failure, messageOf } from '../../runtime/failure.ts';
import { exists } from '../../runtime/files.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
import {
  type Account,
  findPostgresBinaries,
  giveTree,
  MAKE_ACCOUNT,
  NOBODY,
  ownAccount,
  type PostgresBinaries,
} from './postgres-binaries.ts';
import { stopOrphan } from './postgres-orphan.ts';

/**
 * A path of the data directory that needs no rights on its parents: the first file descriptor after stdin, stdout and stderr.
 * The working directory cannot be used: PostgreSQL before 16 leaves it at startup, and cannot return without those rights.
 */
const HERE = '/proc/self/fd/3';
/** The folder of the socket, for the same reason as HERE. */
const SOCKETS = '/proc/self/fd/4';
/** The longest path of a socket that Linux accepts, without the terminating byte. */
const MAX_SOCKET_PATH = 107;
const START_MS = 60_000;
const STOP_MS = 15_000;

interface EmbeddedPostgresOptions {
  /** Contains `postgres/` (data), `postgres.socket/`, `postgres.log` and maybe `pg/` (programs). */
  readonly dir: string;
  readonly port: number;
  readonly password: string;
  readonly binDir?: string | undefined;
  /** The environment's PATH, on which programs are searched if no package provides them. */
  readonly path?: string | undefined;
  readonly maxConnections?: number;
  /** Called when the first program runs that this waits for, or is told to stop. Other work then overlaps with the wait. */
  readonly begun?: () => void;
  /** Tests only: no fsync, so a power failure may lose data. */
  readonly unsafeFast?: boolean;
}

export interface EmbeddedPostgres extends AsyncDisposable {
  readonly port: number;
  /** Folder of the server's socket, as the host of a connection; undefined if its path is too long for a socket. */
  readonly socketDir: string | undefined;
  readonly user: 'postgres';
  readonly password: string;
  /** Rejects when the server ends without being stopped; never resolves before {@link stop}. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Starts the server; creates the data directory first if there is none. Accepts connections once it resolves. */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<EmbeddedPostgres> {
  const account = process.getuid?.() === 0 ? await accountOf(log) : undefined;
  const data = join(options.dir, 'postgres');
  await mkdir(data, { recursive: true, mode: 0o700 });
  const [binaries] = await Promise.all([
    findPostgresBinaries({
      binDir: options.binDir,
      path: options.path,
      major: await majorOf(data),
      copyTo: account === undefined ? [join(options.dir, 'pg')] : [join(options.dir, 'pg'), '/var/lib/longshore/pg'],
      account,
    }),
    stopOrphan(data, options.begun, clock, log, signal),
  ]);
  if (!(await exists(join(data, 'PG_VERSION')))) await initialise(binaries, options, data, account, signal);
  else if (account) await giveTree(data, account);
  return launch(binaries, options, data, account, clock, log, signal);
}

async function accountOf(log: Logger): Promise<Account> {
  const own = await ownAccount();
  if (!own) log.warn({ make: MAKE_ACCOUNT }, 'embedded PostgreSQL runs as nobody, an account that other daemons share');
  return own ?? NOBODY;
}

/** Major version of the server that created the data; undefined when there are none yet. */
async function majorOf(data: string): Promise<number | undefined> {
  const text = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => '');
  return /^\d+/.test(text) ? Number.parseInt(text, 10) : undefined;
}

async function initialise(
  binaries: PostgresBinaries,
  options: EmbeddedPostgresOptions,
  data: string,
  account: Account | undefined,
  signal: AbortSignal,
): Promise<void> {
  // An interrupted setup leaves files without PG_VERSION or an incomplete cluster: start over.
  await rm(data, { recursive: true, force: true });
  await mkdir(data, { mode: 0o700 });
  const passwordFile = join(options.dir, `.pwfile-${process.pid}`);
  await writeFile(passwordFile, options.password, { mode: 0o600 });
  // initdb gets the open file, because its user may not be able to reach the path.
  const handle = await open(passwordFile, 'r');
  const folder = await openFolder(data);
  try {
    if (account) for (const path of [data, passwordFile]) await chown(path, account.uid, account.gid);
    const args = ['-D', HERE, '-U', 'postgres', '--auth=scram-sha-256', '-E', 'UTF8', '--locale=C.UTF-8'];
    if (options.unsafeFast) args.push('--no-sync');
    const child = spawn(binaries.initdb, [...args, '--pwfile=/dev/stdin'], {
      cwd: data,
      env: cleanEnvironment(),
      stdio: [handle.fd, 'pipe', 'pipe', folder.fd],
      signal,
      ...account,
    });
    options.begun?.();
    const said: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => said.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => said.push(chunk));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0)
      throw new Failure(
        'defect',
        `initdb in ${data} ended with ${code}: ${Buffer.concat(said).toString().slice(-2000)}`,
      );
  } finally {
    await handle.close();
    await folder.close();
    await rm(passwordFile, { force: true });
  }
}

const openFolder = (path: string): Promise<FileHandle> => open(path, constants.O_RDONLY | constants.O_DIRECTORY);

async function launch(
  binaries: PostgresBinaries,
  options: EmbeddedPostgresOptions,
  data: string,
  account: Account | undefined,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<EmbeddedPostgres> {
  const logFile = await open(join(options.dir, 'postgres.log'), 'a', 0o640);
  const folder = await openFolder(data);
  const socketDir = await emptySocketDir(options, account, log);
  const sockets = socketDir === undefined ? undefined : await openFolder(socketDir);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: sockets ? SOCKETS : '',
    unix_socket_permissions: '0700',
    port: String(options.port),
    max_connections: String(options.maxConnections ?? 100),
    // Half of the default. The system's page cache holds what does not fit.
    shared_buffers: '64MB',
    max_wal_size: '1GB',
    timezone: 'UTC',
    ...(options.unsafeFast ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  const args = ['-D', HERE, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const child = spawn(binaries.postgres, args, {
    cwd: data,
    env: cleanEnvironment(),
    // A separate process group: Ctrl-C on the terminal must not stop the database before its clients.
    detached: true,
    stdio: ['ignore', logFile.fd, logFile.fd, folder.fd, ...(sockets ? [sockets.fd] : [])],
    ...account,
  });
  for (const handle of [logFile, folder, sockets]) await handle?.close();
  options.begun?.();
  let stopping = false;
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(messageOf(error)));
    child.once('exit', (code, signalName) => resolve(`exit ${code ?? signalName}`));
  });
  const ended = exited.then((how) => {
    if (!stopping)
      throw new Failure('transient', `embedded PostgreSQL ended (${how}); see ${join(options.dir, 'postgres.log')}`);
  });
  ended.catch(() => undefined); // handled by callers that await it; nobody has to

  const stop = async (): Promise<void> => {
    stopping = true;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    for (const signalName of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      child.kill(signalName);
      if (await settledWithin(clock, STOP_MS, exited)) return;
      log.warn({ signalName }, 'embedded PostgreSQL did not stop in time');
    }
  };
  try {
    await Promise.race([waitUntilReady(options, clock, signal), ended]);
  } catch (error) {
    await stop();
    throw error;
  }
  const { port, password } = options;
  return { port, socketDir, user: 'postgres', password, ended, stop, [Symbol.asyncDispose]: stop };
}

/** Only the server's account can enter it. It is recreated, because a killed server leaves its socket and lock file. */
async function emptySocketDir(
  { dir, port }: EmbeddedPostgresOptions,
  account: Account | undefined,
  log: Logger,
): Promise<string | undefined> {
  const folder = resolve(dir, 'postgres.socket');
  await rm(folder, { recursive: true, force: true });
  if (Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) > MAX_SOCKET_PATH) {
    log.info({ folder }, 'the path is too long for a socket of PostgreSQL; it is reached over TCP');
    return undefined;
  }
  await mkdir(folder, { mode: 0o700 });
  if (account) await chown(folder, account.uid, account.gid);
  return folder;
}

async function waitUntilReady(options: EmbeddedPostgresOptions, clock: Clock, signal: AbortSignal): Promise<void> {
  const { default: pg } = await import('pg');
  const until = clock.now() + START_MS;
  for (let pause = 10; ; pause = Math.min(pause * 2, 200)) {
    signal.throwIfAborted();
    const client = new pg.Client({
      host: '127.0.0.1',
      port: options.port,
      user: 'postgres',
      password: options.password,
      database: 'postgres',
      connectionTimeoutMillis: 2_000,
    });
    client.on('error', () => undefined); // connect() reports the result
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      await client.end().catch(() => undefined);
      if (clock.now() > until)
        throw new Failure('transient', `embedded PostgreSQL not ready after ${START_MS} ms: ${messageOf(error)}`, {
          cause: error,
        });
      await clock.sleep(pause, signal);
    }
  }
}

const cleanEnvironment = (): Record<string, string> => ({ PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', TZ: 'UTC' });
