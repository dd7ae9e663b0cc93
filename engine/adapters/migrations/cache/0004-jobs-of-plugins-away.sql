-- exchange_jobs again (see migration 3 for its locks and settings), told which plugins do not answer: jobs that wait for
-- one of those hold back no other job of their dataset, whether they are delayed by it or were not claimed at all.

drop function exchange_jobs(integer, text, bigint, text[], text[], bigint[], text[], bigint[], text[], double precision[], boolean[], text[], text[]);
drop function holds_back(text, text);

-- Whether a job holds back those of higher rank of its dataset: the order of one dataset's jobs is a promise. A dead one
-- does not, nor one of the lanes of the targets that is delayed because a target is away or waits for a plugin that is:
-- the other targets, and those who may no longer see the dataset, must not wait for that.
create function holds_back(its_state text, its_lane text, its_type text, types_away text[]) returns boolean
  immutable parallel safe
  return its_state <> 'dead' and not (its_lane in ('updateMeta', 'install', 'sharing')
    and (its_state = 'delayed' or its_state = 'queued' and coalesce(its_type = any(types_away), false)));

create function exchange_jobs(
  me integer,
  its_lane text,
  max_claims bigint,
  types_last text[],
  types_not text[],
  types_away text[],
  -- Completions, one array per column. Outcomes: done, retry, requeue, crash, dead.
  done_ids bigint[],
  done_datasets text[],
  done_tokens bigint[],
  outcomes text[],
  delays_ms double precision[],
  tries_counted boolean[],
  failures text[],
  messages text[])
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
  crashes_alone constant integer := 3;
  notifications integer;
begin
  if cardinality(done_ids) > 0 then
    with finished as materialized (
      select * from unnest(done_ids, done_datasets, done_tokens, outcomes, delays_ms, tries_counted, failures, messages)
        as f(id, dataset_id, token, outcome, delay_ms, counted, failure, message)),
    -- Fencing: a completion whose lease has gone to somebody else is not written.
    held as materialized (
      select l.name, f.* from finished f join lease l on l.name = f.dataset_id and l.token = f.token
      where l.holder = me
      order by l.name for update of l),
    ended as materialized (
      select j.id, h.outcome, h.delay_ms, h.counted, h.failure, h.message,
        h.outcome = 'done' and not j.again as gone,
        h.outcome = 'dead' or (h.outcome = 'crash' and j.alone and j.crashes + 1 >= crashes_alone) as dies
      from held h join job j on j.id = h.id and j.token = h.token and j.dataset_id = h.name
      where j.holder = me
      order by j.dataset_id, j.lane for update of j),
    released as (
      update lease l set holder = null, expires_at = now() from held h where l.name = h.name),
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
      select pg_notify('longshore_job', k.lane) from (select distinct lane from kept where state = 'queued') k
      union all
      select pg_notify('longshore_lease', '') from (select from held limit 1) h)
    select count(*) into notifications from notified;
  end if;

  return query
  -- A running row is one more candidate: when its lease is free, it runs in name only (the lease expired, or its
  -- process died) and is claimed as it was, without blame. Jobs of lower rank hold back
  -- those of higher rank, see holds_back.
  with wanted as materialized (
    select j.id, j.dataset_id, j.state from job j
    where j.lane = its_lane and j.run_at <= now() and j.state <> 'dead'
      and (j.type is null or j.type <> all(types_last) and j.type <> all(types_not))
      and not exists (select from job lower
        where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
      and not exists (select from lease l
        where l.name = j.dataset_id and l.holder is not null and l.expires_at > now()
          and (l.holder = me or l.holder in (select a.id from alive_instance a)) offset 0)
    order by j.run_at, j.id limit max_claims for update of j skip locked),
  crowded as materialized (
    select j.id, j.dataset_id, j.state from job j
    where cardinality(types_last) > 0
      and j.lane = its_lane and j.run_at <= now() and j.state <> 'dead'
      and j.type = any(types_last) and j.type <> all(types_not)
      and not exists (select from job lower
        where lower.dataset_id = j.dataset_id and lower.rank < j.rank and holds_back(lower.state, lower.lane, lower.type, types_away) offset 0)
      and not exists (select from lease l
        where l.name = j.dataset_id and l.holder is not null and l.expires_at > now()
          and (l.holder = me or l.holder in (select a.id from alive_instance a)) offset 0)
    order by j.run_at, j.id limit max_claims - (select count(*) from wanted) for update of j skip locked),
  candidate as materialized (
    select * from wanted union all select * from crowded),
  -- The lease decides between processes that want the same dataset, on the row as it is now.
  free as materialized (
    select l.name, c.state = 'running' as was_running from candidate c join lease l on l.name = c.dataset_id
    where l.holder is null or l.expires_at <= now() or (l.holder <> me and not instance_alive(l.holder))
    for update of l skip locked),
  retaken as (
    update lease l set holder = me, token = l.token + 1, expires_at = now() + lease_time
    from free f where l.name = f.name
    returning l.name, l.token, f.was_running),
  first_taken as (
    insert into lease as l (name, holder, token, expires_at)
    select c.dataset_id, me, 1, now() + lease_time from candidate c
    where not exists (select from lease l where l.name = c.dataset_id offset 0)
    order by c.dataset_id
    on conflict (name) do nothing
    returning l.name, l.token, false as was_running),
  claimed as (
    update job j set state = 'running', holder = me, token = t.token, claimed_at = now(), again = false
    from (select * from retaken union all select * from first_taken) t
    where j.dataset_id = t.name and j.lane = its_lane
    returning j.id, j.dataset_id, j.owner, j.event_id, j.source, j.type, j.tries, j.crashes, j.alone, j.run_at,
      j.token, t.was_running),
  lane_now as materialized (
    select
      (select count(*) from claimed) < max_claims and
        (select count(*) from (select from job j
          where j.lane = its_lane and j.run_at <= now() and j.state in ('queued', 'delayed') limit max_claims) due)
        > (select count(*) from claimed where not was_running) as blocked,
      (select ceil(extract(epoch from min(j.run_at) - now()) * 1000)::bigint from job j
        where max_claims > 0 and j.lane = its_lane and j.run_at > now() and j.state in ('queued', 'delayed'))
        as next_due_ms)
  select c.id, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.tries, c.crashes, c.alone, c.token,
    ceil(extract(epoch from now() - c.run_at) * 1000)::bigint, n.blocked, n.next_due_ms
  from lane_now n left join claimed c on true
  order by coalesce(c.type = any(types_last), false), c.run_at, c.id;
end
$$;
