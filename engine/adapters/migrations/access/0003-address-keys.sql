-- Addresses are kept as they are compared (engine/model/mail-address.ts): letters beyond ASCII have one case, whatever the
-- database makes of them.
alter table invitation drop constraint invitation_email_check;
alter table invitation add check (email <> '');
