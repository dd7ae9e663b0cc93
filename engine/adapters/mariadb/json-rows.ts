// Rows as one parameter of a statement on MariaDB, which has no arrays: the text of a statement does not depend on how many rows
// there are, so that each connection prepares it once.

import { storableText } from '../postgres/sql-parameters.ts';

/** Types by column, in the order of the values of a row. */
export type JsonColumns = Readonly<Record<string, 'text' | 'int' | 'boolean' | 'decimal(19)' | 'datetime(6)'>>;

/** A table `x` in place of one parameter. */
export const jsonTable = (columns: JsonColumns): string =>
  `json_table(?, '$[*]' columns (${Object.entries(columns)
    // Without a character set, text would have that of the connection's database, and lose what that cannot hold.
    .map(([name, type], at) => `${name} ${type === 'text' ? 'longtext charset utf8mb4' : type} path '$[${at}]'`)})) x`;

/** The parameter. Text is made storable. */
export const jsonRows = (rows: readonly (readonly unknown[])[]): string =>
  JSON.stringify(rows.map((row) => row.map(cell)));

function cell(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  // Literals of MariaDB have no time zone.
  return value instanceof Date ? value.toISOString().slice(0, -1) : value;
}
