// Collects the values of one statement that is assembled from constant pieces, so that a value never becomes SQL text.

export class SqlParameters {
  readonly #values: unknown[] = [];

  get values(): readonly unknown[] {
    return this.#values;
  }

  /** Returns the placeholder for a value, cast to its type: `$3::text[]`. */
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
