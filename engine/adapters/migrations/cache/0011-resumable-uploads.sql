-- Uploads that clients send in several requests (ports/resumable-uploads.ts). Until a dataset is made of them, they count
-- against the owner's quota with their whole length. `offset_bytes` is what the object store has for certain: bytes behind it
-- do not count, whatever the store holds. Times come from the service's clock.

create table resumable_upload (
  id text collate "C" primary key,
  owner_id numeric(19) not null check (owner_id > 0),
  state text not null default 'open' check (state in ('open', 'used', 'gone')),
  length_bytes bigint not null check (length_bytes >= 0),
  offset_bytes bigint not null default 0 check (offset_bytes between 0 and length_bytes),
  reserved_bytes bigint not null check (reserved_bytes >= 0),
  file_name text not null,
  metadata text not null,
  -- Known to the object store only.
  place text,
  -- The process that changes it; null = none. Each claim gets a new turn.
  holder integer,
  turn bigint not null default 0,
  -- Somebody else asks for it: its holder ends soon.
  wanted boolean not null default false,
  expires_at timestamptz not null,
  created timestamptz not null default now(),
  check (state = 'open' or holder is null)
) with (fillfactor = 70);
create index resumable_upload_owner on resumable_upload (owner_id) where state = 'open';
create index resumable_upload_expiry on resumable_upload (expires_at) where state = 'open';
create index resumable_upload_left on resumable_upload (id) where state <> 'open';

create trigger count_opened_resumable after insert on resumable_upload for each row
  when (new.reserved_bytes <> 0) execute function count_reservation();
create trigger count_changed_resumable after update of reserved_bytes on resumable_upload for each row
  when (new.reserved_bytes <> old.reserved_bytes) execute function count_reservation();
create trigger count_closed_resumable after delete on resumable_upload for each row
  when (old.reserved_bytes <> 0) execute function count_reservation();

create or replace function recount_usage() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_table_name = 'dataset' then
    delete from kept_object;
  end if;
  delete from owner_usage;
  insert into owner_usage (owner_id, bytes)
    select owner_id, sum(bytes) from (
      select owner_id, raw_bytes as bytes from dataset
      union all select owner_id, reserved_bytes from upload
      union all select owner_id, reserved_bytes from resumable_upload
      union all select owner_id, bytes from kept_object) counted
    group by owner_id;
  return null;
end $$;
create trigger recount_resumable after truncate on resumable_upload for each statement execute function recount_usage();
