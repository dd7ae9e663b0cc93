// MariaDB as a plain process: its own data directory and port, on loopback, with and without TLS.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { MariaDb, type MariaDbOptions, withMariaDb } from '../../engine/adapters/mariadb/mariadb.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';
import { makeCertificate } from './certificate.ts';
import { ServerProcess } from './server-process.ts';

export interface MariaDbServer extends AsyncDisposable {
  readonly port: number;
  /** PEM of the authority that signed its certificate, for localhost and 127.0.0.1. */
  readonly caFile: string;
  /** Makes a database, and a user of the same name who may do everything in it and in databases that begin with its name. */
  makeDatabase(name: string): Promise<MariaDbOptions>;
  /** As root, in the server's own database. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Hangs: nothing is answered. */
  pause(): void;
  continue(): void;
  stop(): Promise<void>;
  /** After {@link stop}, with what it kept. */
  start(): Promise<void>;
}

export const OTHER_HOST = '127.0.0.2';
export const PASSWORD = 'planted-mariadb-password';
const never = new AbortController().signal;

/** @param dir made; everything of it goes there */
export async function startMariaDb(dir: string): Promise<MariaDbServer> {
  const port = await freePort();
  const data = join(dir, 'data');
  await mkdir(data, { recursive: true });
  const { caFile, certFile, keyFile } = makeCertificate(dir);
  // The server refuses root unless it is told to.
  const own = ['--no-defaults', `--datadir=${data}`, ...(process.getuid?.() === 0 ? ['--user=root'] : [])];
  execFileSync(
    '/usr/bin/mariadb-install-db',
    [...own, '--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'],
    { stdio: 'pipe' },
  );
  const command = {
    program: '/usr/sbin/mariadbd',
    args: [
      ...own,
      `--port=${port}`,
      // Its certificate is not for the second one.
      `--bind-address=127.0.0.1,${OTHER_HOST}`,
      `--socket=${join(dir, 'socket')}`,
      `--pid-file=${join(dir, 'pid')}`,
      `--tmpdir=${dir}`,
      '--skip-name-resolve',
      '--skip-log-bin',
      '--innodb-flush-log-at-trx-commit=0',
      '--innodb-buffer-pool-size=64M',
      `--ssl-ca=${caFile}`,
      `--ssl-cert=${certFile}`,
      `--ssl-key=${keyFile}`,
    ],
    log: join(dir, 'log'),
    ports: [port],
  };
  let server = await ServerProcess.start(command);
  const root: MariaDbOptions = {
    ...{ host: '127.0.0.1', port, user: 'root', password: '', database: 'mysql', schema: 'mysql' },
    ...{ poolSize: 1, idleTimeoutMs: 1_000, applicationName: 'test' },
  };
  const query: MariaDbServer['query'] = (text, values) => withMariaDb(root, (sql) => sql.query(text, values), never);
  return {
    port,
    caFile,
    query,
    async makeDatabase(name) {
      await query(`create database \`${name}\``);
      await query(`create user \`${name}\`@'127.0.0.1' identified by '${PASSWORD}'`);
      await query(`grant all on \`${name}%\`.* to \`${name}\`@'127.0.0.1'`);
      return { ...root, user: name, password: PASSWORD, database: name, schema: name, poolSize: 4 };
    },
    pause: () => server.pause(),
    continue: () => server.continue(),
    stop: () => server[Symbol.asyncDispose](),
    async start() {
      server = await ServerProcess.start(command);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A server that ends with the test. */
export async function mariaDbServer(t: Pick<Test, 'teardown'>): Promise<MariaDbServer> {
  const server = await startMariaDb(await mkdtemp(join(tmpdir(), 'longshore-mariadb-')));
  t.teardown(() => server[Symbol.asyncDispose]());
  return server;
}

/** A pool on an empty database of the server, with that as its schema; closed when the test ends. */
export async function openMariaDb(
  t: Pick<Test, 'teardown'>,
  server: Pick<MariaDbServer, 'makeDatabase'>,
): Promise<{ readonly db: MariaDb; readonly options: MariaDbOptions }> {
  const options = await server.makeDatabase(`t_${randomBytes(6).toString('hex')}`);
  const db = new MariaDb(options, systemClock, silentLogger());
  t.teardown(() => db[Symbol.asyncDispose]());
  return { db, options };
}
