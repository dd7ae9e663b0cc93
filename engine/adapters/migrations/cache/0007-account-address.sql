-- Who has a mail address, whatever its case (address-book-postgres.ts).
create index account_address on account (lower(email), user_id) where email <> '';
