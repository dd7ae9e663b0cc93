-- Mails that users bring about by editing their requests are bounded: those about one record go out at most once an hour, with the
-- newest state, and one author, one dataset and the service as a whole have so many a day (adapters/access/outbox.ts).

-- Which record the mail is about, and what it tells; null for mails that are not bounded.
alter table outbox add column about text collate "C";
create index outbox_about on outbox (about) where about is not null and tries = 0;

-- `record`: when the last mail about it was due, or is. The others: how many mails since that time.
create table mail_tally (
  kind text not null check (kind in ('record', 'author', 'dataset', 'service')),
  key text collate "C" not null,
  at timestamptz not null,
  mails integer not null check (mails > 0),
  primary key (kind, key)
);
