// What the samples install: rows of a dataset in a data DB, with one table per type, and its files, found at any depth and
// copied with their folders. All rows of a dataset are replaced or removed together. Steps on files are synchronous, because a
// thread costs more than a step on a small file.

import { chmodSync, copyFileSync, mkdirSync, opendirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseMetadata } from '../../engine/model/metadata.ts';
import { codeOf } from '../../engine/runtime/failure.ts';
import { type Row, type RowTable, type SampleDatabase, statementsOf } from './row-statements.ts';
import { LIMITS, Refusal, type SampleIo, type SamplePlugin, shown, tooMany } from './sample.ts';
import { ownText } from './text-lines.ts';

const BATCH_ROWS = 2_000;
const BATCH_BYTES = 1024 * 1024;
type Rows = AsyncIterable<Row> | Iterable<Row>;

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
  const statements = statementsOf(db);
  if (!(await statements.exists(db, table))) await statements.create(db, table, signal);
  return db.transaction((sql) => {
    const replace = async (): Promise<number> => {
      await statements.remove(sql, table, dataset);
      let total = 0;
      for await (const batch of batches(rows)) {
        signal.throwIfAborted();
        await statements.insert(sql, table, dataset, batch);
        total += batch.length;
      }
      return total;
    };
    // Two loads of one dataset would otherwise both delete first, and then collide.
    return statements.alone(sql, table, dataset, replace);
  }, signal);
}

/** Removes all rows of the dataset. Does nothing if the table does not exist. */
async function removeRows(db: SampleDatabase, table: RowTable, dataset: string, signal: AbortSignal): Promise<void> {
  const statements = statementsOf(db);
  if (!(await statements.exists(db, table))) return;
  await db.transaction((sql) => statements.remove(sql, table, dataset), signal);
}

async function* batches(rows: Rows): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
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
