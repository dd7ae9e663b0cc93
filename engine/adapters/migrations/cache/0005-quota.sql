-- Uploads, and the bytes that count against the quota of an owner: raw bytes of datasets, reservations of uploads, and objects
-- in the store.

-- The upload of each new dataset. When an upload is given up, its row is removed: that is the state `gone`.
create table upload (
  dataset_id text collate "C" primary key,
  owner_id numeric(19) not null check (owner_id > 0),
  state text not null check (state in ('receiving', 'accepted', 'stored')),
  -- The process that receives the upload. Its advisory lock shows whether it is alive.
  holder integer not null,
  reserved_bytes bigint not null check (reserved_bytes >= 0),
  source jsonb,
  created timestamptz not null default now(),
  -- There is no dataset while the upload is received. After that, the row is removed with its dataset.
  accepted_id text collate "C" generated always as (case when state <> 'receiving' then dataset_id end) stored
    references dataset on delete cascade,
  check ((state = 'accepted') = (source is not null)),
  check (state = 'receiving' or reserved_bytes = 0)
);
create index upload_receiving on upload (holder) where state = 'receiving';
create index upload_accepted on upload (accepted_id) where accepted_id is not null;

-- Every object that the store keeps for an owner, whatever the state of its dataset. Objects below raw/ are not included: the
-- upload's reservation and `dataset.raw_bytes` count them until they are removed.
-- There is no foreign key to the dataset, because an edit locks its row while it puts an object.
create table kept_object (
  dataset_id text collate "C" not null,
  -- Relative to `{owner}/{dataset}/`. Empty: the whole dataset still has to be counted from a listing.
  name text collate "C" not null,
  owner_id numeric(19) not null check (owner_id > 0),
  -- While the object is being changed: the larger of its old and its new size.
  bytes bigint not null check (bytes >= 0),
  -- The process that is changing it; null = none. If that process is dead, or 0, the sweep takes over.
  holder integer,
  -- Incremented with each change, so that neither of two concurrent changes records a size that the other has replaced.
  turn bigint not null default 1,
  primary key (dataset_id, name)
) with (fillfactor = 70);
create index kept_object_held on kept_object (holder, dataset_id) where holder is not null;

-- One row per owner, so that a check reads one row and a reservation locks one row. The triggers below keep it exact for all
-- writers. A deleted dataset counts until it is pruned.
create table owner_usage (
  owner_id numeric(19) primary key,
  bytes bigint not null
) with (fillfactor = 50);

create function add_usage(owner numeric, delta bigint) returns void language sql set search_path from current as $$
  insert into owner_usage as u (owner_id, bytes) values (owner, delta)
    on conflict (owner_id) do update set bytes = u.bytes + excluded.bytes
$$;

-- Added and removed rows are counted once per statement. Counted per row, a bulk load would take quadratic time.
create function count_datasets() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_usage(owner_id, case tg_op when 'INSERT' then bytes else -bytes end)
  from (select owner_id, sum(raw_bytes)::bigint as bytes from changed group by owner_id order by owner_id) c where bytes <> 0;
  return null;
end $$;
create trigger count_added_datasets after insert on dataset referencing new table as changed
  for each statement execute function count_datasets();
create trigger count_removed_datasets after delete on dataset referencing old table as changed
  for each statement execute function count_datasets();

create function count_dataset_change() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_usage(new.owner_id, new.raw_bytes - old.raw_bytes);
  return null;
end $$;
create trigger count_changed_dataset after update of raw_bytes on dataset for each row
  when (old.raw_bytes <> new.raw_bytes) execute function count_dataset_change();

create function count_reservation() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_usage(coalesce(new.owner_id, old.owner_id), coalesce(new.reserved_bytes, 0) - coalesce(old.reserved_bytes, 0));
  return null;
end $$;
create trigger count_opened_reservation after insert on upload for each row
  when (new.reserved_bytes <> 0) execute function count_reservation();
create trigger count_changed_reservation after update of reserved_bytes on upload for each row
  when (new.reserved_bytes <> old.reserved_bytes) execute function count_reservation();
create trigger count_closed_reservation after delete on upload for each row
  when (old.reserved_bytes <> 0) execute function count_reservation();

create function count_kept_objects() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_usage(owner_id, case tg_op when 'INSERT' then bytes else -bytes end)
  from (select owner_id, sum(bytes)::bigint as bytes from changed group by owner_id order by owner_id) c where bytes <> 0;
  return null;
end $$;
create trigger count_added_objects after insert on kept_object referencing new table as changed
  for each statement execute function count_kept_objects();
create trigger count_removed_objects after delete on kept_object referencing old table as changed
  for each statement execute function count_kept_objects();

create function count_kept_object_change() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_usage(new.owner_id, new.bytes - old.bytes);
  return null;
end $$;
create trigger count_changed_object after update of bytes on kept_object for each row
  when (old.bytes <> new.bytes) execute function count_kept_object_change();

-- A dataset is removed from the catalog after its objects were removed from the store.
create function forget_kept_objects() returns trigger language plpgsql set search_path from current as $$
begin
  delete from kept_object k using removed r where k.dataset_id = r.dataset_id;
  return null;
end $$;
create trigger forget_objects_of_datasets after delete on dataset referencing old table as removed
  for each statement execute function forget_kept_objects();

-- TRUNCATE fires none of the triggers above.
create function recount_usage() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_table_name = 'dataset' then
    delete from kept_object;
  end if;
  delete from owner_usage;
  insert into owner_usage (owner_id, bytes)
    select owner_id, sum(bytes) from (
      select owner_id, raw_bytes as bytes from dataset
      union all select owner_id, reserved_bytes from upload
      union all select owner_id, bytes from kept_object) counted
    group by owner_id;
  return null;
end $$;
create trigger recount_datasets after truncate on dataset for each statement execute function recount_usage();
create trigger recount_uploads after truncate on upload for each statement execute function recount_usage();
create trigger recount_kept_objects after truncate on kept_object for each statement execute function recount_usage();
