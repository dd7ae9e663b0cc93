-- The engine's state: process instances, leases, jobs, the embedded event log and change queue.
-- Names are unqualified: the search path selects the schema.

-- Process instances -----------------------------------------------------------------------------------------------
-- Each process takes an id and holds the advisory lock (instance_class(), id) on a session of its own. A process is alive as
-- long as that lock is held. So when a process dies, its rows are free at once, and nothing has to expire first.

create sequence instance_id as integer;

-- The first key of those locks. It differs between the schemas of a database, because their ids overlap.
create function instance_class() returns integer language sql stable
  return ('instance_id'::regclass::oid::bigint & 2147483647)::integer;

create view alive_instance as
  select l.objid::bigint::integer as id, l.pid
  from pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid::bigint = instance_class();

-- Volatile on purpose: PostgreSQL evaluates it for every row, so a process that started a moment ago does not count as dead.
create function instance_alive(instance integer) returns boolean language sql volatile
  begin atomic
    select exists (select from alive_instance a where a.id = instance);
  end;

-- Leases ----------------------------------------------------------------------------------------------------------
-- A row stays after its release, because the tokens of a name only grow.
--
-- Control schemas remember the last lease token of a dataset and refuse lower ones. They outlive the cache, which may be
-- dropped and rebuilt. Therefore a name's first token is the time of its first lease, in ms since 1970. That is greater than
-- every token of a lost cache, because nobody takes a lease a thousand times a second.

create table lease (
  name text collate "C" primary key,
  holder integer,
  token bigint not null default extract(epoch from clock_timestamp()) * 1000 check (token > 0),
  expires_at timestamptz not null
) with (fillfactor = 70);

-- Jobs ------------------------------------------------------------------------------------------------------------
-- `run_at` is the time from which the job may be claimed. It is in the future for delayed jobs and infinite for dead ones. No
-- index has `state` in its columns or its predicate, so a claim does not touch the indexes (HOT update).

create table job (
  id bigint generated always as identity primary key,
  lane text not null check (lane in
    ('softDelete', 'upload', 'import', 'updateMeta', 'install', 'sharing', 'reconciliation', 'hardDelete')),
  dataset_id text collate "C" not null,
  rank smallint not null check (rank >= 0),
  owner numeric(19) not null check (owner > 0),
  event_id bigint not null,
  source text not null,
  type text,
  -- The trace of the last request that changed the dataset (W3C Trace Context).
  traceparent text,
  state text not null default 'queued' check (state in ('queued', 'running', 'delayed', 'dead')),
  again boolean not null default false,
  alone boolean not null default false,
  attempts integer not null default 0 check (attempts >= 0),
  crashes integer not null default 0 check (crashes >= 0),
  created_at timestamptz not null default now(),
  run_at timestamptz not null default now(),
  holder integer,
  token bigint,
  claimed_at timestamptz,
  failure text check (failure in ('rejected', 'transient', 'defect')),
  message text,
  unique (dataset_id, lane),
  check ((state = 'running') = (holder is not null) and (holder is null) = (token is null)),
  check (state <> 'dead' or failure is not null)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

create index job_due on job (lane, run_at, id);
create index job_shares on job (lane, owner, run_at, id);

-- Event log -------------------------------------------------------------------------------------------------------

-- Each process takes a block of 1,000 ids; the last block ends below 2^53.
create sequence event_id as bigint increment by 1000 minvalue 1 maxvalue 9007199254739001;

create table event_log (
  id bigint generated always as identity primary key,
  channel text collate "C" not null,
  key text not null,
  event_id bigint not null,
  owner numeric(19) not null check (owner > 0),
  dataset_id text collate "C" not null,
  source text not null,
  -- The process, and the consumer in it, that handles the row.
  holder integer,
  consumer integer,
  check ((holder is null) = (consumer is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create index event_log_channel on event_log (channel, id);

-- Changes of the directory store ----------------------------------------------------------------------------------
-- pending: `holder` announced the change, which may or may not have been made. ready: waits for a consumer.

create table object_change (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('created', 'removed')),
  key text not null,
  etag text,
  state text not null check (state in ('pending', 'ready')),
  holder integer,
  consumer integer,
  check (state <> 'pending' or (holder is not null and consumer is null)),
  check (state <> 'ready' or (holder is null) = (consumer is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create index object_change_ready on object_change (id) where state = 'ready';
create index object_change_pending on object_change (id) where state = 'pending';
