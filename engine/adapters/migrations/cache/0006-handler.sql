-- Jobs of the handler service, and its totals so far.
-- The job id is null after another registration has taken it; such a row is due for removal at once. `holder` is the process
-- that runs the job. Times come from the service's clock.

create table handler_job (
  id uuid primary key,
  job_id text collate "C" unique,
  registration jsonb not null,
  state text not null default 'awaiting'
    check (state in ('awaiting', 'uploading', 'unpacking', 'processing', 'completed', 'failed')),
  holder integer,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  size bigint not null default 0 check (size >= 0),
  result_name text,
  result_bytes bigint,
  result_expires_at timestamptz,
  message text,
  expires_at timestamptz,
  check ((expires_at is null) = (holder is not null)),
  check ((state in ('uploading', 'unpacking', 'processing')) = (holder is not null)),
  check (num_nulls(result_name, result_bytes, result_expires_at) in (0, 3))
);

-- The row or its result has to be removed at the earlier of the two times; null while the job runs.
create index handler_job_due on handler_job (least(expires_at, result_expires_at));
create index handler_job_running on handler_job (holder) where holder is not null;
-- Each upload sums up the results of the job's owner.
create index handler_job_kept on handler_job ((registration ->> 'owner')) where result_bytes is not null;

create table handler_response (status smallint primary key, count bigint not null);

create table handler_total (
  only_row boolean primary key default true check (only_row),
  uploads bigint not null default 0, uploaded_bytes numeric not null default 0, largest bigint not null default 0,
  runs bigint not null default 0, run_ms bigint not null default 0, longest_ms bigint not null default 0
);
insert into handler_total default values;
