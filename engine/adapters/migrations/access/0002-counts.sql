-- How many there are of what lists count, kept by each change in its own transaction: to count a million rows takes
-- longer than to read the page. A transaction takes the count's row last, that of its dataset before that of all, and no
-- transaction of ours writes two people's rows, so that nobody waits for a count while somebody waits for their row.

create table people_count (
  -- Empty: of all datasets.
  dataset_id text collate "C" primary key,
  providers bigint not null default 0 check (providers >= 0),
  requested bigint not null default 0 check (requested >= 0),
  approved bigint not null default 0 check (approved >= 0),
  denied bigint not null default 0 check (denied >= 0),
  -- Only of all datasets.
  staff bigint not null default 0 check (staff >= 0)
) with (fillfactor = 50);

create function begin_count() returns trigger language plpgsql set search_path from current as $$
begin
  insert into people_count (dataset_id) values (new.dataset_id);
  return null;
end $$;
create trigger curated_dataset_counted after insert on curated_dataset
  for each row execute function begin_count();

-- A change that cannot be counted fails.
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

-- Row by row, a statement that inserts a million rows would write a count a million times: insertions and removals are
-- counted by statement. Changes are single, and mostly change no count.
create function count_end_users() returns trigger language plpgsql set search_path from current as $$
declare
  sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  -- The dataset that is null stands for all, and comes last.
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

-- What is there already. The triggers' locks keep others from writing meanwhile.
insert into people_count (dataset_id, providers, requested, approved, denied, staff)
select c.dataset_id, coalesce(p.n, 0), coalesce(e.r, 0), coalesce(e.a, 0), coalesce(e.d, 0), 0
from curated_dataset c
left join (select dataset_id, count(*) as n from provider group by dataset_id) p on p.dataset_id = c.dataset_id
left join (select dataset_id, count(*) filter (where approval_status = 'requested') as r,
    count(*) filter (where approval_status = 'approved') as a, count(*) filter (where approval_status = 'denied') as d
  from end_user group by dataset_id) e on e.dataset_id = c.dataset_id;
insert into people_count (dataset_id, providers, requested, approved, denied, staff)
select '', 0, coalesce(sum(requested), 0), coalesce(sum(approved), 0), coalesce(sum(denied), 0), (select count(*) from staff)
from people_count;

-- Lists by status, of one dataset and of all, in the order of the lists.
create index end_user_dataset_status on end_user (dataset_id, approval_status, user_id);
create index end_user_status on end_user (approval_status, user_id, dataset_id);

-- Who decides by waiting, and who governs: few of many.
create index curated_dataset_waiting on curated_dataset (dataset_id)
  where days_for_approval >= 0 and restriction_level in ('protected', 'controlled');
create index provider_manager on provider (dataset_id, provider_id) where is_manager;
create index staff_owner on staff (staff_id) where is_owner;
