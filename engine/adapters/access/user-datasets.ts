// Users' datasets in the access service: entered beside the curated ones, with the grants for them.

import type { CuratedId, RestrictionLevel } from '../../model/access-request.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { EnteredDatasets, UserDataset } from '../../ports/access-datasets.ts';
import type { Cause } from '../../ports/access-people.ts';
import type { GrantChange, GrantChanges, GrantedDataset, Grants } from '../../ports/access-requests.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { causing } from './causing.ts';

// Users' datasets in the catalogue of the access service, with their owners as managers.

const PAGE = 100;

/**
 * Returns a row if the dataset is entered with exactly these values. No row if the id is a curated dataset's or another
 * owner's.
 */
const AS_ENTERED = `
  select from curated_dataset c join provider p on p.dataset_id = c.dataset_id
  where c.dataset_id = $1 and c.owner_id = $2::numeric and p.user_id = $2::numeric and p.is_manager
    and (c.display_name, c.description, c.restriction_level, c.days_for_approval) = ($3::text, $4::text, $5::text, $6::integer)`;

const ENTER = `
  insert into curated_dataset as c (dataset_id, owner_id, study_id, sha1_hash, display_name, short_display_name,
    description, restriction_level, days_for_approval, prior_auth_label, mail_from, mail_manager_text,
    mail_requester_text, mail_approval_text)
  values ($1, $2::numeric, $1, '', $3, $3, $4, $5, $6, '', '', '', '', '')
  on conflict (dataset_id) do update set display_name = excluded.display_name,
    short_display_name = excluded.short_display_name, description = excluded.description,
    restriction_level = excluded.restriction_level, days_for_approval = excluded.days_for_approval
  where c.owner_id = excluded.owner_id
  returning c.dataset_id`;

export class PostgresEnteredDatasets implements EnteredDatasets {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  async enter(dataset: UserDataset, cause: Cause, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { root, owner, name, summary, daysForApproval } = dataset;
    const values = [root, owner, name, summary, levelOf(dataset), daysForApproval];
    if ((await this.#db.query(AS_ENTERED, values, 'as-entered')).length > 0) return;
    await causing(
      this.#db,
      cause,
      async (sql) => {
        if ((await sql.query(ENTER, values)).length === 0) return;
        await sql.query(
          `insert into provider as p (user_id, dataset_id, is_manager) values ($1::numeric, $2, true)
           on conflict (user_id, dataset_id) do update set is_manager = true where not p.is_manager`,
          [owner, root],
        );
      },
      signal,
    );
  }

  async close(dataset: CuratedId, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(
      `update curated_dataset set restriction_level = 'private'
       where dataset_id = $1 and owner_id is not null and restriction_level <> 'private'`,
      [dataset],
    );
  }

  async undecided(after: CuratedId | undefined, signal: AbortSignal): Promise<readonly CuratedId[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ dataset_id: CuratedId }>(
      `select c.dataset_id from curated_dataset c join people_count n on n.dataset_id = c.dataset_id
       where c.owner_id is not null and n.requested > 0 and c.dataset_id > $1
       order by c.dataset_id limit ${PAGE}`,
      [after ?? ''],
    );
    return rows.map((row) => row.dataset_id);
  }
}

/** As the API shows it: a protected dataset with 0 days for approval is controlled. */
const levelOf = ({ visibility, daysForApproval }: UserDataset): RestrictionLevel =>
  visibility === 'protected' && daysForApproval === 0 ? 'controlled' : visibility;

/** Grants for users' own datasets, as ../../model/access-request.ts says which are in force. */
export class PostgresGrants implements Grants {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async holds(user: UserId, { root, owner }: GrantedDataset, now: Date, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    // The end is a number of milliseconds: no timestamp is that far away.
    const rows = await this.#db.query(
      `select e.end_user_id from end_user e join curated_dataset c on c.dataset_id = e.dataset_id
       where e.user_id = $1::numeric and e.dataset_id = $2 and c.owner_id = $3::numeric
         and e.approval_status = 'approved' and e.start_date <= $4::timestamptz
         and (e.duration <= 0
           or extract(epoch from $4::timestamptz - e.start_date)::numeric < e.duration::numeric * 86400)`,
      [user, root, owner, now],
      'grant',
    );
    return rows.length > 0;
  }
}

// Changes of grants, numbered by the triggers of the access schema.

const CHANGES_AT_ONCE = 500;
/** More days mean no expiry: no timestamp is that far in the future. */
const MAX_DAYS = 1_000_000;

interface Row {
  readonly number: number;
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly user_id: UserId;
  readonly begins: Date | null;
  readonly ends: Date | null;
}

export class PostgresGrantChanges implements GrantChanges {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async source(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ source: string }>('select source::text as source from grant_number');
    return row?.source ?? '';
  }

  async after(number: number, signal: AbortSignal): Promise<readonly GrantChange[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<Row>(
      `select g.number, g.dataset_id, c.owner_id::text as owner_id, g.user_id::text as user_id, e.start_date as begins,
         case when e.duration between 1 and ${MAX_DAYS} then e.start_date + e.duration * interval '24 hours' end as ends
       from grant_change g join curated_dataset c on c.dataset_id = g.dataset_id
       left join end_user e on e.dataset_id = g.dataset_id and e.user_id = g.user_id and e.approval_status = 'approved'
       where g.number > $1 order by g.number limit ${CHANGES_AT_ONCE}`,
      [number],
      'grant-changes',
    );
    return rows.map((row) => ({
      number: row.number,
      root: row.dataset_id,
      owner: row.owner_id,
      user: row.user_id,
      grant: row.begins === null ? undefined : { begins: row.begins, ends: row.ends ?? undefined },
    }));
  }
}
