-- What happened to datasets, for users and programs that wait for it (ports/dataset-events.ts). Triggers write an event in the
-- statement that causes it, so it costs no round trip and no commit of its own.
--
-- Told is what happens here. A dataset that reconciliation registers, because the cache was lost, has its past behind it: what
-- is registered with it, and what its targets say about that past, is not told.

create table dataset_event (
  id bigint generated always as identity primary key,
  -- The place in the order in which readers get events; null until number_dataset_events() gives it.
  position bigint,
  at timestamptz not null default now(),
  kind text not null check (kind in ('accepted', 'import-ended', 'installed', 'failed', 'deleted', 'shared',
    'access-requested', 'access-approved', 'access-denied', 'access-expiring')),
  dataset_id text collate "C" not null,
  owner_id numeric(19) not null check (owner_id > 0),
  -- The only user who is told; null: whoever sees the dataset.
  addressee_id numeric(19) check (addressee_id > 0),
  detail jsonb not null default '{}' check (octet_length(detail::text) <= 16384),
  -- For events that are copied from elsewhere: the same one is stored once.
  source_key text collate "C"
);
create unique index dataset_event_position on dataset_event (position) where position is not null;
create unique index dataset_event_source on dataset_event (source_key) where source_key is not null;
create index dataset_event_dataset on dataset_event (dataset_id);
create index dataset_event_new on dataset_event (id) where position is null;

-- `last`: the newest position. `dropped`: the newest position that retention has removed. A reader that has seen less than
-- that has missed events. Positions outlive a cache that is dropped and rebuilt: they begin at the time, in ms since 1970, as
-- the tokens of leases do, so a place in a lost cache counts as missed.
create table dataset_event_place (
  only_row boolean primary key default true check (only_row),
  last bigint not null,
  dropped bigint not null
);
insert into dataset_event_place (last, dropped)
  select ms, ms from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) begun;

-- Numbers what has been committed since the last call. Identities are taken before the commit, so a reader that remembers the
-- last one may miss an earlier one that is committed later. Positions are given after the commit, by one transaction at a time:
-- who sees a position sees all below it. Every reader calls this first, and nobody else does, so events that nobody reads cost
-- nothing more.
create function number_dataset_events(out last bigint, out dropped bigint) language plpgsql
  set search_path from current as $$
#variable_conflict use_column
begin
  if exists (select from dataset_event where position is null) then
    perform from dataset_event_place for update;
    -- A statement of its own, whose snapshot is taken after the wait for the lock.
    with waiting as materialized (
      select w.id, row_number() over (order by w.id) as n
      from (select id from dataset_event where position is null order by id limit 10000) w),
    numbered as (
      update dataset_event e set position = p.last + w.n from waiting w, dataset_event_place p where e.id = w.id
      returning e.position)
    update dataset_event_place p set last = n.last
    from (select max(position) as last from numbered) n where n.last is not null;
  end if;
  select p.last, p.dropped into last, dropped from dataset_event_place p;
end $$;

-- Messages of a status as part of an event.
create function event_messages(messages text[]) returns jsonb language sql immutable parallel safe
  return (select coalesce(jsonb_agg(left(m.line, 300) order by m.n), '[]') from unnest(messages) with ordinality as m(line, n)
    where m.n <= 5);

-- Upload. An upload that reconciliation resumes was accepted before: its row is from the same transaction.
create function tell_accepted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into dataset_event (kind, dataset_id, owner_id) values ('accepted', new.dataset_id, new.owner_id);
  return null;
end $$;
create trigger tell_accepted after update of state on upload for each row
  when (old.state = 'receiving' and new.state <> 'receiving' and old.created <> now()) execute function tell_accepted();

-- Upload, import and deletion. A registration inserts the row and changes it, in one transaction.
create function tell_dataset_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.state = 'deleting' and old.state <> 'deleting' then
    insert into dataset_event (kind, dataset_id, owner_id) values ('deleted', new.dataset_id, new.owner_id);
  end if;
  if new.upload_status <> old.upload_status and new.upload_status in ('rejected', 'failed') then
    insert into dataset_event (kind, dataset_id, owner_id, detail) values ('failed', new.dataset_id, new.owner_id,
      jsonb_build_object('step', 'upload', 'status', new.upload_status,
        'messages', event_messages(array_remove(array[new.upload_message], null))));
  end if;
  if new.import_status <> old.import_status and new.import_status in ('complete', 'invalid', 'failed') then
    insert into dataset_event (kind, dataset_id, owner_id, detail) values ('import-ended', new.dataset_id, new.owner_id,
      jsonb_build_object('status', new.import_status, 'messages', event_messages(new.import_messages)));
  end if;
  return null;
end $$;
create trigger tell_dataset_change after update of state, upload_status, import_status on dataset for each row
  when (old.inserted <> now() and (new.state = 'deleting' and old.state <> 'deleting'
    or new.upload_status <> old.upload_status and new.upload_status in ('rejected', 'failed')
    or new.import_status <> old.import_status and new.import_status in ('complete', 'invalid', 'failed')))
  execute function tell_dataset_change();

