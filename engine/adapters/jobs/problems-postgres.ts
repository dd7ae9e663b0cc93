// What failed for good, on PostgreSQL: the view `problem` (engine/adapters/migrations/cache/).

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import type {
  Discard,
  OwnerRetries,
  Problem,
  ProblemCause,
  ProblemFilter,
  ProblemKey,
  ProblemOutcome,
  ProblemPlace,
  ProblemState,
  Problems,
} from '../../ports/problems.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { boundedPage, type PageRow } from '../postgres/row-pages.ts';
import { SqlParameters, storableText } from '../postgres/sql-parameters.ts';
import { discardProblems } from './discard-problems.ts';
import { retryJobs, retryLost } from './retry-jobs.ts';

/** Most characters of a message that a listing has. */
const SHOWN = 2_000;

/** A target's discard holds until the install's status changes. */
const DISCARDS = `
  select x.lane, x.dataset_id, nullif(x.target_id, '') as target_id, x.at, x.discarded_by, x.reason, x.message
  from discard x left join install_status i on i.dataset_id = x.dataset_id and i.target_id = x.target_id
    and i.kind = case x.lane when 'install' then 'data' else 'meta' end
  where x.dataset_id = $1 and (x.target_id = '' or i.updated <= x.at) order by x.at desc, x.lane, x.target_id limit 1000`;

const FAILED_STEP = `
  select f.lane, d.owner_retried, coalesce(j.failure = 'rejected', false) as stopped, exists (
    select from discard x where x.dataset_id = d.dataset_id and x.lane = f.lane and x.target_id = '') as discarded
  from dataset d
  cross join lateral (select case when d.upload_status = 'failed' then 'upload' else 'import' end as lane
    where d.upload_status = 'failed' or d.import_status = 'failed') f
  left join job j on j.dataset_id = d.dataset_id and j.lane = f.lane
  where d.dataset_id = $1 and d.state = 'live' for update of d`;

interface ProblemRow extends PageRow {
  readonly id: string;
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
  readonly target_id: TargetId | null;
  readonly owner: UserId;
  readonly type: string | null;
  readonly state: ProblemState;
  readonly message: string;
  readonly cause: string;
  readonly since: Date;
  readonly position: string;
  readonly until: string;
}

interface CauseRow extends Pick<ProblemRow, 'cause' | 'lane' | 'state' | 'id' | 'message'> {
  readonly problems: number;
  readonly oldest: Date;
  readonly newest: Date;
}

interface DiscardRow {
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
  readonly target_id: TargetId | null;
  readonly at: Date;
  readonly discarded_by: string;
  readonly reason: string;
  readonly message: string;
}

interface StepRow {
  readonly lane: 'upload' | 'import';
  readonly owner_retried: string | null;
  /** The job failed for a reason that is not ours, or an operator cancelled it. */
  readonly stopped: boolean;
  readonly discarded: boolean;
}

export class PostgresProblems implements Problems, OwnerRetries {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  page: Problems['page'] = async (filter, { limit, after }, signal) => {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const until = after ? momentAt(after.until, values) : 'now()';
    const conditions = [...conditionsOf(filter, values), `since <= ${until}`, ...beyond(after, values)];
    const rows = await this.#db.query<ProblemRow>(
      boundedPage(`
        select id, lane, dataset_id, target_id, owner_id::text as owner, type, state, left(message, ${SHOWN}) as message, cause,
          since, ${microsOf('since')} as position, ${microsOf(until)} as until
        from problem where ${conditions.join(' and ')} order by since, id limit ${values.add(limit, 'bigint')}`),
      values.values,
    );
    const last = rows.at(-1);
    const found = last?.page_rows ?? 0;
    const next = last && (found >= limit || found > rows.length) ? placeOf(last) : undefined;
    return { problems: rows.map(problemOf), next };
  };

  causes: Problems['causes'] = async (filter, limit, signal) => {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const conditions = conditionsOf(filter, values);
    const rows = await this.#db.query<CauseRow>(
      `select cause, lane, state, count(*) as problems, min(since) as oldest, max(since) as newest,
         (array_agg(id order by since desc, id))[1] as id,
         left((array_agg(message order by since desc, id))[1], ${SHOWN}) as message
       from problem where ${conditions.join(' and ')} group by cause, lane, state
       order by problems desc, cause, lane, state limit ${values.add(limit, 'bigint')}`,
      values.values,
    );
    return rows.map(
      ({ id, message, problems, ...row }): ProblemCause => ({ ...row, count: problems, example: { id, message } }),
    );
  };

  counts: Problems['counts'] = async (filter, signal) => {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const rows = await this.#db.query<{ lane: LaneName; problems: number }>(
      `select lane, count(*) as problems from problem where ${conditionsOf(filter, values).join(' and ')} group by lane`,
      values.values,
    );
    return new Map(rows.map(({ lane, problems }) => [lane, problems]));
  };

  retry: Problems['retry'] = (keys, eventId, signal) =>
    this.#db.transaction((sql) => retryAll(sql, keys, eventId, false), signal);

  discard: Problems['discard'] = (keys, note, signal) =>
    this.#db.transaction(async (sql) => {
      const { by, reason } = note;
      const found = await discardProblems(sql, keys, { by: storableText(by), reason: storableText(reason) });
      return outcomesOf(sql, keys, found);
    }, signal);

  discards: Problems['discards'] = async (dataset, signal) => {
    signal.throwIfAborted();
    const rows = await this.#db.query<DiscardRow>(DISCARDS, [dataset], 'problem-discards');
    return rows.map(
      ({ lane, target_id, at, discarded_by, reason, message }): Discard => ({
        ...{ lane, dataset, target: target_id ?? undefined, at, by: discarded_by, reason, message },
      }),
    );
  };

  retryOnce: OwnerRetries['retryOnce'] = (dataset, eventId, signal) =>
    this.#db.transaction(async (sql) => {
      const [step] = await sql.query<StepRow>(FAILED_STEP, [dataset]);
      if (!step) return 'not-failed';
      if (step.stopped || step.discarded) return 'not-theirs';
      if (step.owner_retried === step.lane) return 'asked-before';
      const [outcome] = await retryAll(sql, [{ lane: step.lane, dataset, target: undefined }], eventId, true);
      return outcome === 'done' || outcome === 'files-gone' ? outcome : 'busy';
    }, signal);
}

