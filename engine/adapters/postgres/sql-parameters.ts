// Collects the values of one statement that is put together from constant pieces, so that a value never becomes text.

export class SqlParameters {
  readonly #values: unknown[] = [];

  get values(): readonly unknown[] {
    return this.#values;
  }

  /** The placeholder for a value, cast to the type that is meant: `$3::text[]`. */
  add(value: unknown, type: SqlType): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }
}

export type SqlType =
  | 'text'
  | 'text[]'
  | 'jsonb'
  | 'boolean'
  | 'boolean[]'
  | 'smallint'
  | 'integer'
  | 'integer[]'
  | 'bigint'
  | 'bigint[]'
  | 'numeric'
  | 'numeric[]'
  | 'timestamptz';
