// What the samples install: rows of a dataset in a data DB, with one table per type, and its files, found at any depth and
// copied with their folders. All rows of a dataset are replaced or removed together. Steps on files are synchronous, because a
// thread costs more than a step on a small file.

import { chmodSync, copyFileSync, mkdirSync, opendirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseMetadata } from '../../engine/model/metadata.ts';
import { codeOf } from '../../engine/runtime/failure.ts';
import { LIMITS, Refusal, type SampleIo, type SamplePlugin, shown, tooMany } from './sample.ts';
import { ownText } from './text-lines.ts';

interface SampleSql {
  query<Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface SampleDatabase extends SampleSql {
  transaction<Result>(work: (sql: SampleSql) => Promise<Result>, signal: AbortSignal): Promise<Result>;
}

/** A table whose first column is `dataset_id`. Names are constants in the samples, never input. */
export interface RowTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: 'text' | 'integer' | 'float8' | 'jsonb' }[];
  /** The primary key is `dataset_id` and these columns. */
  readonly key: readonly string[];
}

type Value = string | number;

const BATCH_ROWS = 2_000;
const BATCH_BYTES = 1024 * 1024;
/** An arbitrary number, the same for all samples, so that two scripts do not create one table at the same time. */
const CREATE_LOCK = 7_305_002;

type Rows = AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>;

/**
 * The scripts that install a dataset as its files and the rows of one table, and remove it.
 * @param read the rows that the data folder holds, and the words for their number in the log
 */
export const installing = (
  table: RowTable,
  read: (dataDir: string) => Promise<{ readonly rows: Rows; readonly what: string }>,
): Pick<SamplePlugin, 'installData' | 'installMeta' | 'uninstall'> => ({
  async installData(dataset, dataDir, io) {
    installFiles(dataDir, io.dataFiles);
    const { rows, what } = await read(dataDir);
    const count = await replaceRows(await io.database(), table, dataset, rows, io.signal);
    io.log(`${count} ${what}`);
  },
  installMeta: installMetaRow,
  async uninstall(dataset, io) {
    await removeRows(await io.database(), table, dataset, io.signal);
    await removeMetaRow(dataset, io);
  },
});

/** Replaces all rows of the dataset in one transaction. Returns the new number of rows. */
async function replaceRows(
  db: SampleDatabase,
  table: RowTable,
  dataset: string,
  rows: Rows,
  signal: AbortSignal,
): Promise<number> {
  await ensureTable(db, table, signal);
  return db.transaction(async (sql) => {
    // Serializes two loads of one dataset; otherwise both would delete first, and then collide.
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

/** Removes all rows of the dataset. Does nothing if the table does not exist. */
async function removeRows(db: SampleDatabase, table: RowTable, dataset: string, signal: AbortSignal): Promise<void> {
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

async function* batches(rows: Rows): AsyncGenerator<readonly (readonly Value[])[]> {
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

/** The row with an installed dataset's metadata, which every sample writes. */
const TABLE: RowTable = {
  name: 'dataset_meta',
  columns: [
    { name: 'type_name', type: 'text' },
    { name: 'type_version', type: 'text' },
    { name: 'name', type: 'text' },
    { name: 'visibility', type: 'text' },
    /** Names of the data properties files, as a JSON list. */
    { name: 'properties', type: 'jsonb' },
  ],
  key: [],
};

export async function installMetaRow(
  dataset: string,
  metaFile: string,
  propertiesDir: string,
  io: SampleIo,
): Promise<void> {
  const { type, name, visibility } = parseMetadata(ownText(metaFile), metaFile);
  const properties = readdirSync(propertiesDir).sort();
  await replaceRows(
    await io.database(),
    TABLE,
    dataset,
    [[type.name, type.version, name, visibility, JSON.stringify(properties)]],
    io.signal,
  );
}

export async function removeMetaRow(dataset: string, io: SampleIo): Promise<void> {
  await removeRows(await io.database(), TABLE, dataset, io.signal);
}

/** The plugin host writes it next to the input; it is not part of the upload. */
const METADATA_FILE = 'vdi-meta.json';
const RESERVED_PREFIX = 'vdi-';

/** Relative paths with `/`, sorted, without the metadata document at the top. */
export function listFiles(dir: string, most: number = LIMITS.files): readonly string[] {
  const files: string[] = [];
  const visit = (folder: string): void => {
    using entries = opendirSync(join(dir, folder));
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (!entry.isFile()) throw new Refusal([`${shown(path)} is neither a file nor a folder`]);
      else if (path !== METADATA_FILE) files.push(path);
      if (files.length > most) throw new Refusal([`file ${shown(path)} ${tooMany(files.length, most)}`]);
    }
  };
  visit('');
  return files.sort();
}

/** The only file of a type that consists of one file. */
export function soleFile(dir: string, what: string): string {
  const files = listFiles(dir);
  const [only] = files;
  if (files.length === 1 && only !== undefined) return only;
  const found = files.length === 0 ? 'none' : `${files.length}: ${files.slice(0, 5).map(shown).join(', ')}`;
  throw new Refusal([`the upload must be one ${what} file; found ${found}${files.length > 5 ? ', ...' : ''}`]);
}

/** Copies files unchanged. Refuses names that the host reserves. */
export function exportFiles(from: string, files: readonly string[], to: string): void {
  const reserved = files.filter((file) => file.startsWith(RESERVED_PREFIX));
  if (reserved.length > 0)
    throw new Refusal(reserved.slice(0, 20).map((file) => `${shown(file)}: names beginning with 'vdi-' are reserved`));
  for (const file of files) copyOne(join(from, file), join(to, file));
}

/** Copies the whole data folder, including metadata, to the dataset's folder, readable by the site. */
export function installFiles(dataDir: string, dataFiles: string): void {
  for (const file of listFiles(dataDir)) copyOne(join(dataDir, file), join(dataFiles, file));
  try {
    copyOne(join(dataDir, METADATA_FILE), join(dataFiles, METADATA_FILE));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function copyOne(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o775 });
  copyFileSync(from, to);
  chmodSync(to, 0o664);
}
