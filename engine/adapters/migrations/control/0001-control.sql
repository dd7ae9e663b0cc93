-- Control schema: which datasets are installed for whom. Sites read it. Several targets may share a schema, so everything that
-- depends on the target has the target in its key. The owner's metadata of a dataset is stored once.

create table dataset (
  dataset_id text primary key,
  owner numeric(19) not null check (owner > 0),
  -- The id of its first revision.
  original_id text not null,
  type_name text not null,
  type_version text not null,
  category text not null,
  -- 0 = live, 2 = deleted but not uninstalled, 1 = deleted and uninstalled. Of several targets, the first in this order counts.
  deleted_status smallint not null check (deleted_status in (0, 1, 2)),
  -- Private until a target shows the dataset's own visibility.
  accessibility text not null check (accessibility in ('private', 'protected', 'public')),
  is_public smallint not null generated always as (case when accessibility = 'public' then 1 else 0 end) stored,
  days_for_approval integer not null,
  creation_date timestamptz not null,
  -- The highest lease token of any write. Writes with a lower token are refused.
  lease_token bigint not null
);
create index dataset_owner on dataset (owner);
create index dataset_original on dataset (original_id, owner);
-- The bytewise order of keys in the object store, for merging both streams.
create index dataset_store_order on dataset ((owner::text || '/' || dataset_id || '/') collate "C");

create table dataset_install (
  dataset_id text not null references dataset on delete cascade,
  target_id text not null,
  deleted_status smallint not null default 0 check (deleted_status in (0, 1, 2)),
  accessibility text not null check (accessibility in ('private', 'protected', 'public')),
  primary key (dataset_id, target_id)
);
create index dataset_install_target on dataset_install (target_id, deleted_status);

create table dataset_project (
  dataset_id text not null,
  project_id text not null,
  project_display_name text not null,
  primary key (dataset_id, project_id),
  foreign key (dataset_id, project_id) references dataset_install (dataset_id, target_id) on delete cascade
);
create index dataset_project_project on dataset_project (project_id, dataset_id);

create table dataset_install_message (
  dataset_id text not null,
  target_id text not null,
  install_type text not null check (install_type in ('meta', 'data')),
  status text not null check (status in ('queued', 'running', 'complete', 'failed-validation', 'failed-installation',
    'ready-for-reinstall', 'missing-dependency')),
  message text,
  updated timestamptz not null default now(),
  primary key (dataset_id, target_id, install_type),
  foreign key (dataset_id, target_id) references dataset_install on delete cascade
);
create index dataset_install_message_status on dataset_install_message (target_id, install_type, status);

create table sync_control (
  dataset_id text not null,
  target_id text not null,
  part text not null check (part in ('meta', 'data', 'shares')),
  modified timestamptz not null,
  etag text not null,
  primary key (dataset_id, target_id, part),
  foreign key (dataset_id, target_id) references dataset_install on delete cascade
);

-- Who may see the dataset: its owner and those who accepted a share.
create table dataset_visibility (
  user_id numeric(19) not null check (user_id > 0),
  dataset_id text not null references dataset on delete cascade,
  primary key (user_id, dataset_id)
);
create index dataset_visibility_dataset on dataset_visibility (dataset_id);

create table dataset_meta (
  dataset_id text primary key references dataset on delete cascade,
  name text not null,
  short_name text not null,
  summary text not null,
  description text,
  program_name text,
  project_name text,
  short_attribution text,
  disclaimer text
);

create table dataset_characteristics (
  dataset_id text primary key references dataset on delete cascade,
  study_design text,
  study_type text,
  participant_ages text,
  sample_year_start smallint,
  sample_year_end smallint
);

create table dataset_organism (
  dataset_id text not null references dataset on delete cascade,
  organism_type text not null check (organism_type in ('experimental', 'host')),
  species text not null,
  strain text not null,
  primary key (dataset_id, organism_type)
);

