// The place of the reconciler's slim runs: one row of the cache database.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { SlimPass, SlimPasses } from '../../ports/slim-passes.ts';
import type { Postgres } from '../postgres/postgres.ts';

const LOAD = 'select owner_id, dataset_id, begun_at, compared, expected from slim_pass';

const SAVE = `
  insert into slim_pass (owner_id, dataset_id, begun_at, compared, expected) values ($1, $2, $3, $4, $5)
  on conflict (only_row) do update set (owner_id, dataset_id, begun_at, compared, expected) =
    (excluded.owner_id, excluded.dataset_id, excluded.begun_at, excluded.compared, excluded.expected)`;

interface PassRow {
  readonly owner_id: UserId | null;
  readonly dataset_id: DatasetId | null;
  readonly begun_at: Date;
  readonly compared: number;
  readonly expected: number;
}

export class PostgresSlimPasses implements SlimPasses {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async load(signal: AbortSignal): Promise<SlimPass | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<PassRow>(LOAD);
    if (!row) return undefined;
    const { owner_id: owner, dataset_id: dataset, begun_at: begunAt, compared, expected } = row;
    return { after: owner !== null && dataset !== null ? { owner, dataset } : undefined, begunAt, compared, expected };
  }

  async save({ after, begunAt, compared, expected }: SlimPass, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(SAVE, [after?.owner ?? null, after?.dataset ?? null, begunAt, compared, expected]);
  }
}
