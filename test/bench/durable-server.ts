// What the durable measures share: a PostgreSQL of the product's own with fsync on, a Redis, and two threads of Piscina.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';

export interface DurableServer extends AsyncDisposable {
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

export async function durableServer(): Promise<DurableServer> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const server = await startEmbeddedPostgres(
    { dir, port: await freePort(), password: PASSWORD },
    systemClock,
    silentLogger(),
    new AbortController().signal,
  );
  const postgres = { host: '127.0.0.1', port: server.port, user: server.user, password: PASSWORD };
  return {
    postgres,
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

/** Keeps nothing on disk: faster than what a durable queue would be given. */
export async function redisServer(): Promise<{ readonly port: number } & AsyncDisposable> {
  const port = await freePort();
  const child = spawn('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  });
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => {});
  await client.ping();
  client.disconnect();
  return {
    port,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.kill()) await once(child, 'exit');
    },
  };
}
