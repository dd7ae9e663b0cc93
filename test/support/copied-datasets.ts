// Very many datasets of a running `longshore up`: copies of a few that it took, imported, installed and maybe deleted itself.
// Every row that names such a dataset is copied, in the cache and on every site, and every object. So the copies are what as
// many uploads would have left, in minutes instead of days.

import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';
import { etagOf } from '../../engine/adapters/directory/directory-store-reader.ts';

/** A dataset that is copied. */
export interface Original {
  readonly owner: string;
  readonly dataset: string;
}

export interface Copy {
  readonly owner: string;
  readonly dataset: string;
}

/** Of a copy: what its rows have instead of what those of the original have. */
interface CopyRow extends Copy {
  /** Its place among all: each is a second older than the one before it. */
  readonly n: number;
  readonly metaEtag: string;
  readonly metaMs: number;
  readonly dataEtag: string;
  readonly dataMs: number;
}

const META = 'vdi-meta.json';
const DATA = 'install-ready.zip';
/** Datasets of one transaction. */
const BATCH = 2_000;

export class CopiedDatasets implements AsyncDisposable {
  readonly #objects: string;
  readonly #staging: string;
  readonly #databases: readonly Database[];

  private constructor(dir: string, databases: readonly Database[]) {
    this.#objects = join(dir, 'objects', 'objects');
    this.#staging = join(dir, 'objects', 'copies');
    this.#databases = databases;
  }

  /** @param dir the data directory of `up` */
  static async open(dir: string): Promise<CopiedDatasets> {
    const databases: Database[] = [];
    for (const name of await databaseNames(dir)) databases.push(await Database.open(dir, name));
    return new CopiedDatasets(dir, databases);
  }

