-- complete_jobs and claim_jobs again (migration 3 for their settings, 4 for plugins that are away, 11 for places, 12 for the
-- halves), for the same with fewer look-ups: with the lane's own thread they are what takes the processors from short jobs.
--
-- * A lease is released where it is found, without being locked first. Nobody waits in a ring for that: leases are written
--   in the order of names before jobs are, and who makes a lease while it holds jobs (claim_jobs, whose look for leases is
--   younger than its locks) makes none that somebody can be releasing.
-- * A lane looks past its own running jobs at each claim, some hundred of them: they cost one look-up each, that of the
--   lease. Only of those whose lease is free it is asked whether a job of lower rank holds them back.
-- * The lease that was looked at is locked by its place. Who took and gave it back meanwhile has notified of that.
--
-- Processes of the release before call the same functions.

create or replace function complete_jobs(
  me integer,
  -- One array per column. Outcomes: done, retry, requeue, crash, dead. When all are done, what follows the tokens may be null.
  done_ids bigint[],
  done_datasets text[],
  done_tokens bigint[],
  outcomes text[],
  delays_ms double precision[],
  tries_counted boolean[],
  failures text[],
  messages text[])
returns void
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
  crashes_alone constant integer := 3;
  notifications integer;
  releases bigint;
  failed_ids bigint[];
  again_ids bigint[];
begin
  with finished as materialized (
    select f.id, f.dataset_id, f.token, coalesce(f.outcome, 'done') as outcome
    from unnest(done_ids, done_datasets, done_tokens, outcomes) as f(id, dataset_id, token, outcome)),
  -- Fencing: a completion whose lease has gone to somebody else is not written.
  released as (
    update lease l set holder = null, expires_at = now()
    from (select * from finished f order by f.dataset_id collate "C") f
    where l.name = f.dataset_id and l.token = f.token and l.holder = me
    returning l.name, f.id, f.token, f.outcome),
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
  if releases > 0 then
    perform pg_notify('longshore_lease', '');
  end if;
end
$$;

create or replace function claim_jobs(
  me integer,
  its_lane text,
  max_claims bigint,
  types_last text[],
  types_not text[],
  types_away text[])
returns table (
  -- One row at least; without a claimed job its `id` is null.
  id bigint, dataset_id text, owner numeric, event_id bigint, source text, type text, tries integer, crashes integer,
  alone boolean, token bigint, waited_ms bigint,
  -- The same in every row: due jobs were left behind although there was room; time until the next delayed job is due.
  blocked boolean, next_due_ms bigint)
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
begin
  -- A running row is one more candidate: when its lease is free, it runs in name only (the lease expired, or its
  -- process died) and is claimed as it was, without blame. Jobs of lower rank hold back
  -- those of higher rank, see holds_back.
  with wanted as materialized (
    select j.ctid as place, j.dataset_id, j.state, l.ctid as lease_place from job j left join lease l on l.name = j.dataset_id
    where j.lane = its_lane and j.run_at <= now() and j.state <> 'dead'
      and (j.type is null or j.type <> all(types_last) and j.type <> all(types_not))
      and case when l.holder is null or l.expires_at <= now()
          or (l.holder <> me and l.holder not in (select a.id from alive_instance a))
        then not exists (select from job lower
          where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
        else false end
    order by j.run_at, j.id limit max_claims for update of j skip locked),
  crowded as materialized (
    select j.ctid as place, j.dataset_id, j.state, l.ctid as lease_place from job j left join lease l on l.name = j.dataset_id
    where cardinality(types_last) > 0 and j.lane = its_lane and j.run_at <= now() and j.state <> 'dead'
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
      null::integer, null::boolean, null::bigint, null::bigint, left_behind, due_in_ms;
    return;
  end if;
  return query
  with claimed as (
    update job j set state = 'running', holder = me, token = f.token, claimed_at = now(), again = false
    from unnest(job_places, next_tokens) as f(place, token) where j.ctid = f.place
    returning j.id, j.dataset_id, j.owner, j.event_id, j.source, j.type, j.tries, j.crashes, j.alone, j.run_at, j.token)
  select c.id, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.tries, c.crashes, c.alone, c.token,
    ceil(date_part('epoch', now() - c.run_at) * 1000)::bigint, left_behind, due_in_ms
  from claimed c
  order by coalesce(c.type = any(types_last), false), c.run_at, c.id;
end
$$;
