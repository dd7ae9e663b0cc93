// Users' installed datasets, from the cache DB; install targets are not queried.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { StoredVisibility } from '../../model/status.ts';
import type { UserDataset, UserDatasets, UserStudies, UserStudy } from '../../ports/access-datasets.ts';
import { defect } from '../../runtime/failure.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowBatches } from '../postgres/row-pages.ts';

const MAX_STUDIES = 10_000;
const MAX_ROOTS = 1_000;
/** Rows in memory at once. */
const BATCH = 250;

const COLUMNS = `d.dataset_id, d.root_id, d.owner_id::text as owner_id, d.visibility, d.name,
  d.metadata ->> 'summary' as summary`;
const ACCEPTED = `s.recipient_id = $1::numeric and s.offer = 'grant' and s.receipt = 'accept'`;
/** Installed on at least one target, with metadata and data. */
const INSTALLED = `d.state = 'live' and exists (
  select from install_status i join install_status m on m.dataset_id = i.dataset_id and m.target_id = i.target_id
  where i.dataset_id = d.dataset_id and i.kind = 'data' and i.status = 'complete'
    and m.kind = 'meta' and m.status = 'complete')`;

const PART = `case when d.owner_id = $1::numeric then 'owner'
  when exists (select from dataset_share s where s.dataset_id = d.dataset_id and ${ACCEPTED}) then 'recipient' end as part`;

/**
 * Datasets that `$1` owns or that are shared with `$1`.
 * @param first conditions, order and limit on `d`, of each of the two: so PostgreSQL reads no more of an index than it returns
 */
const OWN = (columns: string, first: string): string => `
  (select ${columns}, 'owner' as part from dataset d where d.owner_id = $1::numeric and ${INSTALLED} ${first})
  union all
  (select ${columns}, 'recipient' from dataset_share s join dataset d on d.dataset_id = s.dataset_id
   where ${ACCEPTED} and d.owner_id <> $1::numeric and ${INSTALLED} ${first})`;

const NEWEST_FIRST = 'order by d.created desc, d.dataset_id';

const OWN_ROOTS = `
  select root_id from (${OWN('d.root_id, d.created, d.dataset_id', `${NEWEST_FIRST} limit ${MAX_STUDIES}`)}) d
  ${NEWEST_FIRST} limit ${MAX_STUDIES}`;

/** Continues after the dataset with the time `$3` and the id `$4`. */
const AFTER = `
  and d.created <= coalesce($3::timestamptz, 'infinity')
  and (d.created < coalesce($3::timestamptz, 'infinity') or d.dataset_id > $4)`;

const OWN_BATCH = boundedPage(`
  select *, created::text as created_text
  from (${OWN(`${COLUMNS}, d.created`, `${AFTER} ${NEWEST_FIRST} limit $2::bigint`)}) d
  ${NEWEST_FIRST} limit $2::bigint`);

/** The newest revisions of the originals `$2`, after `$4`. */
const NEWEST_BATCH = boundedPage(`
  select ${COLUMNS}, ${PART} from unnest($2::text[]) r (root_id) cross join lateral (
    select * from dataset n where n.root_id = r.root_id and n.state = 'live' order by n.revision desc limit 1) d
  where ${INSTALLED} and ($4::text is null or d.root_id > $4)
  order by d.root_id limit $3::bigint`);

interface OwnRow extends StudyRow {
  readonly created_text: string;
}

interface StudyRow extends PageRow {
  readonly dataset_id: DatasetId;
  readonly root_id: DatasetId;
  readonly owner_id: UserId;
  readonly visibility: StoredVisibility;
  readonly name: string;
  readonly summary: string | null;
  readonly part: NonNullable<UserStudy['part']> | null;
}

export class PostgresUserStudies implements UserStudies {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async *own(user: UserId, signal: AbortSignal): AsyncGenerator<readonly UserStudy[], void, undefined> {
    const batches = rowBatches<OwnRow, readonly [created: string, id: DatasetId]>({
      read: (count, [created, id] = ['', '' as DatasetId]) =>
        this.#db.query(OWN_BATCH, [user, count, created || null, id], 'own-studies'),
      placeOf: ({ created_text, dataset_id }) => [created_text, dataset_id],
      batchSize: BATCH,
      limit: MAX_STUDIES,
      signal,
    });
    for await (const batch of batches) yield batch.map(study);
  }

  async ownRoots(user: UserId, signal: AbortSignal): Promise<readonly DatasetId[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ root_id: DatasetId }>(OWN_ROOTS, [user], 'own-roots');
    return rows.map(({ root_id }) => root_id);
  }

  async *newest(
    roots: readonly DatasetId[],
    user: UserId,
    signal: AbortSignal,
  ): AsyncGenerator<readonly UserStudy[], void, undefined> {
    if (roots.length > MAX_ROOTS) throw defect(`${roots.length} studies requested at once; at most ${MAX_ROOTS}`);
    const batches = rowBatches<StudyRow, DatasetId>({
      read: (count, after) => this.#db.query(NEWEST_BATCH, [user, roots, count, after ?? null], 'newest-studies'),
      placeOf: ({ root_id }) => root_id,
      batchSize: BATCH,
      limit: roots.length,
      signal,
    });
    for await (const batch of batches) yield batch.map(study);
  }

  async find(dataset: DatasetId, user: UserId | undefined, signal: AbortSignal): Promise<UserStudy | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<StudyRow>(
      `select ${COLUMNS}, ${PART} from dataset d where d.dataset_id = $2 and ${INSTALLED}`,
      [user ?? null, dataset],
      'study',
    );
    return row && study(row);
  }
}

const study = (row: StudyRow): UserStudy => ({
  datasetId: row.dataset_id,
  root: row.root_id,
  owner: row.owner_id,
  visibility: row.visibility,
  name: row.name,
  summary: row.summary ?? '',
  part: row.part ?? undefined,
});

// Users' datasets in the cache DB, whether or not they are installed.

interface Row {
  readonly root_id: DatasetId;
  readonly owner_id: UserId;
  readonly name: string;
  readonly summary: string | null;
  readonly visibility: StoredVisibility;
  readonly days_for_approval: number | null;
}

export class PostgresUserDatasets implements UserDatasets {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async find(dataset: DatasetId, signal: AbortSignal): Promise<UserDataset | undefined> {
    signal.throwIfAborted();
    // An original that was pruned leaves its revisions. No owner's metadata make a dataset a revision of somebody else's.
    const [row] = await this.#db.query<Row>(
      `select n.root_id, n.owner_id::text as owner_id, n.name, n.metadata ->> 'summary' as summary, n.visibility,
         (n.metadata ->> 'daysForApproval')::integer as days_for_approval
       from dataset n
       where n.root_id = coalesce((select d.root_id from dataset d where d.dataset_id = $1), $1) and n.state = 'live'
         and n.owner_id = coalesce((select d.owner_id from dataset d where d.dataset_id = $1), n.owner_id)
       order by n.revision desc limit 1`,
      [dataset],
      'user-dataset',
    );
    return (
      row && {
        root: row.root_id,
        owner: row.owner_id,
        name: row.name,
        summary: row.summary ?? '',
        visibility: row.visibility,
        daysForApproval: row.days_for_approval ?? -1,
      }
    );
  }
}
