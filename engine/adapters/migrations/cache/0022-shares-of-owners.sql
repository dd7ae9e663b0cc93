-- Lanes are shared by owners: a process that holds an owner's share of a lane leaves that owner's other jobs alone, and one that
-- has given an owner much of a lane looks for the jobs of others first. These may stand behind any number that it does not want.
-- It finds them by owner: from owner to owner in an index, a thousand at most, and the first jobs of each. 100,000 waiting jobs of
-- one owner cost the claims of others nothing.
--
-- swap_jobs is the function of migration 18 with three arguments more. Processes of the release before call the one that was there.

create index job_shares on job (lane, owner, run_at, id);

create function take_jobs_of_owner(
  me integer, its_lane text, its_owner numeric, max_claims bigint, crowded boolean,
  types_last text[], types_not text[], types_away text[])
returns table (place tid, token bigint, was_running boolean)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  lease_time constant interval := interval '30 seconds';
begin
  -- As in swap_jobs, which says why.
  return query
  with candidate as materialized (
    select j.ctid as place, j.dataset_id, j.state, l.ctid as lease_place from job j left join lease l on l.name = j.dataset_id
    -- Not `owner =`: the planner would then leave the owner out of the order, and might take the index by time alone, which
    -- has all jobs of the others before those of this owner.
    where j.lane = its_lane and j.owner >= its_owner and j.owner <= its_owner and j.run_at <= now() and j.state <> 'dead'
      and not (j.state = 'running' and (j.holder = me and j.claimed_at > now() - lease_time or j.token > coalesce(l.token, 0)))
      and coalesce(j.type = any(types_last), false) = crowded and (j.type is null or j.type <> all(types_not))
      and case when l.holder is null or l.expires_at <= now()
          or (l.holder <> me and l.holder not in (select a.id from alive_instance a))
        then not exists (select from job lower
          where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
        else false end
    order by j.lane, j.owner, j.run_at, j.id limit max_claims for update of j skip locked),
  -- The lease decides between processes that want the same dataset, on the row as it is now.
  retaken as (
    update lease l set holder = me, token = l.token + 1, expires_at = now() + lease_time
    from (select c.place, c.state, c.lease_place from candidate c where c.lease_place is not null order by c.dataset_id) c
    where l.ctid = c.lease_place
      and (l.holder is null or l.expires_at <= now() or (l.holder <> me and not instance_alive(l.holder)))
    returning c.place, c.state, l.token),
  first_taken as (
    insert into lease as l (name, holder, token, expires_at)
    select c.dataset_id, me, 1, now() + lease_time from candidate c where c.lease_place is null order by c.dataset_id
    on conflict (name) do nothing
    returning l.name, l.token),
  taken as (
    select r.place, r.state, r.token from retaken r
    union all
    select c.place, c.state, t.token from first_taken t join candidate c on c.dataset_id = t.name)
  select t.place, t.token, t.state = 'running' from taken t;
end
$$;

create function swap_jobs(
  me integer,
  -- One array per column. Outcomes: done, retry, requeue, crash, dead. When all are done, what follows the tokens may be null.
  done_ids bigint[],
  done_datasets text[],
  done_tokens bigint[],
  outcomes text[],
  delays_ms double precision[],
  tries_counted boolean[],
  failures text[],
  messages text[],
  its_lane text,
  max_claims bigint,
  types_last text[],
  types_not text[],
  types_away text[],
  -- No job of the lane was older than this one lately; null when nothing is known of that.
  oldest_run_at timestamptz,
  oldest_id bigint,
  tell_of_releases boolean,
  -- Owners that hold their share of the lane: none of their jobs is claimed.
  owners_not numeric[],
  -- Claimed when no others wait.
  owners_last numeric[],
  -- Where there are such owners, the others are looked at one after the other, those after this one first.
  owners_after numeric)
returns table (
  -- Null in the last row.
  id bigint, dataset_id text, owner numeric, event_id bigint, source text, type text, tries integer, crashes integer,
  alone boolean, token bigint, waited_ms bigint, traceparent text,
  -- Only in the last row: due jobs were left behind although there was room; time until the next delayed job is due; the
  -- lane's oldest job, running ones included, as text because its microseconds count.
  blocked boolean, next_due_ms bigint, oldest_at text, oldest bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  lease_time constant interval := interval '30 seconds';
  crashes_alone constant integer := 3;
  owners_looked_at constant integer := 1000;
  notifications integer;
  releases bigint;
  failed_ids bigint[];
  again_ids bigint[];
  from_run_at timestamptz := coalesce(oldest_run_at, '-infinity');
  from_id bigint := coalesce(oldest_id, 0);
  first_run_at text;
  first_id bigint;
  crowded boolean;
  places tid[] := '{}';
  tokens bigint[] := '{}';
  claims bigint;
  ran_in_name bigint := 0;
  left_behind boolean := false;
  due_in_ms bigint;
  its_owner numeric;
  went_round boolean;
begin
  if cardinality(done_ids) > 0 then
    -- Fencing: a completion whose lease has gone to somebody else is not written.
    with released as (
      update lease l set holder = null, expires_at = now()
      from (select * from unnest(done_ids, done_datasets, done_tokens, outcomes) as f(id, dataset_id, token, outcome)
        order by f.dataset_id collate "C") f
      where l.name = f.dataset_id and l.token = f.token and l.holder = me
      returning l.name, f.id, f.token, coalesce(f.outcome, 'done') as outcome),
    removed as (
      delete from job j using (select h.id, h.token, h.name from released h where h.outcome = 'done' order by h.name) h
      where j.id = h.id and j.token = h.token and j.dataset_id = h.name and j.holder = me and not j.again
      returning j.id)
    select count(*), array_agg(h.id) filter (where h.outcome <> 'done'),
      case when (select count(*) from removed) < count(*) filter (where h.outcome = 'done')
        then array_agg(h.id) filter (where h.outcome = 'done' and h.id <> all (array(select m.id from removed m))) end
    from released h into releases, failed_ids, again_ids;
    if failed_ids is not null or again_ids is not null then
      with rest as materialized (
        select f.id, f.dataset_id, f.token, coalesce(f.outcome, 'done') as outcome, f.delay_ms, f.counted, f.failure, f.message
        from unnest(done_ids, done_datasets, done_tokens, outcomes, delays_ms, tries_counted, failures, messages)
          as f(id, dataset_id, token, outcome, delay_ms, counted, failure, message)
        where f.id = any(failed_ids || again_ids)),
      ended as materialized (
        select j.id, h.outcome, h.delay_ms, h.counted, h.failure, h.message,
          h.outcome = 'done' and not j.again as gone,
          h.outcome = 'dead' or (h.outcome = 'crash' and j.alone and j.crashes + 1 >= crashes_alone) as dies
        from rest h join job j on j.id = h.id and j.token = h.token and j.dataset_id = h.dataset_id
        where j.holder = me
        order by j.dataset_id, j.lane for update of j),
      removed as (
        delete from job j using ended e where j.id = e.id and e.gone),
      kept as (
        update job j set
          state = case when e.dies then 'dead' when e.outcome = 'retry' then 'delayed' else 'queued' end,
          again = j.again and e.dies,
          alone = case e.outcome when 'crash' then true when 'requeue' then j.alone else false end,
          tries = case e.outcome when 'done' then 0 when 'retry' then j.tries + e.counted::integer
            when 'dead' then j.tries + 1 else j.tries end,
          crashes = case when e.outcome = 'done' then 0 when e.outcome = 'crash' and j.alone then j.crashes + 1
            else j.crashes end,
          -- What was put back keeps its place in the queue; what is dead is out of the way of those who look for work.
          run_at = case when e.dies then 'infinity' when e.outcome = 'retry'
            then now() + e.delay_ms * interval '1 millisecond' when e.outcome = 'requeue' then j.run_at else now() end,
          failure = case when e.outcome = 'done' then null when e.outcome = 'crash' and e.dies then 'defect'
            when e.outcome in ('retry', 'dead') then e.failure else j.failure end,
          message = case when e.outcome = 'done' then null
            when e.outcome = 'crash' and e.dies then 'its worker died ' || crashes_alone || ' times while it ran alone'
            when e.outcome in ('retry', 'dead') then e.message else j.message end,
          holder = null, token = null, claimed_at = null
        from ended e where j.id = e.id and not e.gone
        returning j.lane, j.state),
      notified as materialized (
        select pg_notify('longshore_job', k.lane) from (select distinct lane from kept where state = 'queued') k)
      select count(*) into notifications from notified;
    end if;
    if releases > 0 and tell_of_releases then
      perform pg_notify('longshore_lease', me::text);
    end if;
  end if;
  if max_claims <= 0 then
    return;
  end if;

  select j.run_at::text, j.id from job j where j.lane = its_lane and (j.run_at, j.id) >= (from_run_at, from_id)
  order by j.run_at, j.id limit 1 into first_run_at, first_id;
  foreach crowded in array array[false, true] loop
    exit when crowded and (cardinality(types_last) = 0 or cardinality(places) >= max_claims);
    if cardinality(owners_not) + cardinality(owners_last) > 0 then
      its_owner := coalesce(owners_after, 0);
      went_round := false;
      for looked_at in 1..owners_looked_at loop
        exit when cardinality(places) >= max_claims;
        select j.owner from job j where j.lane = its_lane and j.owner > its_owner order by j.lane, j.owner limit 1 into its_owner;
        if not found then
          exit when went_round or owners_after is null;
          went_round := true;
          its_owner := 0;
          continue;
        end if;
        exit when went_round and its_owner > owners_after;
        continue when its_owner = any(owners_not) or its_owner = any(owners_last);
        select places || coalesce(array_agg(t.place), '{}'), tokens || coalesce(array_agg(t.token), '{}'),
          ran_in_name + count(*) filter (where t.was_running)
        from take_jobs_of_owner(me, its_lane, its_owner, (max_claims - cardinality(places) + 1) / 2, crowded,
          types_last, types_not, types_away) t into places, tokens, ran_in_name;
      end loop;
      foreach its_owner in array owners_last loop
        continue when its_owner = any(owners_not) or cardinality(places) >= max_claims;
        select places || coalesce(array_agg(t.place), '{}'), tokens || coalesce(array_agg(t.token), '{}'),
          ran_in_name + count(*) filter (where t.was_running)
        from take_jobs_of_owner(me, its_lane, its_owner, max_claims - cardinality(places), crowded,
          types_last, types_not, types_away) t into places, tokens, ran_in_name;
      end loop;
      continue;
    end if;
    -- A running row is one more candidate: when its lease is free, it runs in name only (the lease expired, or its
    -- process died) and is claimed as it was, without blame. One whose token is higher than its lease's was claimed while
    -- this statement ran: of a locked row PostgreSQL looks at the job as it is now, at the lease as it was. Jobs of lower
    -- rank hold back those of higher rank, see holds_back.
    with candidate as materialized (
      select j.ctid as place, j.dataset_id, j.state, l.ctid as lease_place from job j left join lease l on l.name = j.dataset_id
      where j.lane = its_lane and j.run_at <= now() and (j.run_at, j.id) >= (from_run_at, from_id) and j.state <> 'dead'
        and not (j.state = 'running' and (j.holder = me and j.claimed_at > now() - lease_time or j.token > coalesce(l.token, 0)))
        and coalesce(j.type = any(types_last), false) = crowded and (j.type is null or j.type <> all(types_not))
        and case when l.holder is null or l.expires_at <= now()
            or (l.holder <> me and l.holder not in (select a.id from alive_instance a))
          then not exists (select from job lower
            where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
          else false end
      order by j.run_at, j.id limit max_claims - cardinality(places) for update of j skip locked),
    -- The lease decides between processes that want the same dataset, on the row as it is now.
    retaken as (
      update lease l set holder = me, token = l.token + 1, expires_at = now() + lease_time
      from (select c.place, c.state, c.lease_place from candidate c where c.lease_place is not null order by c.dataset_id) c
      where l.ctid = c.lease_place
        and (l.holder is null or l.expires_at <= now() or (l.holder <> me and not instance_alive(l.holder)))
      returning c.place, c.state, l.token),
    first_taken as (
      insert into lease as l (name, holder, token, expires_at)
      select c.dataset_id, me, 1, now() + lease_time from candidate c where c.lease_place is null order by c.dataset_id
      on conflict (name) do nothing
      returning l.name, l.token),
    taken as (
      select r.place, r.state, r.token from retaken r
      union all
      select c.place, c.state, t.token from first_taken t join candidate c on c.dataset_id = t.name)
    select places || coalesce(array_agg(t.place), '{}'), tokens || coalesce(array_agg(t.token), '{}'),
      ran_in_name + count(*) filter (where t.state = 'running')
    from taken t into places, tokens, ran_in_name;
  end loop;
  claims := cardinality(places);
  if claims < max_claims then
    left_behind := exists (select from job j
      where j.lane = its_lane and j.run_at <= now() and j.state in ('queued', 'delayed') offset claims - ran_in_name);
    due_in_ms := (select ceil(extract(epoch from min(j.run_at) - now()) * 1000)::bigint from job j
      where j.lane = its_lane and j.run_at > now() and j.state in ('queued', 'delayed'));
  end if;
  if claims > 0 then
    return query
    with claimed as (
      update job j set state = 'running', holder = me, token = t.token, claimed_at = now(), again = false
      from unnest(places, tokens) as t(place, token) where j.ctid = t.place
      returning j.id, j.dataset_id, j.owner, j.event_id, j.source, j.type, j.tries, j.crashes, j.alone, j.run_at, j.token, j.traceparent)
    select c.id, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.tries, c.crashes, c.alone, c.token,
      ceil(date_part('epoch', now() - c.run_at) * 1000)::bigint, c.traceparent, null::boolean, null::bigint, null::text, null::bigint
    from claimed c
    order by coalesce(c.type = any(types_last), false), c.run_at, c.id;
  end if;
  return query select null::bigint, null::text, null::numeric, null::bigint, null::text, null::text, null::integer,
    null::integer, null::boolean, null::bigint, null::bigint, null::text, left_behind, due_in_ms, first_run_at, first_id;
end
$$;
