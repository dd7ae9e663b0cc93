-- The audit trail: one row for each request that changes or downloads something, reads as an administrator, or is refused.
-- It is partitioned by week, so old rows are dropped with their partition. Partitions are created when they are needed.
-- Triggers refuse update, delete and truncate to everybody, including the owner and superusers.
create sequence audit_number;

create table audit (
  at timestamptz not null,
  number bigint not null default nextval('audit_number'),
  kind text not null,
  actor_kind text not null,
  actor text,
  address text not null,
  service text not null,
  method text not null,
  route text not null,
  dataset text,
  records jsonb not null,
  outcome text not null,
  status integer,
  count integer not null check (count > 0),
  request uuid not null
) partition by range (at);
create index audit_time on audit (at, number);
create index audit_actor on audit (actor, at, number) where actor is not null;
create index audit_dataset on audit (dataset, at, number) where dataset is not null;
create index audit_route on audit (route, at, number);
create index audit_outcome on audit (outcome, at, number);

create function audit_refuse() returns trigger language plpgsql as $$
begin
  raise exception '% of % is refused: the audit trail is only added to', lower(tg_op), tg_table_name
    using errcode = 'insufficient_privilege';
end $$;
create trigger audit_append_only before update or delete or truncate on audit
  for each statement execute function audit_refuse();

-- Creates the partition for the week of `moment` unless it exists. It attaches a table because that does not wait for readers,
-- as creating a partition directly would.
create function audit_week(moment timestamptz) returns void language plpgsql as $$
declare
  monday date := date_trunc('week', moment at time zone 'UTC')::date;
  week text := 'audit_' || to_char(monday, 'YYYYMMDD');
begin
  if to_regclass(week) is not null then return; end if;
  perform pg_advisory_xact_lock(7305020);
  -- This checks again with a query, which sees what was committed while this function waited for the lock.
  if exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'audit'::regclass and c.relname = week) then
    return;
  end if;
  execute format('create table %I (like audit including defaults including constraints)', week);
  execute format('create trigger audit_append_only before update or delete or truncate on %I
    for each statement execute function audit_refuse()', week);
  execute format('alter table audit attach partition %I for values from (%L) to (%L)', week,
    monday::timestamp at time zone 'UTC', (monday + 7)::timestamp at time zone 'UTC');
end $$;

-- Drops the partitions of weeks that ended by `before`. Returns their number.
create function audit_drop(before timestamptz) returns integer language plpgsql as $$
declare
  week regclass;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(7305020);
  for week in
    select c.oid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'audit'::regclass
      and (to_date(right(c.relname, 8), 'YYYYMMDD') + 7)::timestamp at time zone 'UTC' <= before
  loop
    execute format('drop table %s', week);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
