// Problems of datasets in the cache database: lists, retries and discards them.

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, TargetId } from '../../model/ids.ts';
import type { Discard, OwnerRetries, ProblemKey, ProblemOutcome, Problems } from '../../ports/problems.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';
import { discardProblems } from './discard-problems.ts';
import { PostgresProblemList } from './problem-list-postgres.ts';
import { retryJobs, retryLost } from './retry-jobs.ts';

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

export class PostgresProblems extends PostgresProblemList implements Problems, OwnerRetries {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    super(db, '(select d.name from dataset d where d.dataset_id = p.dataset_id)');
    this.#db = db;
  }

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

/** A key that was not found is locked by somebody, or is no longer a problem. */
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
}: Pick<DiscardRow, 'lane' | 'dataset_id'> & { readonly target_id?: TargetId | null }): string =>
  [lane, dataset_id, ...(target_id ? [target_id] : [])].join(':');
