// The statements of the samples on each database platform. Names of tables and columns are constants in the samples.

import { transient } from '../../engine/runtime/failure.ts';

export interface SampleSql {
  query<Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface SampleDatabase extends SampleSql {
  readonly platform: keyof typeof STATEMENTS;
  transaction<Result>(work: (sql: SampleSql) => Promise<Result>, signal: AbortSignal): Promise<Result>;
}

/** A table whose first column is `dataset_id`. Names are constants in the samples, never input. */
export interface RowTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: 'text' | 'integer' | 'float8' | 'jsonb' }[];
  /** These columns and `dataset_id` identify a row. */
  readonly key: readonly string[];
}

export type Row = readonly (string | number)[];

interface RowStatements {
  exists(sql: SampleSql, table: RowTable): Promise<boolean>;
  /** Several may create it at the same time. */
  create(db: SampleDatabase, table: RowTable, signal: AbortSignal): Promise<void>;
  /** Runs `work` while nobody else replaces rows of the dataset, in the transaction of `sql`. */
  alone<Result>(sql: SampleSql, table: RowTable, dataset: string, work: () => Promise<Result>): Promise<Result>;
  insert(sql: SampleSql, table: RowTable, dataset: string, rows: readonly Row[]): Promise<void>;
  remove(sql: SampleSql, table: RowTable, dataset: string): Promise<void>;
}

/** An arbitrary number, the same for all samples, so that two scripts do not create one table at the same time. */
const CREATE_LOCK = 7_305_002;

const postgres: RowStatements = {
  async exists(sql, { name }) {
    const [row] = await sql.query<{ found: boolean }>('select to_regclass($1) is not null as found', [name]);
    return row?.found === true;
  },
  async create(db, { name, columns, key }, signal) {
    const types = columns.map((column) => `${column.name} ${column.type} not null`);
    await db.transaction(async (sql) => {
      // `if not exists` alone fails when two sessions create the table at the same moment.
      await sql.query('select pg_advisory_xact_lock($1)', [CREATE_LOCK]);
      await sql.query(
        `create table if not exists ${name} (dataset_id text not null, ${types.join(', ')},
         primary key (${['dataset_id', ...key].join(', ')}))`,
      );
    }, signal);
  },
  async alone(sql, { name }, dataset, work) {
    await sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${name}/${dataset}`]);
    return work();
  },
  async insert(sql, { name, columns }, dataset, rows) {
    const arrays = columns.map((column, i) => `$${i + 2}::${column.type}[]`);
    await sql.query(
      `insert into ${name} (dataset_id, ${columns.map((column) => column.name).join(', ')})
       select $1, rows.* from unnest(${arrays.join(', ')}) as rows`,
      [dataset, ...columns.map((_, i) => rows.map((row) => row[i]))],
    );
  },
  async remove(sql, { name }, dataset) {
    await sql.query(`delete from ${name} where dataset_id = $1`, [dataset]);
  },
};

/** `row_number` is a reserved word there. */
const quoted = (name: string): string => `\`${name}\``;

const MARIADB_TYPES = { text: 'longtext', integer: 'int', float8: 'double', jsonb: 'json' } as const;
/** Less than the time that a statement may take. */
const LOCK_SECONDS = 50;
/** Names of locks are those of the whole server. */
const LOCK = "concat('longshore.', sha1(concat_ws('/', database(), ?, ?)))";

const mariadb: RowStatements = {
  async exists(sql, { name }) {
    const text = 'select 1 from information_schema.tables where table_schema = database() and table_name = ?';
    return (await sql.query(text, [name])).length > 0;
  },
  async create(db, { name, columns, key }) {
    const types = columns.map((column) => `${quoted(column.name)} ${MARIADB_TYPES[column.type]} not null`);
    // Text is too long for a primary key. A unique key keeps only its hash, so it does not find the rows of a dataset.
    await db.query(
      `create table if not exists ${name} (dataset_id varchar(64) not null, ${types.join(', ')},
       unique (${['dataset_id', ...key].map(quoted).join(', ')}), index (dataset_id)) engine InnoDB collate utf8mb4_bin`,
    );
  },
  async alone(sql, { name }, dataset, work) {
    const [lock] = await sql.query<{ held: number | null }>(`select get_lock(${LOCK}, ?) as held`, [
      ...[name, dataset, LOCK_SECONDS],
    ]);
    if (lock?.held !== 1) throw transient(`another load of dataset ${dataset} took longer than ${LOCK_SECONDS} s`);
    try {
      return await work();
    } finally {
      // Until the transaction ends, its rows are locked: whoever has the lock next waits for them.
      await sql.query(`select release_lock(${LOCK})`, [name, dataset]);
    }
  },
  async insert(sql, { name, columns }, dataset, rows) {
    const paths = columns.map(({ name: column, type }, i) => {
      const given = type === 'text' || type === 'jsonb' ? 'longtext charset utf8mb4' : MARIADB_TYPES[type];
      return `${quoted(column)} ${given} path '$[${i}]'`;
    });
    await sql.query(
      `insert into ${name} (dataset_id, ${columns.map((column) => quoted(column.name)).join(', ')})
       select ?, x.* from json_table(?, '$[*]' columns (${paths.join(', ')})) x`,
      [dataset, JSON.stringify(rows)],
    );
  },
  async remove(sql, { name }, dataset) {
    await sql.query(`delete from ${name} where dataset_id = ?`, [dataset]);
  },
};

const STATEMENTS = { Postgres: postgres, MariaDB: mariadb } as const;

export const statementsOf = ({ platform }: Pick<SampleDatabase, 'platform'>): RowStatements => STATEMENTS[platform];
