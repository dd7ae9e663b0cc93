// A cache database with as many datasets as a measure wants, in a PostgreSQL of its own: that of `longshore up`, with its
// settings but for durability, since it is only read. Every dataset has been imported in vain, so that its metadata are all that lies in the store and that a
// reconciler finds it in step with the stub's listing (million-objects.ts).

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { cacheMigrations, controlMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';
import { DATASET_SQL, ETAG_SQL, FIRST_MODIFIED_MS, MODIFIED_SQL, OWNER_SQL } from './million-objects.ts';
import { postmasterOf } from './product.ts';

export interface MillionDatasets extends AsyncDisposable {
  /** Of the server's own process. */
  readonly postmaster: number;
  /** Of the cache database and its schema. */
  readonly options: PostgresOptions;
  /** Datasets 0 to `count` - 1 and no others, with the indexes that a reconciler reads; statistics are up to date. */
  fill(count: number): Promise<void>;
  /** Makes the other indexes too. */
  index(): Promise<void>;
  /** Puts each of the first `count` datasets on each target, in the schema `control` of the same database. */
  install(count: number, targets: readonly string[]): Promise<void>;
}

/** Indexes that a reconciler reads. */
const READ = ['dataset_store_order', 'dataset_not_live', 'dataset_import_open'];
const PASSWORD = 'longshore-bench';

export async function millionDatasets(): Promise<MillionDatasets> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const never = new AbortController().signal;
  const port = await freePort();
  const server = await startEmbeddedPostgres(
    { dir, port, password: PASSWORD, unsafeFast: true },
    systemClock,
    silentLogger(),
    never,
  );
  const options: PostgresOptions = {
    ...{ host: '127.0.0.1', port, user: 'postgres', password: PASSWORD, database: 'postgres' },
    ...{ schema: 'cache', poolSize: 10, idleTimeoutMs: 10_000, applicationName: 'bench' },
  };
  const db = new Postgres(options, silentLogger());
  await migrate(db, 'cache', await cacheMigrations(), never);
  await migrate(db, 'control', await controlMigrations(), never);
  await db[Symbol.asyncDispose]();
  const client = new pg.Client({
    host: options.host,
    port,
    user: options.user,
    password: PASSWORD,
    database: 'postgres',
  });
  await client.connect();
  await client.query('set search_path to cache');
  const indexes = await secondaryIndexes(client);
  return {
    ...{ options, postmaster: await postmasterOf(dir) },
    fill: (count) => fill(client, indexes, count),
    async index() {
      for (const [, definition] of indexes.filter(([name]) => !READ.includes(name))) await client.query(definition);
      await client.query('vacuum (analyze)');
    },
    install: (count, targets) => install(client, count, targets),
    async [Symbol.asyncDispose]() {
      await client.end();
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Definitions by name of what rows are added faster without. */
type Indexes = readonly (readonly [name: string, definition: string])[];

async function fill(client: pg.Client, indexes: Indexes, count: number): Promise<void> {
  await client.query('truncate dataset cascade');
  for (const name of [...indexes.map(([name]) => name), 'peers_order'])
    await client.query(`drop index if exists ${name}`);
  const metadata = {
    type: { name: 'genelist', version: '1.0' },
    ...{ installTargets: ['AlphaDB', 'BetaDB'], visibility: 'private', owner: 1, name: 'Genes of interest' },
    ...{ summary: 'Some genes', origin: 'direct-upload', created: '2026-01-02T03:04:05.678Z', dependencies: [] },
    daysForApproval: -1,
  };
  await client.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, created, upload_status, import_status, upload_file_count, raw_bytes, install_targets, meta_etag,
       meta_modified_ms)
     select ${DATASET_SQL}, ${OWNER_SQL}, ${DATASET_SQL}, 0, 'live', 'genelist', '1.0', $1::jsonb, 'private',
       'Genes of interest ' || n, to_timestamp(${FIRST_MODIFIED_MS / 1000} - n), 'success', 'invalid', 1, 1,
       '{AlphaDB,BetaDB}', ${ETAG_SQL}, ${MODIFIED_SQL}
     from generate_series(0, ${count - 1}) n`,
    [JSON.stringify(metadata)],
  );
  for (const [name, definition] of indexes) if (READ.includes(name)) await client.query(definition);
  await client.query('vacuum (analyze)');
  await client.query('checkpoint');
}

async function install(client: pg.Client, count: number, targets: readonly string[]): Promise<void> {
  await client.query('truncate control.dataset cascade');
  await client.query(
    `insert into control.dataset (dataset_id, owner, type_name, type_version, category, deleted_status, accessibility,
       days_for_approval, creation_date, lease_token, original_id)
     select ${DATASET_SQL}, ${OWNER_SQL}, 'genelist', '1.0', 'Gene List', 0, 'private', -1, now(), 1, ${DATASET_SQL}
     from generate_series(0, ${count - 1}) n`,
  );
  await client.query(
    `insert into control.dataset_install (dataset_id, target_id, accessibility)
     select ${DATASET_SQL}, x, 'private' from generate_series(0, ${count - 1}) n, unnest($1::text[]) x`,
    [targets],
  );
  await client.query('vacuum (analyze)');
}

async function secondaryIndexes(client: pg.Client): Promise<Indexes> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i
     where i.indrelid = 'dataset'::regclass and not i.indisprimary`,
  );
  return rows.map(({ name, definition }) => [name, definition] as const);
}
