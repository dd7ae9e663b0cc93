-- The catalog: what the object store holds, indexed, and what the engine knows about each dataset. It can be dropped
-- and rebuilt from the store. Quota counters and accounts are here too. Names are unqualified on purpose.

create table dataset (
  dataset_id text collate "C" primary key,
  owner_id numeric(19) not null check (owner_id > 0),
  -- All revisions of one dataset share the root; the highest revision is the newest.
  root_id text collate "C" not null,
  revision integer not null check (revision >= 0),
  state text not null check (state in ('receiving', 'live', 'superseded', 'deleting', 'deleted', 'pruning')),
  type_name text not null,
  type_version text not null,
  -- The whole vdi-meta.json; the columns after it repeat what queries need.
  metadata jsonb not null,
  visibility text not null check (visibility in ('private', 'protected', 'public')),
  name text not null,
  project_name text,
  program_name text,
  -- Creation of the original, the same for all revisions.
  created timestamptz not null default now(),
  inserted timestamptz not null default now(),
  upload_status text not null check (upload_status in ('running', 'success', 'rejected', 'failed')),
  upload_message text,
  import_status text not null check (import_status in ('queued', 'in-progress', 'complete', 'invalid', 'failed')),
  import_messages text[] not null default '{}',
  -- Kept beside the file rows so that a listing does not read them.
  upload_file_count integer not null default 0,
  upload_file_bytes bigint not null default 0,
  -- What counts against the owner's quota until the dataset is deleted.
  raw_bytes bigint not null default 0 check (raw_bytes >= 0),
  -- Grows with metadata and state; for writers without a lease.
  row_version bigint not null default 1
) with (fillfactor = 85);

create index dataset_owned on dataset (owner_id, created desc, dataset_id) where state = 'live';
create index dataset_community on dataset (created desc, dataset_id)
  where state = 'live' and visibility <> 'private';
create index dataset_created on dataset (created, dataset_id);
create index dataset_root on dataset (root_id, revision);
create index dataset_project on dataset (owner_id, project_name) where project_name is not null;
create index dataset_program on dataset (owner_id, program_name) where program_name is not null;
create index dataset_not_live on dataset (state, dataset_id) where state <> 'live';
create index dataset_import_failed on dataset (created, dataset_id) where import_status = 'failed';
-- The order of keys in the object store, bytewise, for merging both streams.
create index dataset_store_order on dataset ((owner_id::text || '/' || dataset_id || '/') collate "C");

create table dataset_target (
  dataset_id text collate "C" not null references dataset on delete cascade,
  target_id text not null,
  primary key (dataset_id, target_id)
);
create index dataset_target_target on dataset_target (target_id, dataset_id);

create table dataset_publication (
  dataset_id text collate "C" not null references dataset on delete cascade,
  type text not null check (type in ('pmid', 'doi')),
  identifier text not null,
  primary key (dataset_id, type, identifier)
);
create index dataset_publication_identifier on dataset_publication (identifier, type);

create table dataset_file (
  dataset_id text collate "C" not null references dataset on delete cascade,
  folder text not null check (folder in ('upload', 'install', 'document', 'property')),
  name text not null,
  size bigint not null check (size >= 0),
  primary key (dataset_id, folder, name)
);

-- Versions of the store's objects that the cache reflects.
create table dataset_sync (
  dataset_id text collate "C" not null references dataset on delete cascade,
  part text not null check (part in ('meta', 'data', 'shares')),
  modified timestamptz not null,
  etag text not null,
  primary key (dataset_id, part)
);

create table dataset_share (
  dataset_id text collate "C" not null references dataset on delete cascade,
  recipient_id numeric(19) not null check (recipient_id > 0),
  -- The owner's word and the recipient's word; null while there is none.
  offer text check (offer in ('grant', 'revoke')),
  receipt text check (receipt in ('accept', 'reject')),
  primary key (dataset_id, recipient_id)
);
create index dataset_share_recipient on dataset_share (recipient_id, dataset_id);

-- Mirror of the statuses that the install targets hold.
create table install_status (
  dataset_id text collate "C" not null references dataset on delete cascade,
  target_id text not null,
  kind text not null check (kind in ('meta', 'data')),
  status text not null check (status in ('queued', 'running', 'complete', 'failed-validation', 'failed-installation',
    'ready-for-reinstall', 'missing-dependency')),
  messages text[] not null default '{}',
  updated timestamptz not null default now(),
  primary key (dataset_id, target_id, kind)
) with (fillfactor = 85);
create index install_status_open on install_status (status, target_id, dataset_id)
  where status in ('failed-installation', 'ready-for-reinstall', 'missing-dependency');

