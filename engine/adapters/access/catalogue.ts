// The catalogue of curated datasets, and people's relations to them.

import {
  type CuratedId,
  parseCuratedId,
  type RequestStatus,
  type RestrictionLevel,
} from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { AccessCatalogue, CuratedDataset, ListedCurated, Part, PartBatch } from '../../ports/access-datasets.ts';
import { rejected } from '../../runtime/failure.ts';
import { type Postgres, type Sql, sqlState } from '../postgres/postgres.ts';
import { boundedPage, type PageRow } from '../postgres/row-pages.ts';

/** Parts in memory at once. */
const PARTS_BATCH = 250;
const UNIQUE_VIOLATION = '23505';

interface CuratedRow {
  readonly dataset_id: CuratedId;
  readonly study_id: string;
  readonly sha1_hash: string;
  readonly display_name: string;
  readonly short_display_name: string;
  readonly description: string;
  readonly restriction_level: RestrictionLevel;
  readonly owner_id: UserId | null;
  readonly days_for_approval: number;
  readonly prior_auth_label: string;
  readonly mail_from: string;
  readonly mail_manager_text: string;
  readonly mail_requester_text: string;
  readonly mail_approval_text: string;
}

/** A person's part in one dataset, without the dataset's columns. */
interface PartColumns {
  readonly is_manager: boolean | null;
  readonly approval_status: RequestStatus | null;
  readonly start_date: Date | null;
  readonly duration: number | null;
}

type ListedColumns = Omit<CuratedRow, `mail_${string}` | 'days_for_approval' | 'prior_auth_label'>;
type ListedRow = ListedColumns & PartColumns;

/** The row for a person without any dataset. */
interface NoDataset {
  readonly dataset_id: null;
}

/** The person's role at the site; null = not staff. */
interface RoleColumn {
  readonly is_owner: boolean | null;
}

interface StudyRow extends PartColumns {
  readonly dataset_id: CuratedId;
  readonly study_id: string;
  readonly restriction_level: RestrictionLevel;
  readonly owner_id: UserId | null;
  readonly is_staff: boolean;
}

const NAMES = [
  ...['dataset_id', 'study_id', 'sha1_hash', 'display_name', 'short_display_name', 'description', 'restriction_level'],
  ...['days_for_approval', 'prior_auth_label', 'mail_from', 'mail_manager_text', 'mail_requester_text'],
  'mail_approval_text',
];
const COLUMNS = [...NAMES.map((name) => `c.${name}`), 'c.owner_id::text as owner_id'].join(', ');

const LISTED = `c.dataset_id, c.study_id, c.sha1_hash, c.display_name, c.short_display_name, c.description,
  c.restriction_level, c.owner_id::text as owner_id`;

/** The parts of `$1` in the datasets `c`. */
const PARTS_IN = (columns: string, datasets: string): string => `
  select ${columns}, p.is_manager, e.approval_status, e.start_date, e.duration
  from ${datasets} c
  left join provider p on p.dataset_id = c.dataset_id and p.user_id = $1::numeric
  left join end_user e on e.dataset_id = c.dataset_id and e.user_id = $1::numeric`;

/** Adds the site role of `$1`. Returns one row without a dataset if there is none. */
const WITH_ROLE = (datasets: string): string => `
  select role.is_owner, part.*
  from (select (select s.is_owner from staff s where s.user_id = $1::numeric) as is_owner) role
  left join (${PARTS_IN(LISTED, datasets)}) part on true
  order by part.dataset_id`;

/** Continues after the dataset `$2`. `limit 1` keeps the planner from reading the whole catalogue for a few rows. */
const OWN_PARTS = boundedPage(
  WITH_ROLE(`(
    select d.* from (
      select dataset_id from provider where user_id = $1::numeric and dataset_id > $2
      union select dataset_id from end_user where user_id = $1::numeric and dataset_id > $2
      order by dataset_id limit ${PARTS_BATCH}) own
    cross join lateral (select * from curated_dataset d where d.dataset_id = own.dataset_id limit 1) d)`),
);
const ALL_PARTS = boundedPage(
  WITH_ROLE(`(
    select * from curated_dataset d where dataset_id > $2
      and (owner_id is null
        or exists (select from provider p where p.user_id = $1::numeric and p.dataset_id = d.dataset_id)
        or exists (select from end_user e where e.user_id = $1::numeric and e.dataset_id = d.dataset_id))
    order by dataset_id limit ${PARTS_BATCH})`),
);
/** The dataset whose `column` is `$2`. One statement per column: a condition on either would cost more than reading the row. */
const PART_IN = (column: 'study_id' | 'dataset_id'): string => `
  ${PARTS_IN(
    `c.dataset_id, c.study_id, c.restriction_level, c.owner_id::text as owner_id,
      exists (select from staff s where s.user_id = $1::numeric) as is_staff`,
    'curated_dataset',
  )}
  where c.${column} = $2`;
const PART_IN_STUDY = PART_IN('study_id');
const PART_IN_DATASET = PART_IN('dataset_id');

