-- What failed for good and waits for a person, in one view; and what an operator has discarded.

alter table job add column failed_at timestamptz;
create function note_dead_job() returns trigger language plpgsql as $$
begin
  new.failed_at := now();
  return new;
end $$;
create trigger job_died before update on job for each row
  when (new.state = 'dead' and old.state <> 'dead') execute function note_dead_job();

-- Since when the upload or the import has failed; null when neither has. The index has none of the two statuses, so that the
-- updates of a dataset that does not fail stay HOT.
alter table dataset add column failed_at timestamptz,
  -- The lane that the owner has had repeated; an administrator's retry clears it.
  add column owner_retried text;
create index dataset_failed on dataset (failed_at, dataset_id) where failed_at is not null;
create function note_failed_dataset() returns trigger language plpgsql as $$
begin
  if new.upload_status <> 'failed' and new.import_status <> 'failed' then
    new.failed_at := null;
  elsif tg_op = 'INSERT' or new.failed_at is null
      or (new.upload_status, new.import_status) is distinct from (old.upload_status, old.import_status) then
    new.failed_at := now();
  end if;
  return new;
end $$;
create trigger dataset_failed before insert or update of upload_status, import_status on dataset for each row
  when (new.upload_status = 'failed' or new.import_status = 'failed' or new.failed_at is not null)
  execute function note_failed_dataset();

-- Before this file, nobody noted when.
update dataset set failed_at = inserted where upload_status = 'failed' or import_status = 'failed';

-- A discarded problem, until something new happens: another failure, or a new job for that lane of the dataset. Without a target
-- it also keeps the reconciler and the pruner from requesting that job again.
create table discard (
  dataset_id text collate "C" not null,
  lane text not null,
  -- Empty: the lane's job as a whole.
  target_id text not null,
  at timestamptz not null default now(),
  discarded_by text not null,
  reason text not null,
  message text,
  primary key (dataset_id, lane, target_id)
);
create function forget_discards() returns trigger language plpgsql set search_path from current as $$
begin
  delete from discard x using removed r where x.dataset_id = r.dataset_id;
  return null;
end $$;
create trigger forget_discards_of_datasets after delete on dataset referencing old table as removed
  for each statement execute function forget_discards();

-- What messages of one cause have in common: quoted values, addresses, paths, ids and numbers are replaced.
create function problem_cause(message text, dataset_id text) returns text
  immutable parallel safe cost 5000
  return left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    replace(left(message, 1000), dataset_id, 'ID'),
    '(^|[\s(:=,\[])([''"`])[^''"`]*\2(?=$|[\s).,;:\]])', '\1''...''', 'g'),
    '\m[a-z][a-z0-9+.-]*://[^\s''"),;]+', 'URL', 'g'),
    '(?<![\w.])(/[\w.@%+=~-]+)+/?', 'PATH', 'g'),
    '\m(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[\w-]{8,}\M', 'ID', 'g'),
    '[0-9]+([.,:][0-9]+)*', 'N', 'g'), 200);

-- An id names the lane, the dataset, and for an install the target. A failed import with a dead job is one problem, and so are
-- the failed installs of a dead job. Each part reads an index with little more than its own rows: `job_due` (dead jobs are due
-- at infinity), `dataset_failed`, `install_status_open`.
create view problem as
select p.lane || ':' || p.dataset_id || coalesce(':' || p.target_id, '') as id, p.*,
  problem_cause(p.message, p.dataset_id) as cause
from (
  select j.lane, j.dataset_id, null::text as target_id, j.owner as owner_id, lower(j.type) as type, j.state,
    coalesce(j.message, '') as message, coalesce(j.since, j.created_at) as since
  from unnest(array['softDelete', 'upload', 'import', 'updateMeta', 'install', 'sharing', 'reconciliation', 'hardDelete'])
    as l(lane)
  -- Literals as states: where delayed jobs are not asked for, none is read.
  cross join lateral (
    select i.lane, i.dataset_id, i.owner, i.type, 'dead' as state, i.message, i.failed_at as since, i.created_at
    from job i where i.lane = l.lane and i.run_at = 'infinity' and i.state = 'dead'
    union all
    select i.lane, i.dataset_id, i.owner, i.type, 'delayed', i.message, null, i.created_at
    from job i where i.lane = l.lane and i.run_at > now() and i.run_at < 'infinity' and i.state = 'delayed') j
  where j.state = 'delayed' or not exists (
    select from install_status i join dataset d on d.dataset_id = i.dataset_id
    where i.dataset_id = j.dataset_id and i.status in ('failed-installation', 'missing-dependency') and d.state = 'live'
      and i.kind = case j.lane when 'install' then 'data' when 'updateMeta' then 'meta' end)
  union all
  -- The history has the message for operators; that of the status is for the owner.
  select f.lane, d.dataset_id, null, d.owner_id, lower(d.type_name) || ':' || d.type_version, 'failed',
    coalesce((select h.attempt ->> 'message' from job_history h
      where h.dataset_id = d.dataset_id and h.lane = f.lane and h.outcome in ('failed', 'dead')
        and h.at >= date_trunc('milliseconds', d.failed_at)
      order by h.at desc, h.number desc limit 1), f.message), d.failed_at
  from dataset d cross join lateral (
    select 'upload' as lane, coalesce(d.upload_message, '') as message where d.upload_status = 'failed'
    union all
    select 'import', array_to_string(d.import_messages, '; ') where d.import_status = 'failed') f
  where d.failed_at is not null and d.state = 'live'
    and not exists (select from job j where j.dataset_id = d.dataset_id and j.lane = f.lane)
    and not exists (select from discard x
      where x.dataset_id = d.dataset_id and x.lane = f.lane and x.target_id = '' and x.at >= d.failed_at)
  union all
  select k.lane, i.dataset_id, i.target_id, d.owner_id, lower(d.type_name) || ':' || d.type_version, i.status,
    coalesce((select c.call ->> 'message' from job_history h
      cross join lateral jsonb_array_elements(h.attempt -> 'calls') with ordinality as c(call, n)
      where h.dataset_id = i.dataset_id and h.at >= date_trunc('milliseconds', i.updated) and c.call ->> 'target' = i.target_id
        and (c.call ->> 'call' = 'install-meta') = (i.kind = 'meta') and c.call ->> 'message' is not null
      order by h.at desc, h.number desc, c.n desc limit 1), array_to_string(i.messages, '; ')), i.updated
  from install_status i join dataset d on d.dataset_id = i.dataset_id
  cross join lateral (select case i.kind when 'data' then 'install' else 'updateMeta' end as lane) k
  where i.status in ('failed-installation', 'missing-dependency') and d.state = 'live'
    and not exists (select from discard x
      where x.dataset_id = i.dataset_id and x.lane = k.lane and x.target_id = i.target_id and x.at >= i.updated)) p;
