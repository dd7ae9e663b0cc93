-- Dataset access: what can be asked for, who works here, who provides which dataset, who may use it, who changed what,
-- and the mails that are to be sent. Names are unqualified: the search path chooses the schema.

create table curated_dataset (
  dataset_id text collate "C" primary key check (dataset_id ~ '^[A-Za-z0-9_]{1,64}$'),
  -- Deferred, so that one import may swap two.
  study_id text collate "C" not null unique deferrable initially deferred check (study_id <> ''),
  sha1_hash text not null,
  display_name text not null,
  short_display_name text not null,
  description text not null,
  restriction_level text not null
    check (restriction_level in ('public', 'prerelease', 'protected', 'controlled', 'private')),
  -- Negative: requests are decided by people only.
  days_for_approval integer not null,
  -- Empty: the mails have no such row.
  prior_auth_label text not null,
  mail_from text not null,
  mail_manager_text text not null,
  mail_requester_text text not null,
  mail_approval_text text not null
);

create table staff (
  staff_id bigint generated always as identity primary key,
  user_id numeric(19) not null unique check (user_id > 0),
  is_owner boolean not null
);

create table provider (
  provider_id bigint generated always as identity primary key,
  user_id numeric(19) not null check (user_id > 0),
  dataset_id text collate "C" not null references curated_dataset,
  is_manager boolean not null,
  unique (user_id, dataset_id)
);
create index provider_dataset on provider (dataset_id, provider_id);

-- An access request and, once approved, the grant. One per person and dataset.
create table end_user (
  end_user_id bigint generated always as identity primary key,
  user_id numeric(19) not null check (user_id > 0),
  dataset_id text collate "C" not null references curated_dataset,
  restriction_level text not null
    check (restriction_level in ('public', 'prerelease', 'protected', 'controlled', 'private')),
  approval_status text not null check (approval_status in ('requested', 'approved', 'denied')),
  start_date timestamptz not null,
  -- Days; -1 = no end.
  duration bigint not null check (duration = -1 or duration > 0),
  purpose text not null,
  research_question text not null,
  analysis_plan text not null,
  dissemination_plan text not null,
  prior_auth text not null,
  denial_reason text not null,
  date_denied timestamptz,
  -- The last time that it became `requested`, or was made.
  requested_at timestamptz not null,
  row_version bigint not null default 1,
  unique (user_id, dataset_id),
  check ((approval_status = 'denied') = (date_denied is not null)),
  check (approval_status <> 'denied' or denial_reason <> '')
);
create index end_user_dataset on end_user (dataset_id, user_id);
create index end_user_requested on end_user (dataset_id, requested_at) where approval_status = 'requested';

-- Who changes, and when: set by each writing transaction. Without it a write fails, so nothing goes unrecorded.
create function cause_user() returns numeric language sql stable
  return current_setting('longshore.cause_user')::numeric;
create function cause_time() returns timestamptz language sql stable
  return current_setting('longshore.cause_time')::timestamptz;

-- Images of the row; user 0 is the service itself.
create table end_user_history (
  history_id bigint generated always as identity primary key,
  action text not null check (action in ('CREATE', 'UPDATE', 'DELETE')),
  at timestamptz not null,
  cause_user numeric(19) not null check (cause_user >= 0),
  dataset_id text collate "C" not null,
  before jsonb,
  after jsonb,
  check ((before is null) = (action = 'CREATE') and (after is null) = (action = 'DELETE'))
);
create index end_user_history_dataset on end_user_history (dataset_id, history_id desc);

-- Changes of staff and providers.
create table people_audit (
  audit_id bigint generated always as identity primary key,
  kind text not null check (kind in ('staff', 'provider')),
  action text not null check (action in ('CREATE', 'UPDATE', 'DELETE')),
  at timestamptz not null,
  cause_user numeric(19) not null check (cause_user >= 0),
  before jsonb,
  after jsonb
);

create function action_of(operation text) returns text language sql immutable
  return case operation when 'INSERT' then 'CREATE' else operation end;

create function record_end_user() returns trigger language plpgsql set search_path from current as $$
begin
  insert into end_user_history (action, at, cause_user, dataset_id, before, after)
  values (action_of(tg_op), cause_time(), cause_user(), coalesce(new.dataset_id, old.dataset_id),
    to_jsonb(old), to_jsonb(new));
  return null;
end $$;
create trigger end_user_recorded after insert or update or delete on end_user
  for each row execute function record_end_user();

create function record_people() returns trigger language plpgsql set search_path from current as $$
begin
  insert into people_audit (kind, action, at, cause_user, before, after)
  values (tg_table_name, action_of(tg_op), cause_time(), cause_user(), to_jsonb(old), to_jsonb(new));
  return null;
end $$;
create trigger staff_recorded after insert or update or delete on staff
  for each row execute function record_people();
create trigger provider_recorded after insert or update or delete on provider
  for each row execute function record_people();

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;
create trigger end_user_history_append_only before update or delete or truncate on end_user_history
  for each statement execute function refuse_change();
create trigger people_audit_append_only before update or delete or truncate on people_audit
  for each statement execute function refuse_change();

-- People without account who were asked to make one; the record is made when an account has the address.
create table invitation (
  invitation_id bigint generated always as identity primary key,
  email text not null check (email = lower(email) and email <> ''),
  kind text not null check (kind in ('provider', 'end-user')),
  dataset_id text collate "C" not null references curated_dataset,
  -- What the record is made of.
  content jsonb not null,
  cause_user numeric(19) not null check (cause_user >= 0),
  unique (email, kind, dataset_id)
);

-- When an address was last written to by an invitation: once a day at most.
create table invited_address (
  email text primary key,
  last_mail timestamptz not null
);

-- Mails to be sent. A row is removed when its mail was taken; `due` is the earliest time of the next try.
create table outbox (
  mail_id bigint generated always as identity primary key,
  -- Part of the Message-ID: a mail that is repeated is recognised by it.
  message_key uuid not null unique default gen_random_uuid(),
  draft jsonb not null,
  due timestamptz not null,
  tries integer not null default 0 check (tries >= 0),
  -- Given up; a person should look.
  dead boolean not null default false,
  failure text
);
create index outbox_due on outbox (due, mail_id) where not dead;
