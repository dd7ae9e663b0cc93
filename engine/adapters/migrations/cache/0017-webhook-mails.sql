-- The owner of a webhook that the service has disabled is told by mail, once. When the mail, or the next attempt, is due; null =
-- there is nothing to tell.
alter table webhook add column mail_due timestamptz, add column mail_attempts integer not null default 0;
create index webhook_mail_due on webhook (mail_due) where mail_due is not null;