create table install_attempt (
  dataset_id text collate "C" not null references dataset on delete cascade,
  target_id text not null,
  kind text not null check (kind in ('meta', 'data')),
  tries integer not null check (tries >= 0),
  not_before timestamptz,
  started boolean not null,
  primary key (dataset_id, target_id, kind)
);

-- How a dataset enters. A row that is given up is removed: that is the state `gone`.
create table upload (
  dataset_id text collate "C" primary key,
  owner_id numeric(19) not null check (owner_id > 0),
  state text not null check (state in ('receiving', 'accepted', 'stored')),
  -- The process that receives; its session lock tells whether it lives.
  holder integer not null,
  reserved_bytes bigint not null check (reserved_bytes >= 0),
  source jsonb,
  created timestamptz not null default now(),
  -- There is no dataset yet while receiving; from then on the row goes with its dataset.
  accepted_id text collate "C" generated always as (case when state <> 'receiving' then dataset_id end) stored
    references dataset on delete cascade,
  check ((state = 'accepted') = (source is not null)),
  check (state = 'receiving' or reserved_bytes = 0)
);
create index upload_receiving on upload (holder) where state = 'receiving';
create index upload_accepted on upload (accepted_id) where accepted_id is not null;

create table account (
  user_id numeric(19) primary key check (user_id > 0),
  first_name text not null,
  last_name text not null,
  email text not null,
  affiliation text not null,
  updated timestamptz not null default now()
);

-- Bytes that count against an owner's quota: raw bytes of datasets that are not deleted, and reservations. One row per
-- owner, so that checking is one read and reserving locks one row; the triggers below keep it exact whoever writes.
create table owner_usage (
  owner_id numeric(19) primary key,
  bytes bigint not null
) with (fillfactor = 50);

create function add_usage(owner numeric, delta bigint) returns void language sql set search_path from current as $$
  insert into owner_usage as u (owner_id, bytes) values (owner, delta)
    on conflict (owner_id) do update set bytes = u.bytes + excluded.bytes
$$;

create function counted_bytes(state text, bytes bigint) returns bigint language sql immutable as $$
  select case when state in ('receiving', 'live', 'superseded') then bytes else 0 end
$$;

-- Whole statements at once for rows added or removed: a row at a time would be quadratic for a bulk load.
create function count_datasets() returns trigger language plpgsql set search_path from current as $$
declare
  change record;
begin
  for change in
    select owner_id, sum(counted_bytes(state, raw_bytes))::bigint as bytes from changed group by owner_id order by owner_id
  loop
    if change.bytes <> 0 then
      perform add_usage(change.owner_id, case when tg_op = 'INSERT' then change.bytes else -change.bytes end);
    end if;
  end loop;
  return null;
end $$;
create trigger count_added_datasets after insert on dataset referencing new table as changed
  for each statement execute function count_datasets();
create trigger count_removed_datasets after delete on dataset referencing old table as changed
  for each statement execute function count_datasets();

create function count_dataset_change() returns trigger language plpgsql set search_path from current as $$
begin
  perform add_usage(new.owner_id, counted_bytes(new.state, new.raw_bytes) - counted_bytes(old.state, old.raw_bytes));
  return null;
end $$;
create trigger count_changed_dataset after update of state, raw_bytes on dataset for each row
  when (counted_bytes(old.state, old.raw_bytes) <> counted_bytes(new.state, new.raw_bytes))
  execute function count_dataset_change();

create function count_reservation() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'INSERT' then
    perform add_usage(new.owner_id, new.reserved_bytes);
  elsif tg_op = 'DELETE' then
    perform add_usage(old.owner_id, -old.reserved_bytes);
  else
    perform add_usage(new.owner_id, new.reserved_bytes - old.reserved_bytes);
  end if;
  return null;
end $$;
create trigger count_opened_reservation after insert on upload for each row
  when (new.reserved_bytes <> 0) execute function count_reservation();
create trigger count_changed_reservation after update of reserved_bytes on upload for each row
  when (new.reserved_bytes <> old.reserved_bytes) execute function count_reservation();
create trigger count_closed_reservation after delete on upload for each row
  when (old.reserved_bytes <> 0) execute function count_reservation();

-- Truncation fires none of the above.
create function recount_usage() returns trigger language plpgsql set search_path from current as $$
begin
  delete from owner_usage;
  insert into owner_usage (owner_id, bytes)
    select owner_id, sum(bytes) from (
      select owner_id, counted_bytes(state, raw_bytes) as bytes from dataset
      union all select owner_id, reserved_bytes from upload) counted
    group by owner_id;
  return null;
end $$;
create trigger recount_datasets after truncate on dataset for each statement execute function recount_usage();
create trigger recount_uploads after truncate on upload for each statement execute function recount_usage();
