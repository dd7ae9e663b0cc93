-- Who was granted access to users' datasets by the dataset access service, for the view. A grant is for a dataset with all its
-- revisions, and is here whether or not one of them is installed.

alter table dataset add column original_id text;
update dataset set original_id = regexp_replace(dataset_id, '_[0-9]+$', '');
alter table dataset alter column original_id set not null;
create index dataset_original on dataset (original_id, owner);

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

-- How much of whose changes is in it.
create table dataset_grant_told (
  source text primary key,
  number bigint not null
);

-- What a site shows to a user: installed in the site's project, not deleted, and given to the user, who owns it, accepted it, or
-- has a grant that runs now; a grant counts for nothing while the dataset is private. To people it was shared with or granted to
-- a dataset is private whatever it is to the world. Who may read files is the same rule (engine/model/dataset-reading.ts).
create or replace view available_user_datasets as
select
  v.user_id,
  d.dataset_id,
  p.project_id,
  p.project_display_name,
  d.owner,
  case when v.user_id = d.owner then 1 else 0 end as is_owner,
  d.type_name,
  d.type_version,
  d.category,
  case when v.user_id = d.owner then i.accessibility else 'private' end as accessibility,
  case when v.user_id = d.owner and i.accessibility = 'public' then 1 else 0 end as is_public,
  d.days_for_approval,
  d.creation_date,
  m.name,
  m.short_name,
  m.summary,
  m.description,
  m.program_name,
  m.project_name,
  m.short_attribution,
  m.disclaimer
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
