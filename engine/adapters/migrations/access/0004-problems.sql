-- Mails that failed for good, with the columns of the cache database's view `problem`. Mails that were refused because of the
-- limits of their author are dead, too, but were never attempted: they are no problem.

alter table outbox add column failed_at timestamptz;
create function note_dead_mail() returns trigger language plpgsql as $$
begin
  new.failed_at := case when new.dead then now() end;
  return new;
end $$;
create trigger mail_added before insert on outbox for each row when (new.dead) execute function note_dead_mail();
create trigger mail_died before update on outbox for each row when (new.dead <> old.dead) execute function note_dead_mail();
create index outbox_dead on outbox (mail_id) where dead;

-- As in the cache database: what messages of one cause have in common.
create function problem_cause(message text, dataset_id text) returns text
  immutable parallel safe cost 5000
  return left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    replace(left(message, 1000), dataset_id, 'ID'),
    '(^|[\s(:=,\[])([''"`])[^''"`]*\2(?=$|[\s).,;:\]])', '\1''...''', 'g'),
    '\m[a-z][a-z0-9+.-]*://[^\s''"),;]+', 'URL', 'g'),
    '(?<![\w.])(/[\w.@%+=~-]+)+/?', 'PATH', 'g'),
    '\m(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[\w-]{8,}\M', 'ID', 'g'),
    '[0-9]+([.,:][0-9]+)*', 'N', 'g'), 200);

create view problem as
select 'mail:' || mail_id as id, 'mail' as lane, null::text as dataset_id, null::text as target_id, null::numeric as owner_id,
  null::text as type, 'dead' as state, coalesce(failure, '') as message, coalesce(failed_at, due) as since,
  problem_cause(coalesce(failure, ''), mail_id::text) as cause
from outbox where dead and attempts > 0;
