// What the durable measures share: a PostgreSQL of the product's own with fsync on, and a Redis that is as durable.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';
import { countStatements } from './product.ts';
import { emptyDir } from './started-up.ts';

export interface DurableServer extends AsyncDisposable {
  /** Of the server's files; removed with it. */
  readonly dir: string;
  readonly postgres: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
  };
  /** Makes an empty database and gives its name. */
  database(name: string): Promise<string>;
}

const PASSWORD = 'longshore-bench';

export interface DurableServerOptions {
  /** Counts statements in pg_stat_statements. */
  readonly counted?: boolean;
  /** Default: as many as the product's own server takes. */
  readonly maxConnections?: number;
}

export async function durableServer({
  counted = false,
  ...options
}: DurableServerOptions = {}): Promise<DurableServer> {
  const { path: dir } = await emptyDir();
  const port = await freePort();
  const start = () =>
    startEmbeddedPostgres(
      { dir, port, password: PASSWORD, ...options },
      systemClock,
      silentLogger(),
      new AbortController().signal,
    );
  let server = await start();
  if (counted) {
    await server.stop();
    await countStatements(dir);
    server = await start();
  }
  await writeFile(join(dir, 'postgres.port'), String(port));
  await writeFile(join(dir, 'postgres.password'), PASSWORD);
  const postgres = { host: '127.0.0.1', port: server.port, user: server.user, password: PASSWORD };
  return {
    ...{ dir, postgres },
    async database(name) {
      const client = new pg.Client({ ...postgres, database: 'postgres' });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return name;
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** As durable as PostgreSQL: an answer means that the command is on disk. */
export async function redisServer(): Promise<{ readonly port: number } & AsyncDisposable> {
  const port = await freePort();
  const dir = await emptyDir();
  const durable = ['--dir', dir.path, '--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];
  const child = spawn('redis-server', ['--port', String(port), ...durable], { stdio: 'ignore' });
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => {});
  await client.ping();
  client.disconnect();
  return {
    port,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.kill()) await once(child, 'exit');
      await dir[Symbol.asyncDispose]();
    },
  };
}
