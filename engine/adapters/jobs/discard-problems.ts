// Discards problems: removes dead jobs, and records who discarded what, and why.

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, TargetId } from '../../model/ids.ts';
import type { JobState } from '../../ports/jobs.ts';
import type { DiscardNote, ProblemKey, ProblemOutcome } from '../../ports/problems.ts';
import type { Sql } from '../postgres/postgres.ts';
import { columnsOf } from './retry-jobs.ts';

/** What the owner reads about a discarded step that had no final status. */
const GIVEN_UP = 'an operator gave this step up; it is not repeated by itself';

const noted = (from: string): string => `
  insert into discard as x (dataset_id, lane, target_id, discarded_by, reason, message)
  select n.dataset_id, n.lane, n.target_id, $1, $2, left(n.message, 2000) from ${from} n
  on conflict (dataset_id, lane, target_id) do update set at = excluded.at, discarded_by = excluded.discarded_by,
    reason = excluded.reason, message = excluded.message`;

/** The dataset gets a final status. Otherwise the reconciler would take the discarded upload or import for lost, and repeat it. */
const JOBS = `
with found as materialized (
  select j.id, j.lane, j.dataset_id, j.state
  from unnest($3::text[], $4::text[]) as a(lane, dataset_id) join job j on j.dataset_id = a.dataset_id and j.lane = a.lane
  order by j.dataset_id collate "C", j.lane for update of j skip locked),
gone as (
  delete from job j using found f where j.id = f.id and f.state = 'dead'
  returning j.lane, j.dataset_id, '' as target_id, coalesce(j.message, '') as message),
given_up as (
  update dataset d set
    upload_status = case when g.upload and d.upload_status = 'running' then 'failed' else d.upload_status end,
    upload_message = case when g.upload and d.upload_status = 'running' then $5 else d.upload_message end,
    import_status = case when g.import and d.import_status in ('queued', 'in-progress') then 'failed' else d.import_status end,
    import_messages = case when g.import and d.import_status in ('queued', 'in-progress') then array[$5] else d.import_messages end
  from (select dataset_id, bool_or(lane = 'upload') as upload, bool_or(lane = 'import') as import from gone group by 1) g
  where d.dataset_id = g.dataset_id and d.state = 'live'
    and (g.upload and d.upload_status = 'running'
      or g.import and d.upload_status = 'success' and d.import_status in ('queued', 'in-progress'))),
noted as (${noted('gone')})
select lane, dataset_id, state from found`;

/** The reconciler repeats a failed import that has no message, so a discarded one gets a message. */
const STATUSES = `
with found as materialized (
  select a.lane, d.dataset_id, '' as target_id,
    case a.lane when 'import' then array_to_string(d.import_messages, '; ') else d.upload_message end as message
  from unnest($3::text[], $4::text[]) as a(lane, dataset_id) join dataset d on d.dataset_id = a.dataset_id
  where d.state = 'live'
    and (a.lane = 'import' and d.import_status = 'failed' or a.lane = 'upload' and d.upload_status = 'failed')
    and not exists (select from job j where j.dataset_id = a.dataset_id and j.lane = a.lane)
  order by d.dataset_id for update of d skip locked),
worded as (
  update dataset d set import_messages = array[$5] from found f
  where d.dataset_id = f.dataset_id and f.lane = 'import' and d.import_messages = '{}'),
noted as (${noted('found')})
select lane, dataset_id from found`;

const INSTALLS = `
with found as materialized (
  select a.lane, i.dataset_id, i.target_id, array_to_string(i.messages, '; ') as message, exists (
    select from job j where j.dataset_id = i.dataset_id and j.lane = a.lane and j.state = 'running') as busy
  from unnest($3::text[], $4::text[], $5::text[]) as a(lane, dataset_id, target_id)
  join install_status i on i.dataset_id = a.dataset_id and i.target_id = a.target_id
    and i.kind = case a.lane when 'install' then 'data' else 'meta' end
  where i.status in ('failed-installation', 'missing-dependency')
  order by i.dataset_id, i.target_id, i.kind for update of i skip locked),
noted as (${noted('(select * from found where not busy)')})
select lane, dataset_id, target_id, busy from found`;

/** Dead jobs without failed installs that are still listed. */
const INSTALL_JOBS = `
with gone as (
  delete from job j using (select distinct * from unnest($3::text[], $4::text[]) as a(lane, dataset_id)) a
  where j.dataset_id = a.dataset_id and j.lane = a.lane and j.state = 'dead'
    and not exists (select from problem p where p.dataset_id = a.dataset_id and p.lane = a.lane and p.target_id is not null)
  returning j.lane, j.dataset_id, '' as target_id, coalesce(j.message, '') as message)
${noted('gone')}`;

interface FoundRow {
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
}

const OUTCOMES = {
  dead: 'done',
  delayed: 'delayed',
  queued: 'not-failed',
  running: 'busy',
} as const satisfies Record<JobState, ProblemOutcome>;

/** Returns outcomes by the problem's id. Skips problems whose rows are locked. Call it in a transaction. */
export async function discardProblems(
  sql: Sql,
  keys: readonly ProblemKey[],
  { by, reason }: DiscardNote,
): Promise<ReadonlyMap<string, ProblemOutcome>> {
  const found = new Map<string, ProblemOutcome>();
  const whole = columnsOf(keys.filter(({ target }) => target === undefined));
  const installs = keys.filter(({ target }) => target !== undefined);
  for (const row of await sql.query<FoundRow & { state: JobState }>(JOBS, [by, reason, ...whole, GIVEN_UP]))
    found.set(`${row.lane}:${row.dataset_id}`, OUTCOMES[row.state]);
  for (const row of await sql.query<FoundRow>(STATUSES, [by, reason, ...whole, GIVEN_UP]))
    if (!found.has(`${row.lane}:${row.dataset_id}`)) found.set(`${row.lane}:${row.dataset_id}`, 'done');
  if (installs.length === 0) return found;
  const targets = installs.map(({ target }) => target);
  const values = [by, reason, ...columnsOf(installs), targets];
  for (const row of await sql.query<FoundRow & { target_id: TargetId; busy: boolean }>(INSTALLS, values))
    found.set(`${row.lane}:${row.dataset_id}:${row.target_id}`, row.busy ? 'busy' : 'done');
  await sql.query(INSTALL_JOBS, [by, reason, ...columnsOf(installs)]);
  return found;
}