async function retryAll(
  sql: Sql,
  keys: readonly ProblemKey[],
  eventId: number,
  byOwner: boolean,
): Promise<readonly ProblemOutcome[]> {
  const found = new Map<string, ProblemOutcome>();
  const lanes = keys.filter(({ target }) => target === undefined);
  for (const { state, ...row } of await retryJobs(sql, lanes, byOwner))
    found.set(keyOf(row), state === 'running' ? 'busy' : state === 'queued' ? 'not-failed' : 'done');
  for (const { has_files, ...row } of await retryLost(sql, lanes, eventId, byOwner))
    found.set(keyOf(row), has_files ? 'done' : 'files-gone');
  return outcomesOf(sql, keys, found);
}

/** What was not found is locked by somebody, or not a problem any more. */
async function outcomesOf(
  sql: Sql,
  keys: readonly ProblemKey[],
  found: ReadonlyMap<string, ProblemOutcome>,
): Promise<readonly ProblemOutcome[]> {
  const ids = keys.map(({ lane, dataset, target }) => keyOf({ lane, dataset_id: dataset, target_id: target ?? null }));
  const others = ids.filter((id) => !found.has(id));
  const rows =
    others.length === 0
      ? []
      : await sql.query<{ id: string }>('select id from problem where id = any($1::text[])', [others]);
  const listed = new Set(rows.map(({ id }) => id));
  return ids.map((id) => found.get(id) ?? (listed.has(id) ? 'busy' : 'not-failed'));
}

const keyOf = ({
  lane,
  dataset_id,
  target_id,
}: Pick<ProblemRow, 'lane' | 'dataset_id'> & { readonly target_id?: TargetId | null }): string =>
  [lane, dataset_id, ...(target_id ? [target_id] : [])].join(':');

function conditionsOf(filter: ProblemFilter, values: SqlParameters): readonly string[] {
  const { ids, lane, state, types, target, owner, dataset, contains, cause, from, before } = filter;
  return [
    ...(ids ? [`id = any(${values.add(ids, 'text[]')})`] : []),
    ...(lane ? [`lane = ${values.add(lane, 'text')}`] : []),
    ...(state ? [`state = ${values.add(state, 'text')}`] : ids ? ['true'] : [`state <> 'delayed'`]),
    ...(types ? [typeIs(values.add(types, 'text[]'))] : []),
    ...(target === undefined ? [] : [`target_id = ${values.add(storableText(target), 'text')}`]),
    ...(owner === undefined ? [] : [`owner_id = ${values.add(owner, 'numeric')}`]),
    ...(dataset === undefined ? [] : [`dataset_id = ${values.add(dataset, 'text')}`]),
    ...(contains === undefined
      ? []
      : [`position(lower(${values.add(storableText(contains), 'text')}) in lower(message)) > 0`]),
    ...(cause === undefined ? [] : [`cause = ${values.add(storableText(cause), 'text')}`]),
    ...(from ? [`since >= ${values.add(from, 'timestamptz')}`] : []),
    ...(before ? [`since < ${values.add(before, 'timestamptz')}`] : []),
  ];
}

/** A name without a version stands for all of them. */
const typeIs = (types: string): string => `(type = any(${types}) or split_part(type, ':', 1) = any(${types}))`;

const beyond = (after: ProblemPlace | undefined, values: SqlParameters): readonly string[] =>
  after ? [`(since, id) > (${momentAt(after.since, values)}, ${values.add(after.id, 'text')})`] : [];

/** As text, because the driver reads large integers as text anyway. */
const microsOf = (moment: string): string => `(extract(epoch from ${moment}) * 1000000)::bigint::text`;
const momentAt = (micros: string, values: SqlParameters): string =>
  `(timestamptz 'epoch' + ${values.add(micros, 'bigint')} * interval '1 microsecond')`;

const placeOf = ({ until, position, id }: ProblemRow): ProblemPlace => ({ until, since: position, id });

const problemOf = (row: ProblemRow): Problem => ({
  ...{ id: row.id, lane: row.lane, dataset: row.dataset_id, target: row.target_id ?? undefined, owner: row.owner },
  ...{ type: row.type ?? undefined, state: row.state, message: row.message, cause: row.cause, since: row.since },
});
