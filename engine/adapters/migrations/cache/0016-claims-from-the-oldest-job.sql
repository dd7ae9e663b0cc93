-- claim_jobs and exchange_jobs (migrations 3, 4, 11, 12 and 15) told where to begin to look. A claim reads the lane's part of
-- job_due from its beginning, and until the next vacuum all that was there is still in that index: after thousands of jobs each
-- claim passed thousands of entries of jobs that are gone, which took longer than all else it does. Who claims often now says
-- which job was the lane's oldest a moment ago, and the look begins there.
--
-- A job may come to stand before that one: it is enqueued with the time at which its transaction began, and seen when that has
-- committed. So the caller looks from the beginning again, after a while and when there was less than it wanted.
--
-- Processes of the release before call the functions that know nothing of this.

create function claim_jobs(
  me integer,
  its_lane text,
  max_claims bigint,
  types_last text[],
  types_not text[],
  types_away text[],
  -- No job of the lane was older than this one lately; null when nothing is known of that.
  oldest_run_at timestamptz,
  oldest_id bigint)
returns table (
  -- One row at least; without a claimed job its `id` is null.
  id bigint, dataset_id text, owner numeric, event_id bigint, source text, type text, tries integer, crashes integer,
  alone boolean, token bigint, waited_ms bigint,
  -- The same in every row: due jobs were left behind although there was room; time until the next delayed job is due; the
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
  lease_places tid[];
  job_places tid[];
  next_tokens bigint[];
  ran_in_name bigint;
  candidates text[];
  candidate_places tid[];
  first_places tid[];
  first_tokens bigint[];
  claims bigint;
  left_behind boolean := false;
  due_in_ms bigint;
  from_run_at timestamptz := coalesce(oldest_run_at, '-infinity');
  from_id bigint := coalesce(oldest_id, 0);
  first_run_at text;
  first_id bigint;
begin
  select j.run_at::text, j.id from job j where j.lane = its_lane and (j.run_at, j.id) >= (from_run_at, from_id)
  order by j.run_at, j.id limit 1 into first_run_at, first_id;
  -- A running row is one more candidate: when its lease is free, it runs in name only (the lease expired, or its
  -- process died) and is claimed as it was, without blame. Jobs of lower rank hold back
  -- those of higher rank, see holds_back.
  with wanted as materialized (
    select j.ctid as place, j.dataset_id, j.state, l.ctid as lease_place from job j left join lease l on l.name = j.dataset_id
    where j.lane = its_lane and j.run_at <= now() and (j.run_at, j.id) >= (from_run_at, from_id) and j.state <> 'dead'
      and (j.type is null or j.type <> all(types_last) and j.type <> all(types_not))
      and case when l.holder is null or l.expires_at <= now()
          or (l.holder <> me and l.holder not in (select a.id from alive_instance a))
        then not exists (select from job lower
          where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
        else false end
    order by j.run_at, j.id limit max_claims for update of j skip locked),
  crowded as materialized (
    select j.ctid as place, j.dataset_id, j.state, l.ctid as lease_place from job j left join lease l on l.name = j.dataset_id
    where cardinality(types_last) > 0 and j.lane = its_lane and j.run_at <= now() and (j.run_at, j.id) >= (from_run_at, from_id) and j.state <> 'dead'
      and j.type = any(types_last) and j.type <> all(types_not)
      and case when l.holder is null or l.expires_at <= now()
          or (l.holder <> me and l.holder not in (select a.id from alive_instance a))
        then not exists (select from job lower
          where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
        else false end
    order by j.run_at, j.id limit max_claims - (select count(*) from wanted) for update of j skip locked),
  candidate as materialized (
    select * from wanted union all select * from crowded),
  -- The lease decides between processes that want the same dataset, on the row as it is now.
  free as materialized (
    select l.ctid as lease_place, c.place, l.token + 1 as token, c.state = 'running' as was_running
    from candidate c join lease l on l.ctid = c.lease_place
    where l.holder is null or l.expires_at <= now() or (l.holder <> me and not instance_alive(l.holder))
    for update of l skip locked)
  select array_agg(f.lease_place), array_agg(f.place), array_agg(f.token), count(*) filter (where f.was_running), count(*),
    case when count(*) < (select count(*) from candidate) then array(select c.dataset_id from candidate c) end,
    case when count(*) < (select count(*) from candidate) then array(select c.place from candidate c) end
  from free f
  into lease_places, job_places, next_tokens, ran_in_name, claims, candidates, candidate_places;
  if candidates is not null then
    with first_taken as (
      insert into lease as l (name, holder, token, expires_at)
      select c.dataset_id, me, 1, now() + lease_time from unnest(candidates) as c(dataset_id)
      where not exists (select from lease l where l.name = c.dataset_id offset 0)
      order by c.dataset_id collate "C"
      on conflict (name) do nothing
      returning l.name, l.token)
    select array_agg(c.place), array_agg(t.token)
    from first_taken t join unnest(candidates, candidate_places) as c(dataset_id, place) on c.dataset_id = t.name
    into first_places, first_tokens;
    if first_places is not null then
      claims := claims + cardinality(first_places);
      job_places := job_places || first_places;
      next_tokens := next_tokens || first_tokens;
    end if;
  end if;
  if lease_places is not null then
    update lease l set holder = me, token = l.token + 1, expires_at = now() + lease_time
    from unnest(lease_places) as f(place) where l.ctid = f.place;
  end if;
  if claims < max_claims then
    left_behind := claims - ran_in_name < (select count(*) from (select from job j
      where j.lane = its_lane and j.run_at <= now() and j.state in ('queued', 'delayed') limit max_claims) due);
  end if;
  due_in_ms := (select ceil(extract(epoch from min(j.run_at) - now()) * 1000)::bigint from job j
    where j.lane = its_lane and j.run_at > now() and j.state in ('queued', 'delayed'));
  if claims = 0 then
    return query select null::bigint, null::text, null::numeric, null::bigint, null::text, null::text, null::integer,
      null::integer, null::boolean, null::bigint, null::bigint, left_behind, due_in_ms, first_run_at, first_id;
    return;
  end if;
  return query
  with claimed as (
    update job j set state = 'running', holder = me, token = f.token, claimed_at = now(), again = false
    from unnest(job_places, next_tokens) as f(place, token) where j.ctid = f.place
    returning j.id, j.dataset_id, j.owner, j.event_id, j.source, j.type, j.tries, j.crashes, j.alone, j.run_at, j.token)
  select c.id, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.tries, c.crashes, c.alone, c.token,
    ceil(date_part('epoch', now() - c.run_at) * 1000)::bigint, left_behind, due_in_ms, first_run_at, first_id
  from claimed c
  order by coalesce(c.type = any(types_last), false), c.run_at, c.id;
end
$$;

create function exchange_jobs(
  me integer,
  its_lane text,
  max_claims bigint,
  types_last text[],
  types_not text[],
  types_away text[],
  oldest_run_at timestamptz,
  oldest_id bigint,
  done_ids bigint[],
  done_datasets text[],
  done_tokens bigint[],
  outcomes text[],
  delays_ms double precision[],
  tries_counted boolean[],
  failures text[],
  messages text[])
returns table (
  id bigint, dataset_id text, owner numeric, event_id bigint, source text, type text, tries integer, crashes integer,
  alone boolean, token bigint, waited_ms bigint, blocked boolean, next_due_ms bigint, oldest_at text, oldest bigint)
language plpgsql volatile
as $$
begin
  perform complete_jobs(me, done_ids, done_datasets, done_tokens, outcomes, delays_ms, tries_counted, failures, messages);
  return query select * from claim_jobs(me, its_lane, max_claims, types_last, types_not, types_away, oldest_run_at, oldest_id);
end
$$;
