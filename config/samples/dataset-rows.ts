// Rows of datasets in a data DB: one table per type, all rows of a dataset replaced or removed as one.

export interface SampleSql {
  query<Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface SampleDatabase extends SampleSql {
  transaction<Result>(work: (sql: SampleSql) => Promise<Result>, signal: AbortSignal): Promise<Result>;
}

/** A table whose first column is `dataset_id`. Names are constants of the samples. */
export interface RowTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: 'text' | 'integer' | 'float8' | 'jsonb' }[];
  /** With `dataset_id` before it, the primary key. */
  readonly key: readonly string[];
}

type Value = string | number;

const BATCH_ROWS = 2_000;
const BATCH_BYTES = 1024 * 1024;
/** Any number; the same for every sample, so that two scripts do not make one table at once. */
const CREATE_LOCK = 7_305_002;

/** Replaces all rows of the dataset in one transaction and returns how many there are now. */
export async function replaceRows(
  db: SampleDatabase,
  table: RowTable,
  dataset: string,
  rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
  signal: AbortSignal,
): Promise<number> {
  await ensureTable(db, table, signal);
  return db.transaction(async (sql) => {
    // Two loads of one dataset take turns; else both would delete first and then collide.
    await sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${table.name}/${dataset}`]);
    await sql.query(`delete from ${table.name} where dataset_id = $1`, [dataset]);
    let total = 0;
    for await (const batch of batches(rows)) {
      signal.throwIfAborted();
      await insert(sql, table, dataset, batch);
      total += batch.length;
    }
    return total;
  }, signal);
}

/** Removes all rows of the dataset; a table that was never made holds none. */
export async function removeRows(
  db: SampleDatabase,
  table: RowTable,
  dataset: string,
  signal: AbortSignal,
): Promise<void> {
  if (!(await tableExists(db, table))) return;
  await db.transaction((sql) => sql.query(`delete from ${table.name} where dataset_id = $1`, [dataset]), signal);
}

async function ensureTable(db: SampleDatabase, table: RowTable, signal: AbortSignal): Promise<void> {
  if (await tableExists(db, table)) return;
  const columns = table.columns.map((column) => `${column.name} ${column.type} not null`);
  await db.transaction(async (sql) => {
    // `if not exists` alone fails when two sessions create the table at the same moment.
    await sql.query('select pg_advisory_xact_lock($1)', [CREATE_LOCK]);
    await sql.query(
      `create table if not exists ${table.name} (dataset_id text not null, ${columns.join(', ')},
       primary key (${['dataset_id', ...table.key].join(', ')}))`,
    );
  }, signal);
}

async function tableExists(sql: SampleSql, table: RowTable): Promise<boolean> {
  const [row] = await sql.query<{ found: boolean }>('select to_regclass($1) is not null as found', [table.name]);
  return row?.found === true;
}

async function insert(
  sql: SampleSql,
  table: RowTable,
  dataset: string,
  batch: readonly (readonly Value[])[],
): Promise<void> {
  const names = table.columns.map((column) => column.name);
  const arrays = table.columns.map((column, i) => `$${i + 2}::${column.type}[]`);
  await sql.query(
    `insert into ${table.name} (dataset_id, ${names.join(', ')})
     select $1, rows.* from unnest(${arrays.join(', ')}) as rows`,
    [dataset, ...table.columns.map((_, i) => batch.map((row) => row[i]))],
  );
}

async function* batches(
  rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
): AsyncGenerator<readonly (readonly Value[])[]> {
  let batch: (readonly Value[])[] = [];
  let bytes = 0;
  for await (const row of rows) {
    batch.push(row);
    for (const value of row) bytes += typeof value === 'string' ? value.length : 8;
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
