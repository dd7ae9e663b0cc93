-- What was tried with each dataset. Rows outlive their job and their dataset, until their retention ends.

-- The processes that rows name: an instance id alone says nothing to an operator.
create table process_instance (
  id integer primary key,
  host text not null,
  pid integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default now()
);

-- One row per attempt of a job, and per order of an operator on a job. `at` is the end, in whole milliseconds. `attempt` is what
-- the process wrote about it: see engine/ports/job-history.ts.
create table job_history (
  number bigint generated always as identity primary key,
  at timestamptz not null default date_trunc('milliseconds', now()),
  dataset_id text collate "C" not null,
  lane text not null,
  job_id bigint not null,
  event_id bigint not null,
  instance integer,
  outcome text not null,
  attempt jsonb not null
);
create index job_history_dataset on job_history (dataset_id, at, number);

-- A dataset that fails for weeks must not fill the table: its newest rows are kept.
create function trim_job_history(datasets text[]) returns void language sql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  delete from job_history h using unnest(datasets) as d(id)
    cross join lateral (select o.at, o.number from job_history o where o.dataset_id = d.id
      order by o.at desc, o.number desc offset 1000 limit 1) surplus
  where h.dataset_id = d.id and (h.at, h.number) <= (surplus.at, surplus.number)
$$;

-- Called by complete_and_fetch_jobs for completions that it has written, so each attempt has one row.
-- `attempts`: array of {dataset, lane, job, event, outcome, attempt}.
create function record_attempts(me integer, attempts jsonb) returns void language plpgsql as $$
begin
  insert into job_history (dataset_id, lane, job_id, event_id, instance, outcome, attempt)
  select a.dataset, a.lane, a.job, a.event, me, a.outcome, a.attempt
  from jsonb_to_recordset(attempts) as a(dataset text, lane text, job bigint, event bigint, outcome text, attempt jsonb);
  perform trim_job_history(array(select a ->> 'dataset' from jsonb_array_elements(attempts) a));
end $$;

-- Ends that no process reports: a running job is claimed again (its process died, or lost the lease), an operator has put a
-- delayed or dead job back into the queue, or discarded a job.
create function record_job_change() returns trigger language plpgsql as $$
begin
  insert into job_history (dataset_id, lane, job_id, event_id, instance, outcome, attempt)
  values (old.dataset_id, old.lane, old.id, old.event_id, old.holder,
    case when tg_op = 'DELETE' then 'discarded' when old.state <> 'running' then 'retried'
      when instance_alive(old.holder) then 'lease-lost' else 'process-died' end,
    case when old.state = 'running' then jsonb_build_object('attempt', old.attempts + 1,
      'ms', round(extract(epoch from now() - old.claimed_at) * 1000)) else '{}' end);
  perform trim_job_history(array[old.dataset_id]);
  return null;
end $$;
create trigger job_reclaimed after update on job for each row
  when (old.state = 'running' and new.state = 'running' and old.token <> new.token) execute function record_job_change();
create trigger job_retried after update on job for each row
  when (old.state in ('delayed', 'dead') and new.state = 'queued') execute function record_job_change();
create trigger job_discarded after delete on job for each row
  when (old.state <> 'running') execute function record_job_change();
