-- Who is told of events of datasets by a message: receivers of webhooks (ports/webhooks.ts), and users who want mails
-- (ports/event-mails.ts). Times come from the service's clock, except leases.

-- How far each of the two has read the journal of events. What it makes of an event is written in the transaction that moves
-- its place, so nothing is made twice.
create table event_reader (
  name text primary key,
  position bigint not null
);
insert into event_reader (name, position) values ('webhooks', 0), ('mails', 0);

-- Each event that concerns a subscription becomes one delivery. Secrets are stored as they are, because messages are signed
-- with them.
create table webhook (
  id text collate "C" primary key,
  -- Null: of administrators, about all datasets.
  owner_id numeric(19) check (owner_id > 0),
  url text not null,
  -- Kinds of events; empty = all.
  kinds text[] not null,
  secret text not null,
  previous_secret text,
  previous_until timestamptz,
  state text not null default 'active' check (state in ('active', 'disabled')),
  reason text,
  -- Position of the last event that it does not get.
  since bigint not null,
  -- Failed attempts since the last success, and since when.
  failures integer not null default 0,
  failing_since timestamptz,
  rest_until timestamptz,
  last_at timestamptz,
  last_delivered boolean,
  last_status integer,
  last_message text,
  created timestamptz not null,
  check ((state = 'disabled') = (reason is not null)),
  check ((failures = 0) = (failing_since is null)),
  check ((last_at is null) = (last_delivered is null))
) with (fillfactor = 70);
create index webhook_owner on webhook (owner_id, id);

create table webhook_delivery (
  number bigint generated always as identity primary key,
  webhook_id text collate "C" not null references webhook on delete cascade,
  message_id text not null,
  -- Of the event; null = a test.
  position bigint,
  kind text not null,
  -- Until it is delivered or dead.
  body text,
  state text not null default 'queued' check (state in ('queued', 'running', 'delivered', 'dead')),
  run_at timestamptz not null,
  -- Attempts that failed, and the number of the last attempt.
  attempts integer not null default 0,
  attempt integer not null default 0,
  holder integer,
  lease_until timestamptz,
  created timestamptz not null,
  ended_at timestamptz,
  status integer,
  message text,
  check ((state = 'running') = (holder is not null)),
  check ((state in ('delivered', 'dead')) = (ended_at is not null)),
  check ((state in ('delivered', 'dead')) = (body is null))
) with (fillfactor = 70);
create unique index webhook_delivery_once on webhook_delivery (webhook_id, position);
create index webhook_delivery_page on webhook_delivery (webhook_id, number);
create index webhook_delivery_queued on webhook_delivery (webhook_id, run_at, number) where state = 'queued';
create index webhook_delivery_running on webhook_delivery (webhook_id) where state = 'running';
create index webhook_delivery_ended on webhook_delivery (ended_at) where ended_at is not null;

-- Users who want mails about events, and of which kinds.
create table event_mail (
  user_id numeric(19) primary key check (user_id > 0),
  kinds text[] not null check (kinds <> '{}'),
  -- Position of the last event that the user is not told of.
  since bigint not null,
  -- When the next mail, or the next attempt, is due; null = there is nothing to tell.
  due timestamptz,
  attempts integer not null default 0,
  sent_at timestamptz,
  failure text
) with (fillfactor = 70);
create index event_mail_due on event_mail (due) where due is not null;

-- What the next mail tells.
create table event_mail_item (
  user_id numeric(19) not null references event_mail on delete cascade,
  position bigint not null,
  at timestamptz not null,
  kind text not null,
  dataset_id text collate "C" not null,
  detail jsonb not null,
  primary key (user_id, position)
);
