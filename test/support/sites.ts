// What a site finds after an install: rows of the data and control schemas that `longshore up` made.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';

interface DatabaseEntry {
  readonly name: string;
  readonly username: string;
  readonly password: string;
  readonly schema: string;
}

interface UpConfig {
  readonly installer: {
    readonly installTargets: readonly {
      readonly targetId: string;
      readonly controlDb: DatabaseEntry;
      readonly dataDb: DatabaseEntry;
    }[];
  };
}

/** Runs a query in a target's data or control schema; `{schema}` is not needed, it is the search path. */
export async function queryTarget<Row extends object>(
  dir: string,
  target: string,
  which: 'dataDb' | 'controlDb',
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const config = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as UpConfig;
  const entry = config.installer.installTargets.find((one) => one.targetId === target)?.[which];
  if (!entry) throw new Error(`no ${which} of ${target}`);
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(await readFile(join(dir, 'postgres.port'), 'utf8')),
    user: entry.username,
    password: entry.password,
    database: entry.name,
    options: `-c search_path=${entry.schema}`,
  });
  await client.connect();
  try {
    return (await client.query(text, values as unknown[])).rows as Row[];
  } finally {
    await client.end();
  }
}

export async function countRows(dir: string, target: string, table: string, dataset: string): Promise<number> {
  const [row] = await queryTarget<{ count: string }>(
    dir,
    target,
    'dataDb',
    `select count(*) as count from ${pg.escapeIdentifier(table)} where dataset_id = $1`,
    [dataset],
  );
  return Number(row?.count);
}