/** Writes nothing where nothing differs. */
const PUT = `
  insert into curated_dataset (${NAMES.join(', ')})
  values (${NAMES.map((_, i) => `$${i + 1}`).join(', ')})
  on conflict (dataset_id) do update set (${NAMES.join(', ')}) = (${NAMES.map((name) => `excluded.${name}`).join(', ')})
  where curated_dataset.owner_id is null and (${NAMES.map((name) => `curated_dataset.${name}`).join(', ')})
    is distinct from (${NAMES.map((name) => `excluded.${name}`).join(', ')})
  returning dataset_id`;

export class PostgresAccessCatalogue implements AccessCatalogue {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  async find(dataset: CuratedId, signal: AbortSignal): Promise<CuratedDataset | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<CuratedRow>(`select ${COLUMNS} from curated_dataset c where c.dataset_id = $1`, [
      dataset,
    ]);
    return row && curated(row);
  }

  async *parts(
    user: UserId | undefined,
    which: 'own' | 'all',
    signal: AbortSignal,
  ): AsyncGenerator<PartBatch, void, undefined> {
    const [text, name] = which === 'own' ? [OWN_PARTS, 'own-parts'] : [ALL_PARTS, 'all-parts'];
    for (let after: string | undefined; ; ) {
      signal.throwIfAborted();
      const rows = await this.#db.query<RoleColumn & PageRow & (ListedRow | NoDataset)>(
        text,
        [user ?? null, after ?? ''],
        name,
      );
      const listed = rows.filter((row) => row.dataset_id !== null);
      const last = listed.at(-1);
      const role = rows[0]?.is_owner ?? null;
      const parts = listed.map((row) => partOf(row, listedOf(row)));
      if (last || after === undefined) yield { isStaff: role !== null, isOwner: role === true, parts };
      const found = rows[0]?.page_rows ?? 0;
      if (!last || (found < PARTS_BATCH && rows.length === found)) return;
      after = last.dataset_id;
    }
  }

  async partIn(user: UserId | undefined, study: string, signal: AbortSignal): ReturnType<AccessCatalogue['partIn']> {
    signal.throwIfAborted();
    const id = parseCuratedId(study);
    const row =
      (await this.#part(PART_IN_STUDY, user, study, 'part-in-study')) ??
      (id && (await this.#part(PART_IN_DATASET, user, id, 'part-in-dataset')));
    if (!row) return undefined;
    const { dataset_id: datasetId, study_id: studyId, restriction_level: restrictionLevel } = row;
    const dataset = { datasetId, studyId, restrictionLevel, ...ownerOf(row) };
    return { part: partOf(row, dataset), isStaff: row.is_staff };
  }

  async #part(text: string, user: UserId | undefined, of: string, name: string): Promise<StudyRow | undefined> {
    return (await this.#db.query<StudyRow>(text, [user ?? null, of], name))[0];
  }

  async put(datasets: readonly CuratedDataset[], signal: AbortSignal): Promise<number> {
    const work = async (sql: Sql): Promise<number> => {
      const [user] = await sql.query<{ dataset_id: string }>(
        'select dataset_id from curated_dataset where dataset_id = any ($1) and owner_id is not null limit 1',
        [datasets.map((dataset) => dataset.datasetId)],
      );
      if (user) throw rejected(`'${user.dataset_id}' is the id of a user's dataset`);
      let changed = 0;
      for (const dataset of datasets) changed += (await sql.query(PUT, valuesOf(dataset))).length;
      return changed;
    };
    try {
      return await this.#db.transaction(work, signal);
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      throw rejected('a study id is already used by another dataset of the catalogue', { cause: error });
    }
  }
}

const listedOf = (row: ListedColumns): ListedCurated => ({
  datasetId: row.dataset_id,
  studyId: row.study_id,
  sha1Hash: row.sha1_hash,
  displayName: row.display_name,
  shortDisplayName: row.short_display_name,
  description: row.description,
  restrictionLevel: row.restriction_level,
  ...ownerOf(row),
});

const ownerOf = ({ owner_id: owner }: Pick<CuratedRow, 'owner_id'>): Pick<CuratedDataset, 'owner'> =>
  owner === null ? {} : { owner };

const curated = (row: CuratedRow): CuratedDataset => ({
  ...listedOf(row),
  daysForApproval: row.days_for_approval,
  priorAuthLabel: row.prior_auth_label,
  mailFrom: row.mail_from,
  managerText: row.mail_manager_text,
  requesterText: row.mail_requester_text,
  approvalText: row.mail_approval_text,
});

/** In the order of the columns. */
const valuesOf = (dataset: CuratedDataset): readonly unknown[] => [
  dataset.datasetId,
  dataset.studyId,
  dataset.sha1Hash,
  dataset.displayName,
  dataset.shortDisplayName,
  dataset.description,
  dataset.restrictionLevel,
  dataset.daysForApproval,
  dataset.priorAuthLabel,
  dataset.mailFrom,
  dataset.managerText,
  dataset.requesterText,
  dataset.approvalText,
];

function partOf<Dataset>(row: PartColumns, dataset: Dataset): Part<Dataset> {
  const { approval_status: status, start_date: start, duration } = row;
  const hasGrant = status !== null && start !== null && duration !== null;
  return {
    dataset,
    isManager: row.is_manager ?? undefined,
    grant: hasGrant ? { approvalStatus: status, startDate: start, durationDays: duration } : undefined,
  };
}
