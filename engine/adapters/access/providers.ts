// The providers of datasets.

import type { CuratedId } from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { AccessProviders, Cause, Listing, NewProvider, PageRequest, Provider } from '../../ports/access-people.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowBatches } from '../postgres/row-pages.ts';
import { causing } from './causing.ts';

/** No server accepts a mail with more recipients. */
const MAX_MANAGERS = 1_000;

/** Rows in memory at once. */
const BATCH = 1_000;

interface ProviderRow extends PageRow {
  readonly provider_id: number;
  readonly user_id: UserId;
  readonly dataset_id: CuratedId;
  readonly is_manager: boolean;
}

const COLUMNS = 'provider_id, user_id::text as user_id, dataset_id, is_manager';

const LIST = boundedPage(`
  select ${COLUMNS} from provider where dataset_id = $1 and provider_id > $4::bigint
  order by provider_id limit $2::bigint offset $3::bigint`);

export class PostgresAccessProviders implements AccessProviders {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  async list(dataset: CuratedId, page: PageRequest, signal: AbortSignal): Promise<Listing<Provider>> {
    signal.throwIfAborted();
    const [count] = await this.#db.query<{ total: number }>(
      'select providers as total from people_count where dataset_id = $1',
      [dataset],
      'providers-total',
    );
    return { items: this.#batches(dataset, page, signal), total: count?.total ?? 0 };
  }

  async *#batches(
    dataset: CuratedId,
    { limit, offset }: PageRequest,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Provider[], void, undefined> {
    const batches = rowBatches<ProviderRow, number>({
      read: (count, after) =>
        this.#db.query(LIST, [dataset, count, after === undefined ? offset : 0, after ?? 0], 'providers'),
      placeOf: ({ provider_id }) => provider_id,
      batchSize: BATCH,
      limit,
      signal,
    });
    for await (const batch of batches) yield batch.map(provider);
  }

  async managers(dataset: CuratedId, signal: AbortSignal): Promise<readonly UserId[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ user_id: UserId }>(
      `select user_id::text as user_id from provider where dataset_id = $1 and is_manager
       order by provider_id limit ${MAX_MANAGERS}`,
      [dataset],
    );
    return rows.map((row) => row.user_id);
  }

  async find(providerId: number, signal: AbortSignal): Promise<Provider | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<ProviderRow>(`select ${COLUMNS} from provider where provider_id = $1`, [
      providerId,
    ]);
    return row && provider(row);
  }

  add(added: NewProvider, cause: Cause, signal: AbortSignal): Promise<number | undefined> {
    return causing(this.#db, cause, (sql) => insertProvider(sql, added), signal);
  }

  setManager(providerId: number, isManager: boolean, cause: Cause, signal: AbortSignal): Promise<boolean> {
    const update = async (sql: Sql): Promise<boolean> => {
      const [row] = await sql.query('select from provider where provider_id = $1 for update', [providerId]);
      // An update without a change must leave no trace in the audit.
      await sql.query('update provider set is_manager = $2 where provider_id = $1 and is_manager <> $2', [
        providerId,
        isManager,
      ]);
      return row !== undefined;
    };
    return causing(this.#db, cause, update, signal);
  }

  remove(providerId: number, cause: Cause, signal: AbortSignal): Promise<boolean> {
    const remove = async (sql: Sql): Promise<boolean> =>
      (await sql.query('delete from provider where provider_id = $1 returning provider_id', [providerId])).length > 0;
    return causing(this.#db, cause, remove, signal);
  }
}

/** Undefined when the user is a provider of the dataset already. */
export async function insertProvider(sql: Sql, added: NewProvider): Promise<number | undefined> {
  const [row] = await sql.query<{ provider_id: number }>(
    `insert into provider (user_id, dataset_id, is_manager) values ($1::numeric, $2, $3)
     on conflict (user_id, dataset_id) do nothing returning provider_id`,
    [added.userId, added.datasetId, added.isManager],
  );
  return row?.provider_id;
}

const provider = (row: ProviderRow): Provider => ({
  providerId: row.provider_id,
  userId: row.user_id,
  datasetId: row.dataset_id,
  isManager: row.is_manager,
});
