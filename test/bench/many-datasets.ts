// Datasets in the cache of a running `longshore up`, one in a thousand of them one user's and one in a hundred public, each with
// the statuses of its two targets; and plain SQL on the same database. All have the words of the summary; one in a thousand has
// the word `cohortN`, and one has the identifier `PF3D7_N`.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { freePortBase, tempDir, type Up, up } from '../support/longshore.ts';

const USER = '4242';
const TARGETS = ['AlphaDB', 'BetaDB'];

export interface ManyDatasets extends AsyncDisposable {
  readonly app: Up;
  readonly sql: pg.Client;
  readonly token: string;
  /** Ids of the user's datasets. */
  readonly ids: readonly string[];
}

export async function manyDatasets(count: number): Promise<ManyDatasets> {
  const cleanup: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown): void => void cleanup.unshift(fn) };
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const sql = await cacheClient(dir);
  await fill(sql, count);
  const { rows } = await sql.query<{ id: string }>('select dataset_id as id from dataset where owner_id = $1', [USER]);
  return {
    app,
    sql,
    token: await app.token(USER),
    ids: rows.map((row) => row.id),
    async [Symbol.asyncDispose]() {
      await sql.end();
      for (const fn of cleanup) await fn();
    },
  };
}

async function fill(sql: pg.Client, count: number): Promise<void> {
  const metadata = {
    type: { name: 'genelist', version: '1.0' },
    installTargets: TARGETS,
    visibility: 'private',
    owner: Number(USER),
    name: 'Genes of interest',
    summary: 'Some genes that were found to be of interest in a study',
    origin: 'direct-upload',
    created: '2026-01-02T03:04:05.678Z',
    dependencies: [],
    daysForApproval: -1,
  };
  await sql.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, created, upload_status, import_status, upload_file_count, raw_bytes, install_targets)
     select 'bench' || n, case when n % 1000 = 0 then $1::numeric else 1000000 + n end, 'bench' || n, 0, 'live',
       'genelist', '1.0', $2::jsonb || jsonb_build_object('description',
         'Of cohort' || n / 100 % 1000 || ' with PF3D7_' || lpad(n::text, 7, '0')), case when n % 100 = 1 then 'public' else 'private' end, 'n' || n, now() - n * interval '1 second', 'success', 'complete', 1, 1,
       $4::text[]
     from generate_series(1, $3::integer) n`,
    [USER, JSON.stringify(metadata), count, TARGETS],
  );
  await sql.query(
    `insert into dataset_target select d.dataset_id, x from dataset d, unnest($1::text[]) x where d.dataset_id like 'bench%'`,
    [TARGETS],
  );
  await sql.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select d.dataset_id, x, k, 'complete' from dataset d, unnest($1::text[]) x, unnest('{meta,data}'::text[]) k
     where d.dataset_id like 'bench%'`,
    [TARGETS],
  );
  await sql.query('vacuum (analyze)');
}

const cacheClient = (dir: string): Promise<pg.Client> => schemaClient(dir, CACHE_SCHEMA);

/** Of a schema of the cache database of `longshore up`. */
export async function schemaClient(dir: string, schema: string): Promise<pg.Client> {
  const client = new pg.Client(await databaseOf(dir));
  await client.connect();
  await client.query(`set search_path to ${pg.escapeIdentifier(schema)}`);
  return client;
}

/** Where that database is. */
export async function databaseOf(dir: string) {
  const config = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as {
    installer: { cacheDb: { name: string; username: string; password: string } };
  };
  const { name, username, password } = config.installer.cacheDb;
  const port = Number(await readFile(join(dir, 'postgres.port'), 'utf8'));
  return { host: '127.0.0.1', port, user: username, password, database: name };
}

/** Milliseconds per call of `count` calls, so many at a time. */
export async function paced(count: number, atOnce: number, call: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (performance.now() - begun) / count;
}

/** Milliseconds of each of `count` calls, one after the other. */
export async function timed(count: number, call: (n: number) => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < count; n++) {
    const begun = performance.now();
    await call(n);
    took.push(performance.now() - begun);
  }
  return took;
}