  /**
   * Copies the original so many times.
   * @param at the n-th copy
   */
  async add(original: Original, count: number, at: (n: number) => Copy): Promise<void> {
    const folder = join(this.#objects, original.owner, original.dataset);
    const objects = readdirSync(folder).map((name) => ({ name, content: readFileSync(join(folder, name)) }));
    const tables = [];
    for (const db of this.#databases) tables.push({ db, statements: await db.statementsFor(original) });
    mkdirSync(this.#staging, { recursive: true });
    for (let from = 0; from < count; from += BATCH) {
      const copies = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => ({
        n: from + i,
        ...at(from + i),
      }));
      // A run of the reconciler never sees a copy that the databases do not have yet.
      const rows = copies.map((copy) => this.#write(copy, objects));
      for (const { db, statements } of tables) await db.insert(statements, original, rows);
      for (const { owner, dataset } of copies) {
        mkdirSync(join(this.#objects, owner), { recursive: true });
        renameSync(join(this.#staging, dataset), join(this.#objects, owner, dataset));
      }
    }
  }

  /** Statistics as they are once autovacuum has come by. */
  async analyze(): Promise<void> {
    for (const db of this.#databases) await db.analyze();
  }

  /** Not synced: a copy is lost with the machine, and so is the measure. */
  #write(copy: Copy & { readonly n: number }, objects: readonly { name: string; content: Buffer }[]): CopyRow {
    const folder = join(this.#staging, copy.dataset);
    mkdirSync(folder);
    const versions = new Map<string, { readonly etag: string; readonly ms: number }>();
    for (const { name, content } of objects) {
      const file = join(folder, name);
      writeFileSync(file, name === META ? metadataOf(copy, content) : content);
      if (name !== META && name !== DATA) continue;
      const stats = statSync(file, { bigint: true });
      versions.set(name, { etag: etagOf(stats), ms: Number(stats.mtimeNs / 1_000_000n) });
    }
    const [meta, data] = [versions.get(META), versions.get(DATA)];
    if (!meta) throw new Error(`the original has no ${META}`);
    // An import that failed has left no data, and no row that names their version.
    const { etag, ms } = data ?? meta;
    return { ...copy, metaEtag: meta.etag, metaMs: meta.ms, dataEtag: etag, dataMs: ms };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const db of this.#databases) await db[Symbol.asyncDispose]();
  }
}

function metadataOf({ owner, n }: Copy & { readonly n: number }, content: Buffer): string {
  const metadata = JSON.parse(content.toString()) as { created: string };
  const created = new Date(Date.parse(metadata.created) - n * 1_000).toISOString();
  return JSON.stringify({ ...metadata, owner: Number(owner), created });
}

interface Config {
  readonly installer: {
    readonly cacheDb: { readonly name: string };
    readonly installTargets: readonly { readonly controlDb: { readonly name: string } }[];
  };
}

async function databaseNames(dir: string): Promise<readonly string[]> {
  const { installer } = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as Config;
  return [...new Set([installer.cacheDb.name, ...installer.installTargets.map(({ controlDb }) => controlDb.name)])];
}

/** As the superuser, with rows of any schema. */
export async function superuserOf(dir: string, database: string): Promise<pg.Client> {
  const read = async (name: string): Promise<string> => (await readFile(join(dir, name), 'utf8')).trim();
  const client = new pg.Client({
    ...{ host: '127.0.0.1', port: Number(await read('postgres.port')), user: 'postgres', database },
    password: await read('postgres.password'),
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

class Database implements AsyncDisposable {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(dir: string, name: string): Promise<Database> {
    return new Database(await superuserOf(dir, name));
  }

  /** One for each table that names the original, in the order of their references. */
  async statementsFor({ dataset }: Original): Promise<readonly string[]> {
    const { rows } = await this.#client.query<{ schema: string; name: string; columns: string[] }>(TABLES);
    const statements: string[] = [];
    for (const { schema, name, columns } of rows) {
      const table = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
      const found = await this.#client.query(`select from ${table} where dataset_id = $1 limit 1`, [dataset]);
      if (found.rowCount === 0) continue;
      const values = columns.map((column) => columnOf(name, column));
      const into = columns.map((column) => pg.escapeIdentifier(column));
      statements.push(`insert into ${table} (${into.join(', ')}) select ${values.join(', ')}
        from ${table} o cross join unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::bigint[])
          c (dataset_id, owner, n, meta_etag, meta_ms, data_etag, data_ms)
        where o.dataset_id = $1`);
    }
    return statements;
  }

  async insert(statements: readonly string[], { dataset }: Original, rows: readonly CopyRow[]): Promise<void> {
    const columns = (['dataset', 'owner', 'n', 'metaEtag', 'metaMs', 'dataEtag', 'dataMs'] as const).map((key) =>
      rows.map((row) => row[key]),
    );
    await this.#client.query('begin');
    for (const statement of statements) await this.#client.query(statement, [dataset, ...columns]);
    await this.#client.query('commit');
  }

  async analyze(): Promise<void> {
    await this.#client.query('vacuum (analyze)');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}

/** What a copy's row has in that column. */
function columnOf(table: string, column: string): string {
  const own = OWN[`${table}.${column}`] ?? OWN[column];
  return own ?? `o.${pg.escapeIdentifier(column)}`;
}

const CREATED = `interval '1 second' * c.n`;
const OWN: Readonly<Record<string, string>> = {
  dataset_id: 'c.dataset_id',
  root_id: 'c.dataset_id',
  original_id: 'c.dataset_id',
  owner_id: 'c.owner',
  owner: 'c.owner',
  'dataset_visibility.user_id': 'c.owner',
  'dataset.metadata': `o.metadata || jsonb_build_object('owner', c.owner, 'created',
    to_char((o.created - ${CREATED}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`,
  'dataset.created': `o.created - ${CREATED}`,
  'dataset.creation_date': `o.creation_date - ${CREATED}`,
  'dataset.meta_etag': 'c.meta_etag',
  'dataset.meta_modified_ms': 'c.meta_ms',
  'dataset.data_etag': 'c.data_etag',
  'dataset.data_modified_ms': 'c.data_ms',
  'sync_control.etag': `case o.part when 'meta' then c.meta_etag when 'data' then c.data_etag else o.etag end`,
  'sync_control.modified': `case o.part when 'meta' then to_timestamp(c.meta_ms / 1000.0)
    when 'data' then to_timestamp(c.data_ms / 1000.0) else o.modified end`,
};

/** Those that have rows of datasets, unless triggers fill them. What other tables refer to comes first. */
const TABLES = `
  select c.table_schema as schema, c.table_name as name, array_agg(c.column_name::text order by c.ordinal_position)
      filter (where c.is_identity = 'NO') as columns
  from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
  where t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER' and c.table_schema not in ('access', 'report')
  group by c.table_schema, c.table_name
  having bool_or(c.column_name = 'dataset_id' and c.data_type = 'text') and c.table_name not in ('job', 'job_history', 'event_log', 'dataset_event', 'slim_pass')
    and c.table_name not like 'dataset_search%'
    and c.table_name not like 'audit%'
  order by c.table_name <> 'dataset', c.table_name <> 'dataset_install', c.table_schema, c.table_name`;
