-- What an account's address is compared by, as the program writes it (engine/model/mail-address.ts): what `lower` makes of
-- letters beyond ASCII depends on the database, and is one letter for two. Accounts that are here already have it where they
-- are ASCII alone; the others get it with their next call.
alter table account add column address_key text;
update account set address_key = translate(email, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
  where email <> '' and email ~ '^[[:ascii:]]*$';
drop index account_address;
create index account_address on account (address_key, user_id) where address_key is not null;
