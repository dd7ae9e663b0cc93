-- Changes of grants for users' datasets, for the sites: a number for each person and dataset, in the order of commits. To
-- avoid deadlocks, each transaction writes the row of grant_number last, after those of the counts.
create table grant_number (
  last bigint not null,
  -- Identifies this database, because numbers are only comparable within one database.
  source uuid not null
);
insert into grant_number (last, source) values (0, gen_random_uuid());

create table grant_change (
  dataset_id text collate "C" not null references curated_dataset,
  user_id numeric(19) not null,
  number bigint not null unique,
  primary key (dataset_id, user_id)
);

create function number_grants(datasets text[], users numeric[]) returns void
language plpgsql set search_path from current as $$
declare
  changed bigint := cardinality(datasets);
  last_number bigint;
begin
  if changed = 0 then
    return;
  end if;
  update grant_number set last = last + changed returning last into last_number;
  insert into grant_change as g (dataset_id, user_id, number)
  select d, u, last_number - changed + n from unnest(datasets, users) with ordinality c (d, u, n)
  on conflict (dataset_id, user_id) do update set number = excluded.number;
end $$;

create function number_end_users() returns trigger language plpgsql set search_path from current as $$
begin
  perform number_grants(coalesce(array_agg(e.dataset_id), '{}'), coalesce(array_agg(e.user_id), '{}'))
  from changed e join curated_dataset c on c.dataset_id = e.dataset_id and c.owner_id is not null
  where e.approval_status = 'approved';
  return null;
end $$;
create function number_end_user_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform number_grants(array[c.dataset_id], array[new.user_id])
  from curated_dataset c where c.dataset_id = new.dataset_id and c.owner_id is not null;
  return null;
end $$;
-- Triggers of one kind run in the order of their names, so these run after end_user_counted_*.
create trigger end_user_numbered_added after insert on end_user
  referencing new table as changed for each statement execute function number_end_users();
create trigger end_user_numbered_removed after delete on end_user
  referencing old table as changed for each statement execute function number_end_users();
create trigger end_user_numbered_changed after update on end_user for each row
  when (old.approval_status = 'approved' or new.approval_status = 'approved')
  execute function number_end_user_changed();
