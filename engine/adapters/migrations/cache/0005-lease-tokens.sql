-- Control schemas remember the last lease token of a dataset and refuse lower ones; they outlive the cache, which may be
-- dropped and built anew. So a name's first token is the time of its first lease, in ms since 1970, which is beyond every
-- token that a lost cache can have given: nobody takes a lease a thousand times a second.

create function first_lease_token() returns trigger language plpgsql as $$
begin
  new.token := greatest(new.token, (extract(epoch from clock_timestamp()) * 1000)::bigint);
  return new;
end $$;

create trigger lease_first_token before insert on lease for each row execute function first_lease_token();
