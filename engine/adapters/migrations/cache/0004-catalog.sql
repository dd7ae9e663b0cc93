-- The catalog: an index of what the object store holds, and what the engine knows about each dataset. It can be dropped and
-- rebuilt from the store.

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
  -- When the original was created; the same for all revisions.
  created timestamptz not null default now(),
  inserted timestamptz not null default now(),
  upload_status text not null check (upload_status in ('running', 'success', 'rejected', 'failed')),
  upload_message text,
  import_status text not null check (import_status in ('queued', 'in-progress', 'complete', 'invalid', 'failed')),
  import_messages text[] not null default '{}',
  -- Copied from dataset_file, so that a listing does not have to read it.
  upload_file_count integer not null default 0,
  upload_file_bytes bigint not null default 0,
  -- Count against the owner's quota; see owner_usage.
  raw_bytes bigint not null default 0 check (raw_bytes >= 0),
  -- Incremented with each change of metadata or state; for writers without a lease.
  row_version bigint not null default 1,
  -- The trace of the last request that changed the dataset (W3C Trace Context). Its jobs send it to plugins.
  traceparent text,
  -- Versions of the store's objects that the cache reflects; for each part, both or neither. Times in ms since 1970.
  meta_etag text, meta_modified_ms bigint,
  data_etag text, data_modified_ms bigint,
  shares_etag text, shares_modified_ms bigint,
  -- The ids in dataset_target, sorted. That table serves to find datasets by target.
  install_targets text[] not null default '{}',
  check ((meta_etag is null) = (meta_modified_ms is null)),
  check ((data_etag is null) = (data_modified_ms is null)),
  check ((shares_etag is null) = (shares_modified_ms is null))
) with (fillfactor = 85);

create index dataset_owned on dataset (owner_id, created desc, dataset_id) where state = 'live';
create index dataset_community on dataset (created desc, dataset_id) where state = 'live' and visibility <> 'private';
-- For offsets into the list of all datasets, and into that of all shown ones: rows are skipped without reading the table.
create index dataset_created_state on dataset (created, dataset_id) include (state);
create index dataset_created_shown on dataset (created, dataset_id) where state in ('live', 'superseded');
create index dataset_root on dataset (root_id, revision);
create index dataset_project on dataset (owner_id, project_name) where project_name is not null;
create index dataset_program on dataset (owner_id, program_name) where program_name is not null;
create index dataset_not_live on dataset (state, dataset_id) where state <> 'live';
create index dataset_import_failed on dataset (created, dataset_id) where import_status = 'failed';
-- For datasets that have no job. The predicate omits `upload_status`, so its updates stay HOT.
create index dataset_import_open on dataset (dataset_id) where import_status in ('queued', 'in-progress');
-- The bytewise order of keys in the object store, for merging both streams.
create index dataset_store_order on dataset ((owner_id::text || '/' || dataset_id || '/') collate "C")
  where state <> 'receiving';

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

create table dataset_share (
  dataset_id text collate "C" not null references dataset on delete cascade,
  recipient_id numeric(19) not null check (recipient_id > 0),
  -- The owner's decision and the recipient's decision; null if there is none.
  offer text check (offer in ('grant', 'revoke')),
  receipt text check (receipt in ('accept', 'reject')),
  primary key (dataset_id, recipient_id)
);
create index dataset_share_recipient on dataset_share (recipient_id, dataset_id);

-- A copy of the statuses in the install targets.
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
  attempts integer not null check (attempts >= 0),
  not_before timestamptz,
  started boolean not null,
  primary key (dataset_id, target_id, kind)
);

create table account (
  user_id numeric(19) primary key check (user_id > 0),
  first_name text not null,
  last_name text not null,
  email text not null,
  affiliation text not null,
  updated timestamptz not null default now(),
  -- The address as the program compares it (engine/model/access-mail.ts): beyond ASCII, SQL's `lower` depends on the database.
  address_key text
);
create index account_address on account (address_key, user_id) where address_key is not null;

-- How far the slim runs of the reconciler have come; no last dataset at the start of a pass.
create table slim_pass (
  only_row boolean primary key default true check (only_row),
  owner_id numeric(19), dataset_id text collate "C", begun_at timestamptz not null,
  compared bigint not null, expected bigint not null
);
