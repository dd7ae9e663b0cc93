-- Guests have collections of their own: the number of a guest may be that of a user.

alter table collection add column guest boolean not null default false;

alter table collection drop constraint collection_user_id_report_id_key,
  add constraint collection_owner_report_key unique (user_id, guest, report_id);

drop index collection_newest;
drop index collection_query;
create index collection_newest on collection (user_id, guest, link_id desc);
create index collection_query on collection (user_id, guest, query_id, link_id desc);

-- Jobs that failed are listed for administrators.
create index report_job_failed on report_job (id) where status = 'failed';
