// A million access requests for ten thousand datasets in a running `longshore up`, and a pool on the same database.

import type pg from 'pg';
import { Client } from 'undici';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { Postgres, type Sql } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { freePortBase, tempDir, type Up, up } from '../support/longshore.ts';
import { fillAccess, fillAccounts } from '../support/many-end-users.ts';
import { databaseOf, schemaClient } from './many-datasets.ts';

export interface ManyEndUsers extends AsyncDisposable {
  readonly app: Up;
  /** With the size and search path of the service's. */
  readonly pool: Postgres;
  token(user: number): Promise<string>;
  /** The body of a 200, by one of the kept connections. */
  get(token: string, path: string): Promise<string>;
}

const POOL_SIZE = 5;
const CONNECTIONS = 10;

export async function manyEndUsers(): Promise<ManyEndUsers> {
  const cleanup: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown): void => void cleanup.unshift(fn) };
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  await filled(await schemaClient(dir, 'access'), (sql) => fillAccess((work) => work(sql)));
  await filled(await schemaClient(dir, CACHE_SCHEMA), fillAccounts);
  const pool = new Postgres(
    {
      ...(await databaseOf(dir)),
      ...{ schema: 'access', poolSize: POOL_SIZE, idleTimeoutMs: 10_000, applicationName: 'bench' },
    },
    silentLogger(),
  );
  const clients = Array.from({ length: CONNECTIONS }, () => new Client(app.endpoints.access));
  let calls = 0;
  return {
    app,
    pool,
    token: (user) => app.token(String(user), '--email', `u${user}@many.example`, '--given-name', 'Una'),
    get: (token, path) => answerOf(clients[calls++ % clients.length] as Client, token, path),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await pool[Symbol.asyncDispose]();
      for (const fn of cleanup) await fn();
    },
  };
}

/** Without the streams of a response: who asks takes his time from the same two cores. */
function answerOf(client: Client, token: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    client.dispatch(
      { method: 'GET', path, headers: { 'auth-key': token } },
      {
        onRequestStart() {},
        onResponseStart(_controller, statusCode) {
          status = statusCode;
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd() {
          const text = Buffer.concat(chunks).toString();
          if (status === 200) resolve(text);
          else reject(new Error(`${path}: ${status} ${text}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

async function filled(client: pg.Client, fill: (sql: Sql) => Promise<void>): Promise<void> {
  await client.query('begin');
  await fill({ query: async (text, values) => (await client.query(text, values as unknown[])).rows });
  await client.query('commit');
  await client.query('vacuum (analyze)');
  await client.end();
}
