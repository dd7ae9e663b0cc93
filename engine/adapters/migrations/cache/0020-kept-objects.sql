-- The quota counts every byte that the object store keeps for an owner, object by object, whatever state the dataset is in.
-- What lies under raw/ is not here: the upload's reservation and `dataset.raw_bytes` count it until it is removed.
-- No foreign key to the dataset: an edit holds the lock of its row while it puts an object.
create table kept_object (
  dataset_id text collate "C" not null,
  -- Below `{owner}/{dataset}/`. The empty name: the dataset as a whole is to be counted from a listing.
  name text collate "C" not null,
  owner_id numeric(19) not null check (owner_id > 0),
  -- While the object is being changed: the larger of what it has and what it is about to have.
  bytes bigint not null check (bytes >= 0),
  -- The process that changes it. Null = nobody does. One that is dead, or 0, leaves it to the sweep.
  holder integer,
  -- Grows with each change, so that of two at once neither writes down a size that the other has replaced.
  turn bigint not null default 1,
  primary key (dataset_id, name)
) with (fillfactor = 70);
create index kept_object_held on kept_object (holder, dataset_id) where holder is not null;

create function count_kept_objects() returns trigger language plpgsql set search_path from current as $$
declare
  change record;
begin
  for change in select owner_id, sum(bytes)::bigint as bytes from changed group by owner_id order by owner_id loop
    if change.bytes <> 0 then
      perform add_usage(change.owner_id, case when tg_op = 'INSERT' then change.bytes else -change.bytes end);
    end if;
  end loop;
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

-- A dataset goes from the catalog after its objects have gone from the store.
create function forget_kept_objects() returns trigger language plpgsql set search_path from current as $$
begin
  delete from kept_object k using removed r where k.dataset_id = r.dataset_id;
  return null;
end $$;
create trigger forget_objects_of_datasets after delete on dataset referencing old table as removed
  for each statement execute function forget_kept_objects();

-- A deleted dataset takes its room until it is pruned.
create or replace function counted_bytes(state text, bytes bigint) returns bigint language sql immutable as $$
  select bytes
$$;

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
      union all select owner_id, bytes from kept_object) counted
    group by owner_id;
  return null;
end $$;
create trigger recount_kept_objects after truncate on kept_object for each statement execute function recount_usage();

-- What is here already is counted by the sweep, dataset by dataset; until then what was uploaded stands for all of it.
insert into kept_object (dataset_id, name, owner_id, bytes, holder)
  select dataset_id, '', owner_id, case when upload_status = 'running' then 0 else raw_bytes end, 0
  from dataset where state <> 'receiving';
alter table dataset disable trigger user;
update dataset set raw_bytes = 0 where upload_status <> 'running' and raw_bytes <> 0;
alter table dataset enable trigger user;
delete from owner_usage;
insert into owner_usage (owner_id, bytes)
  select owner_id, sum(bytes) from (
    select owner_id, raw_bytes as bytes from dataset
    union all select owner_id, reserved_bytes from upload
    union all select owner_id, bytes from kept_object) counted
  group by owner_id;