-- Lists of the metadata; `position` keeps the owner's order.
create table dataset_dependency (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  identifier text not null,
  display_name text not null,
  version text not null,
  primary key (dataset_id, position)
);
create table dataset_publication (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  external_id text not null,
  type text not null check (type in ('pmid', 'doi')),
  citation text,
  is_primary boolean not null,
  primary key (dataset_id, position)
);
create table dataset_hyperlink (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  url text not null, description text, primary key (dataset_id, position)
);
create table dataset_contact (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  is_primary boolean not null,
  first_name text, middle_name text, last_name text,
  email text, affiliation text, country text,
  primary key (dataset_id, position)
);
create table dataset_funding_award (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  agency text not null, award_number text not null, primary key (dataset_id, position)
);
create table dataset_country (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  country text not null, primary key (dataset_id, position)
);
create table dataset_species (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  species text not null, primary key (dataset_id, position)
);
create table dataset_outcome (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  outcome text not null, primary key (dataset_id, position)
);
create table dataset_associated_factor (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  associated_factor text not null, primary key (dataset_id, position)
);
create table dataset_sample_type (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  sample_type text not null, primary key (dataset_id, position)
);
create table dataset_doi (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  doi text not null, description text, primary key (dataset_id, position)
);
create table dataset_bioproject_id (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  bioproject_id text not null, description text, primary key (dataset_id, position)
);
create table dataset_link (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  uri text not null, shares_records boolean not null, primary key (dataset_id, position)
);
create table dataset_source (
  dataset_id text not null references dataset on delete cascade, position integer not null,
  url text not null, version text not null, primary key (dataset_id, position)
);

-- Users who have access to other users' datasets by a grant of the dataset access service, for the view below. A grant covers
-- all revisions of a dataset. It is stored whether or not one of them is installed.
create table dataset_grant (
  original_id text not null,
  owner numeric(19) not null check (owner > 0),
  user_id numeric(19) not null check (user_id > 0),
  begins timestamptz not null,
  -- Null: no end.
  ends timestamptz,
  primary key (original_id, user_id)
);
create index dataset_grant_user on dataset_grant (user_id);

-- For each source of grants, the number of its last change that was applied here.
create table dataset_grant_told (
  source text primary key,
  number bigint not null
);

-- The datasets that a site shows to a user. They are installed in the site's project and not deleted. The user owns the
-- dataset, accepted a share, or has a grant in force. A grant has no effect while the dataset is private. A dataset appears as
-- private to everybody but its owner, whatever its visibility. The same rule decides who may read files
-- (engine/model/status.ts).
create view available_user_datasets as
select
  v.user_id, d.dataset_id, p.project_id, p.project_display_name, d.owner,
  case when v.user_id = d.owner then 1 else 0 end as is_owner,
  d.type_name, d.type_version, d.category,
  case when v.user_id = d.owner then i.accessibility else 'private' end as accessibility,
  case when v.user_id = d.owner and i.accessibility = 'public' then 1 else 0 end as is_public,
  d.days_for_approval, d.creation_date, m.name, m.short_name, m.summary, m.description, m.program_name, m.project_name,
  m.short_attribution, m.disclaimer
from (
  select user_id, dataset_id, false as by_grant from dataset_visibility
  union all
  select g.user_id, o.dataset_id, true
  from dataset_grant g join dataset o on o.original_id = g.original_id and o.owner = g.owner
  where g.begins <= now() and (g.ends is null or now() < g.ends)
    and not exists (
      select from dataset_visibility w where w.user_id = g.user_id and w.dataset_id = o.dataset_id)) v
join dataset d on d.dataset_id = v.dataset_id
join dataset_meta m on m.dataset_id = d.dataset_id
join dataset_install i on i.dataset_id = d.dataset_id and i.deleted_status = 0
  and (not v.by_grant or i.accessibility <> 'private')
join dataset_project p on p.dataset_id = i.dataset_id and p.project_id = i.target_id
join dataset_install_message mm on mm.dataset_id = i.dataset_id and mm.target_id = i.target_id
  and mm.install_type = 'meta' and mm.status = 'complete'
join dataset_install_message dm on dm.dataset_id = i.dataset_id and dm.target_id = i.target_id
  and dm.install_type = 'data' and dm.status = 'complete';
