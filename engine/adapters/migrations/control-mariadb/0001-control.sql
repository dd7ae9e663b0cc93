-- Control schema on MariaDB: the tables, columns and view of control/0001-control.sql, which says what they mean. Differences:
-- times are `datetime(6)` in UTC, and the tables of the metadata go with `dataset_meta`, so that one statement removes them all.

create table if not exists dataset (
  dataset_id varchar(64) primary key,
  owner decimal(19) not null check (owner > 0),
  original_id varchar(64) not null,
  type_name text not null,
  type_version text not null,
  category text not null,
  deleted_status smallint not null check (deleted_status in (0, 1, 2)),
  accessibility varchar(9) not null check (accessibility in ('private', 'protected', 'public')),
  is_public smallint generated always as (accessibility = 'public') stored,
  days_for_approval int not null,
  creation_date datetime(6) not null,
  lease_token bigint not null,
  -- The bytewise order of keys in the object store, for merging both streams.
  store_order varchar(85) generated always as (concat(cast(owner as char), '/', dataset_id, '/')) stored,
  index dataset_owner (owner),
  index dataset_original (original_id, owner),
  index dataset_store_order (store_order)
) collate utf8mb4_bin;

create table if not exists dataset_install (
  dataset_id varchar(64) not null references dataset (dataset_id) on delete cascade,
  target_id varchar(32) not null,
  deleted_status smallint not null default 0 check (deleted_status in (0, 1, 2)),
  accessibility varchar(9) not null check (accessibility in ('private', 'protected', 'public')),
  primary key (dataset_id, target_id),
  index dataset_install_target (target_id, deleted_status)
) collate utf8mb4_bin;

create table if not exists dataset_project (
  dataset_id varchar(64) not null,
  project_id varchar(32) not null,
  project_display_name text not null,
  primary key (dataset_id, project_id),
  index dataset_project_project (project_id, dataset_id),
  foreign key (dataset_id, project_id) references dataset_install (dataset_id, target_id) on delete cascade
) collate utf8mb4_bin;

create table if not exists dataset_install_message (
  dataset_id varchar(64) not null,
  target_id varchar(32) not null,
  install_type varchar(4) not null check (install_type in ('meta', 'data')),
  status varchar(19) not null check (status in ('queued', 'running', 'complete', 'failed-validation', 'failed-installation',
    'ready-for-reinstall', 'missing-dependency')),
  message longtext,
  updated datetime(6) not null,
  primary key (dataset_id, target_id, install_type),
  index dataset_install_message_status (target_id, install_type, status),
  foreign key (dataset_id, target_id) references dataset_install (dataset_id, target_id) on delete cascade
) collate utf8mb4_bin;

create table if not exists sync_control (
  dataset_id varchar(64) not null,
  target_id varchar(32) not null,
  part varchar(6) not null check (part in ('meta', 'data', 'shares')),
  modified datetime(6) not null,
  etag text not null,
  primary key (dataset_id, target_id, part),
  foreign key (dataset_id, target_id) references dataset_install (dataset_id, target_id) on delete cascade
) collate utf8mb4_bin;

create table if not exists dataset_visibility (
  user_id decimal(19) not null check (user_id > 0),
  dataset_id varchar(64) not null references dataset (dataset_id) on delete cascade,
  primary key (user_id, dataset_id)
) collate utf8mb4_bin;

create table if not exists dataset_meta (
  dataset_id varchar(64) primary key references dataset (dataset_id) on delete cascade,
  name longtext not null,
  short_name longtext not null,
  summary longtext not null,
  description longtext,
  program_name longtext,
  project_name longtext,
  short_attribution longtext,
  disclaimer longtext
) collate utf8mb4_bin;

create table if not exists dataset_characteristics (
  dataset_id varchar(64) primary key references dataset_meta (dataset_id) on delete cascade,
  study_design longtext,
  study_type longtext,
  participant_ages longtext,
  sample_year_start smallint,
  sample_year_end smallint
) collate utf8mb4_bin;

create table if not exists dataset_organism (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade,
  organism_type varchar(12) not null check (organism_type in ('experimental', 'host')),
  species longtext not null,
  strain longtext not null,
  primary key (dataset_id, organism_type)
) collate utf8mb4_bin;

create table if not exists dataset_dependency (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  identifier longtext not null,
  display_name longtext not null,
  version longtext not null,
  primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_publication (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  external_id longtext not null,
  type varchar(4) not null check (type in ('pmid', 'doi')),
  citation longtext,
  is_primary boolean not null,
  primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_hyperlink (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  url longtext not null, description longtext, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_contact (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  is_primary boolean not null,
  first_name longtext, middle_name longtext, last_name longtext,
  email longtext, affiliation longtext, country longtext,
  primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_funding_award (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  agency longtext not null, award_number longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_country (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  country longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_species (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  species longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_outcome (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  outcome longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_associated_factor (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  associated_factor longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_sample_type (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  sample_type longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_doi (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  doi longtext not null, description longtext, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_bioproject_id (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  bioproject_id longtext not null, description longtext, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_link (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  uri longtext not null, shares_records boolean not null, primary key (dataset_id, position)
) collate utf8mb4_bin;
create table if not exists dataset_source (
  dataset_id varchar(64) not null references dataset_meta (dataset_id) on delete cascade, position int not null,
  url longtext not null, version longtext not null, primary key (dataset_id, position)
) collate utf8mb4_bin;

create table if not exists dataset_grant (
  original_id varchar(64) not null,
  owner decimal(19) not null check (owner > 0),
  user_id decimal(19) not null check (user_id > 0),
  begins datetime(6) not null,
  ends datetime(6),
  primary key (original_id, user_id),
  index dataset_grant_user (user_id)
) collate utf8mb4_bin;

create table if not exists dataset_grant_told (
  source varchar(255) primary key,
  number bigint not null
) collate utf8mb4_bin;

-- Runs with the rights of the user who made it: a site needs only SELECT on the view.
create or replace view available_user_datasets as
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
  where g.begins <= utc_timestamp(6) and (g.ends is null or utc_timestamp(6) < g.ends)
    and not exists (
      select 1 from dataset_visibility w where w.user_id = g.user_id and w.dataset_id = o.dataset_id)) v
join dataset d on d.dataset_id = v.dataset_id
join dataset_meta m on m.dataset_id = d.dataset_id
join dataset_install i on i.dataset_id = d.dataset_id and i.deleted_status = 0
  and (not v.by_grant or i.accessibility <> 'private')
join dataset_project p on p.dataset_id = i.dataset_id and p.project_id = i.target_id
join dataset_install_message mm on mm.dataset_id = i.dataset_id and mm.target_id = i.target_id
  and mm.install_type = 'meta' and mm.status = 'complete'
join dataset_install_message dm on dm.dataset_id = i.dataset_id and dm.target_id = i.target_id
  and dm.install_type = 'data' and dm.status = 'complete';
