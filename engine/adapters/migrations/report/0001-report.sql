-- Report jobs, their files, and the collections of users. Names are unqualified: the search path selects the schema, which may
-- be in the cache database or in a database of its own.

-- Process instances, as in the cache database: a process is alive as long as it holds the advisory lock (instance_class(), id).
create sequence instance_id as integer;

create function instance_class() returns integer language sql stable
  return ('instance_id'::regclass::oid::bigint & 2147483647)::integer;

create view alive_instance as
  select l.objid::bigint::integer as id, l.pid
  from pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid::bigint = instance_class();

create function instance_alive(instance integer) returns boolean language sql volatile
  begin atomic
    select exists (select from alive_instance a where a.id = instance);
  end;

-- Times come from the service's clock, except for leases, on which all processes must agree.
create table report_job (
  id text collate "C" primary key check (id ~ '^[0-9a-f]{32}$'),
  query_id text collate "C" not null check (query_id ~ '^[0-9a-f]{32}$'),
  configuration jsonb not null,
  fingerprint text not null,
  status text not null default 'queued' check (status in ('queued', 'in-progress', 'complete', 'failed', 'expired')),
  created_at timestamptz not null,
  -- The time from which a queued job may be claimed.
  run_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  accessed_at timestamptz not null,
  -- Number of the last claim. It is the fencing token for everything that the holder writes.
  attempt integer not null default 0 check (attempt >= 0),
  attempts integer not null default 0 check (attempts >= 0),
  holder integer,
  lease_until timestamptz,
  failure text,
  stderr text,
  -- The object store may still hold objects of attempts up to this one, which are not needed.
  debris_to integer check (debris_to <= attempt),
  -- The trace of the request that last queued the job (W3C Trace Context); its attempts log it.
  traceparent text,
  -- The job counts against this tenant's share of the queue while it waits or runs. Ended jobs have the default: we do not keep
  -- who asked for them, or from where.
  tenant text collate "C" not null default 'unknown',
  unique (id, query_id),
  check ((status = 'in-progress') = (holder is not null) and (holder is null) = (lease_until is null)),
  check ((status in ('complete', 'failed')) = (stderr is not null)),
  check ((status = 'failed') = (failure is not null)),
  check ((status in ('complete', 'failed')) = (ended_at is not null)),
  check (status not in ('in-progress', 'complete', 'failed') or attempt > 0 and started_at is not null)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

create index report_job_queued on report_job (run_at, id) where status = 'queued';
create index report_job_shares on report_job (tenant, run_at, id) where status = 'queued';
create index report_job_running on report_job (holder) where status = 'in-progress';
create index report_job_idle on report_job (accessed_at, id) where status in ('complete', 'failed');
create index report_job_debris on report_job (id) where debris_to is not null;
-- Administrators list failed jobs.
create index report_job_failed on report_job (id) where status = 'failed';

-- Files of complete jobs; other jobs have none.
create table report_file (
  report_id text collate "C" not null references report_job,
  position integer not null check (position >= 0),
  name text collate "C" not null check (name <> '' and name !~ '/'),
  size bigint not null check (size >= 0),
  primary key (report_id, position),
  unique (report_id, name)
);

create table collection (
  link_id bigint generated always as identity primary key,
  -- Guests have separate collections, because a guest may have the same number as a user.
  guest boolean not null default false,
  user_id numeric(19) not null check (user_id > 0),
  report_id text collate "C" not null,
  query_id text collate "C" not null,
  summary text check (char_length(summary) <= 512),
  description text,
  constraint collection_owner_report_key unique (user_id, guest, report_id),
  foreign key (report_id, query_id) references report_job (id, query_id)
);

create index collection_newest on collection (user_id, guest, link_id desc);
create index collection_query on collection (user_id, guest, query_id, link_id desc);