-- Installs. `told`: nothing about this row is left to tell. It ends when a step that was over begins again.
alter table install_status add column told boolean not null default true;
update install_status set told = false where status in ('queued', 'running');

create function install_is_over(status text) returns boolean language sql immutable parallel safe
  return status in ('complete', 'failed-validation', 'failed-installation', 'missing-dependency');

create function note_install_told() returns trigger language plpgsql set search_path from current as $$
begin
  -- Nothing is told of a new row if the dataset was registered, and nothing else has been told of it yet.
  new.told := tg_op = 'INSERT' and (new.status = 'complete'
    or not exists (select from upload u where u.accepted_id = new.dataset_id)
    and not exists (select from dataset_event e where e.dataset_id = new.dataset_id));
  return new;
end $$;
create trigger note_new_install before insert on install_status for each row execute function note_install_told();
create trigger note_repeated_install before update of status on install_status for each row
  when (install_is_over(old.status) and not install_is_over(new.status)) execute function note_install_told();

-- Tells that a dataset is installed, once: when data and metadata are complete on every target that has a row, and every other
-- target of the dataset has no job that could begin there. (A target may be disabled, or not apply to the dataset's type.)
create function tell_installed(its_id text) returns void language plpgsql set search_path from current as $$
begin
  if not exists (select from install_status i where i.dataset_id = its_id and i.kind = 'data' and not i.told)
      or exists (select from install_status i where i.dataset_id = its_id and i.status <> 'complete')
      or exists (select from install_status i where i.dataset_id = its_id and i.kind = 'data' and not exists (
        select from install_status m where m.dataset_id = its_id and m.target_id = i.target_id and m.kind = 'meta'))
      or exists (select from dataset_target t where t.dataset_id = its_id and not exists (
        select from install_status i where i.dataset_id = its_id and i.target_id = t.target_id and i.kind = 'data'))
      and exists (select from job j where j.dataset_id = its_id and j.lane in ('install', 'updateMeta') and j.state <> 'dead') then
    return;
  end if;
  insert into dataset_event (kind, dataset_id, owner_id)
    select 'installed', d.dataset_id, d.owner_id from dataset d where d.dataset_id = its_id and d.state = 'live';
  update install_status i set told = true where i.dataset_id = its_id and i.kind = 'data' and not i.told;
end $$;

create function tell_install_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.status = 'complete' then
    perform tell_installed(new.dataset_id);
  -- A missing dependency is looked for again each day.
  elsif new.status <> 'missing-dependency' or not exists (
      select from dataset_event e where e.dataset_id = new.dataset_id and e.kind = 'failed'
        and e.detail ->> 'target' = new.target_id and e.detail ->> 'status' = 'missing-dependency'
        and e.id > coalesce((select max(i.id) from dataset_event i
          where i.dataset_id = new.dataset_id and i.kind = 'installed'), 0)) then
    insert into dataset_event (kind, dataset_id, owner_id, detail)
      select 'failed', d.dataset_id, d.owner_id, jsonb_build_object(
        'step', case new.kind when 'data' then 'install' else 'metadata' end,
        'status', new.status, 'target', new.target_id, 'messages', event_messages(new.messages))
      from dataset d where d.dataset_id = new.dataset_id;
  end if;
  return null;
end $$;
-- Metadata follow the data, so the end of data that are installed tells nothing yet.
create trigger tell_new_install after insert on install_status for each row
  when (not new.told and install_is_over(new.status) and (new.kind = 'meta' or new.status <> 'complete'))
  execute function tell_install_change();
create trigger tell_install_end after update of status on install_status for each row
  when (not new.told and new.status <> old.status and install_is_over(new.status)
    and (new.kind = 'meta' or new.status <> 'complete'))
  execute function tell_install_change();

-- Two targets that end at the same moment do not see each other; and where a target has no row, the end of the job decides.
create function tell_installed_by_job() returns trigger language plpgsql set search_path from current as $$
begin
  perform tell_installed(old.dataset_id);
  return null;
end $$;
create trigger tell_install_job after delete on job for each row when (old.lane in ('install', 'updateMeta'))
  execute function tell_installed_by_job();

-- Offers. The offers that a revision inherits are known to their recipients.
create function tell_shared() returns trigger language plpgsql set search_path from current as $$
begin
  insert into dataset_event (kind, dataset_id, owner_id, addressee_id)
    select 'shared', d.dataset_id, d.owner_id, new.recipient_id from dataset d
    where d.dataset_id = new.dataset_id and d.inserted <> now() and not exists (
      select from dataset o join dataset_share s on s.dataset_id = o.dataset_id
      where o.root_id = d.root_id and o.owner_id = d.owner_id and o.dataset_id <> d.dataset_id
        and s.recipient_id = new.recipient_id and s.offer = 'grant');
  return null;
end $$;
create trigger tell_new_offer after insert on dataset_share for each row when (new.offer = 'grant')
  execute function tell_shared();
create trigger tell_offer after update of offer on dataset_share for each row
  when (new.offer = 'grant' and old.offer is distinct from 'grant') execute function tell_shared();
