-- Dataset access: datasets, staff, providers, access requests and grants, their history, and the mails to be sent.
-- Names are unqualified: the search path selects the schema.

-- Curated datasets and users' own datasets. A user's dataset is added when somebody first asks about it, with its owner as
-- manager.
create table curated_dataset (
  dataset_id text collate "C" primary key check (dataset_id ~ '^[A-Za-z0-9_]{1,64}$'),
  -- Deferred, so that an import may swap the ids of two datasets.
  study_id text collate "C" not null unique deferrable initially deferred check (study_id <> ''),
  sha1_hash text not null,
  display_name text not null,
  short_display_name text not null,
  description text not null,
  restriction_level text not null
    check (restriction_level in ('public', 'prerelease', 'protected', 'controlled', 'private')),
  -- Negative: only people decide requests.
  days_for_approval integer not null,
  -- Empty: mails do not contain this row.
  prior_auth_label text not null,
  mail_from text not null,
  mail_manager_text text not null,
  mail_requester_text text not null,
  mail_approval_text text not null,
  -- The owner of a user's dataset; null for curated ones. The installer gives its protected files to everybody with a grant.
  owner_id numeric(19) check (owner_id > 0)
);
create index curated_dataset_owned on curated_dataset (dataset_id) where owner_id is not null;
-- The few datasets whose requests are approved after a waiting period.
create index curated_dataset_waiting on curated_dataset (dataset_id)
  where days_for_approval >= 0 and restriction_level in ('protected', 'controlled');

create table staff (
  staff_id bigint generated always as identity primary key,
  user_id numeric(19) not null unique check (user_id > 0),
  is_owner boolean not null
);
create index staff_owner on staff (staff_id) where is_owner;

create table provider (
  provider_id bigint generated always as identity primary key,
  user_id numeric(19) not null check (user_id > 0),
  dataset_id text collate "C" not null references curated_dataset,
  is_manager boolean not null,
  unique (user_id, dataset_id)
);
create index provider_dataset on provider (dataset_id, provider_id);
create index provider_manager on provider (dataset_id, provider_id) where is_manager;

-- Access requests, which are the grants once they are approved. One per person and dataset.
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
  -- When the request was created, or last became `requested` again.
  requested_at timestamptz not null,
  row_version bigint not null default 1,
  unique (user_id, dataset_id),
  check ((approval_status = 'denied') = (date_denied is not null)),
  check (approval_status <> 'denied' or denial_reason <> '')
);
create index end_user_dataset on end_user (dataset_id, user_id);
-- For lists by status, of one dataset or of all, in the order of the lists.
create index end_user_dataset_status on end_user (dataset_id, approval_status, user_id);
create index end_user_status on end_user (approval_status, user_id, dataset_id);
create index end_user_requested on end_user (dataset_id, requested_at) where approval_status = 'requested';

-- Who makes a change, and when. Each writing transaction sets both; without them the write fails, so every change is recorded.
create function cause_user() returns numeric language sql stable
  return current_setting('longshore.cause_user')::numeric;
create function cause_time() returns timestamptz language sql stable
  return current_setting('longshore.cause_time')::timestamptz;

-- The rows before and after each change. User 0 is the service itself.
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

-- Invitations of people without an account. The record is created once an account has the address.
create table invitation (
  invitation_id bigint generated always as identity primary key,
  -- As the program compares addresses (engine/model/access-mail.ts): beyond ASCII, SQL's `lower` depends on the database.
  email text not null check (email <> ''),
  kind text not null check (kind in ('provider', 'end-user')),
  dataset_id text collate "C" not null references curated_dataset,
  -- The content of that record.
  content jsonb not null,
  cause_user numeric(19) not null check (cause_user >= 0),
  unique (email, kind, dataset_id)
);

-- When an invitation was last mailed to an address, which happens at most once a day.
create table invited_address (
  email text primary key,
  last_mail timestamptz not null
);

-- Mails to be sent. A row is removed once its mail was accepted; `due` is the earliest time of the next attempt.
create table outbox (
  mail_id bigint generated always as identity primary key,
  -- Part of the Message-ID, by which duplicates of a mail are recognized.
  message_key uuid not null unique default gen_random_uuid(),
  draft jsonb not null,
  due timestamptz not null,
  attempts integer not null default 0 check (attempts >= 0),
  -- Given up; an administrator has to look at it.
  dead boolean not null default false,
  failure text,
  -- The record and the content that the mail is about; null for mails that are not limited, see mail_tally.
  about text collate "C"
);
create index outbox_due on outbox (due, mail_id) where not dead;
create index outbox_about on outbox (about) where about is not null and attempts = 0;

-- Limits the mails that users cause by editing their requests. Mails about one record are sent at most once an hour, with its
-- newest state. Each author, each dataset and the whole service have a daily limit (engine/adapters/access/outbox.ts).
create table mail_tally (
  kind text not null check (kind in ('record', 'author', 'dataset', 'service')),
  key text collate "C" not null,
  -- For `record`: when the last mail about it was or is due. For the others: the time since which `mails` counts.
  at timestamptz not null,
  mails integer not null check (mails > 0),
  primary key (kind, key)
);
