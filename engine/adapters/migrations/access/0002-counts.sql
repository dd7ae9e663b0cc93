-- The totals of lists. Each change updates them in its own transaction, because counting a million rows takes longer than
-- reading a page of them. To avoid deadlocks, a transaction writes counts last: that of its dataset, then that of all datasets.
-- It never writes the rows of two people.

create table people_count (
  -- Empty: all datasets together.
  dataset_id text collate "C" primary key,
  providers bigint not null default 0 check (providers >= 0),
  requested bigint not null default 0 check (requested >= 0),
  approved bigint not null default 0 check (approved >= 0),
  denied bigint not null default 0 check (denied >= 0),
  -- Counted only in the row of all datasets.
  staff bigint not null default 0 check (staff >= 0)
) with (fillfactor = 50);

create function begin_count() returns trigger language plpgsql set search_path from current as $$
begin
  insert into people_count (dataset_id) values (new.dataset_id);
  return null;
end $$;
create trigger curated_dataset_counted after insert on curated_dataset
  for each row execute function begin_count();

-- Fails for a dataset without a row.
create function add_to_count(of_dataset text, providers_more bigint, requested_more bigint, approved_more bigint,
  denied_more bigint, staff_more bigint) returns void language plpgsql set search_path from current as $$
begin
  update people_count set providers = providers + providers_more, requested = requested + requested_more,
    approved = approved + approved_more, denied = denied + denied_more, staff = staff + staff_more
  where dataset_id = of_dataset;
  if not found then
    raise exception 'dataset % has no row of counts', of_dataset;
  end if;
end $$;

-- Insertions and removals are counted once per statement. Counted per row, a statement with a million rows would write a count
-- a million times. Updates are counted per row: they concern single rows, and most change no count.
create function count_end_users() returns trigger language plpgsql set search_path from current as $$
declare
  sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  -- A null dataset stands for all datasets and comes last.
  perform add_to_count(coalesce(dataset_id, ''), 0, sign * requested, sign * approved, sign * denied, 0)
  from (select dataset_id, count(*) filter (where approval_status = 'requested') as requested,
      count(*) filter (where approval_status = 'approved') as approved,
      count(*) filter (where approval_status = 'denied') as denied
    from changed group by grouping sets ((dataset_id), ()) having count(*) > 0 order by dataset_id nulls last) n;
  return null;
end $$;
create function count_end_user_changed() returns trigger language plpgsql set search_path from current as $$
declare
  counted text;
begin
  if new.dataset_id <> old.dataset_id then
    raise exception 'an access request stays with its dataset';
  end if;
  foreach counted in array array[new.dataset_id, ''] loop
    perform add_to_count(counted, 0,
      (new.approval_status = 'requested')::int - (old.approval_status = 'requested')::int,
      (new.approval_status = 'approved')::int - (old.approval_status = 'approved')::int,
      (new.approval_status = 'denied')::int - (old.approval_status = 'denied')::int, 0);
  end loop;
  return null;
end $$;
create trigger end_user_counted_added after insert on end_user
  referencing new table as changed for each statement execute function count_end_users();
create trigger end_user_counted_removed after delete on end_user
  referencing old table as changed for each statement execute function count_end_users();
create trigger end_user_counted_changed after update on end_user for each row
  when (old.approval_status <> new.approval_status or old.dataset_id <> new.dataset_id)
  execute function count_end_user_changed();

create function count_providers() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_to_count(dataset_id, case tg_op when 'INSERT' then n else -n end, 0, 0, 0, 0)
  from (select dataset_id, count(*) as n from changed group by dataset_id order by dataset_id) c;
  return null;
end $$;
create function count_provider_moved() returns trigger language plpgsql as $$
begin
  raise exception 'a provider stays with the dataset';
end $$;
create trigger provider_counted_added after insert on provider
  referencing new table as changed for each statement execute function count_providers();
create trigger provider_counted_removed after delete on provider
  referencing old table as changed for each statement execute function count_providers();
create trigger provider_counted_moved after update on provider for each row
  when (old.dataset_id <> new.dataset_id) execute function count_provider_moved();

create function count_staff() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_to_count('', 0, 0, 0, 0, case tg_op when 'INSERT' then n else -n end)
  from (select count(*) as n from changed) c where n > 0;
  return null;
end $$;
create trigger staff_counted_added after insert on staff
  referencing new table as changed for each statement execute function count_staff();
create trigger staff_counted_removed after delete on staff
  referencing old table as changed for each statement execute function count_staff();

create function refuse_truncate() returns trigger language plpgsql as $$
begin
  raise exception '% is counted; remove rows instead', tg_table_name;
end $$;
create trigger end_user_counted_whole before truncate on end_user
  for each statement execute function refuse_truncate();
create trigger provider_counted_whole before truncate on provider
  for each statement execute function refuse_truncate();
create trigger staff_counted_whole before truncate on staff
  for each statement execute function refuse_truncate();

insert into people_count (dataset_id) values ('');
