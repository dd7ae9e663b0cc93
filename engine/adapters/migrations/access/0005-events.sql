-- What is told of requests for users' datasets. Triggers write a row in the transaction of the change. It is removed once it is
-- among the events of the installer, whose database is another one (engine/adapters/access/access-events.ts). Of curated
-- datasets, which the installer does not know, only mails tell.
create table event_outbox (
  event_id bigint generated always as identity primary key,
  -- The same event is stored once, however often it is copied.
  event_key uuid not null default gen_random_uuid(),
  at timestamptz not null default now(),
  kind text not null check (kind in ('access-requested', 'access-approved', 'access-denied', 'access-expiring')),
  dataset_id text collate "C" not null,
  owner_id numeric(19) not null,
  -- Who asked for access.
  user_id numeric(19) not null,
  -- When a grant that expires ends.
  ends timestamptz
);

-- Ends of grants that were told, until they are over. A grant that is extended has another end.
create table told_expiry (
  end_user_id bigint primary key,
  ends timestamptz not null
);

create function queue_new_requests() returns trigger language plpgsql set search_path from current as $$
begin
  insert into event_outbox (kind, dataset_id, owner_id, user_id)
  select 'access-' || e.approval_status, e.dataset_id, c.owner_id, e.user_id
  from added e join curated_dataset c on c.dataset_id = e.dataset_id and c.owner_id is not null;
  return null;
end $$;
create trigger end_user_told_added after insert on end_user referencing new table as added
  for each statement execute function queue_new_requests();

create function queue_changed_request() returns trigger language plpgsql set search_path from current as $$
begin
  insert into event_outbox (kind, dataset_id, owner_id, user_id)
  select 'access-' || new.approval_status, new.dataset_id, c.owner_id, new.user_id
  from curated_dataset c where c.dataset_id = new.dataset_id and c.owner_id is not null;
  return null;
end $$;
create trigger end_user_told_changed after update of approval_status on end_user for each row
  when (old.approval_status <> new.approval_status) execute function queue_changed_request();
