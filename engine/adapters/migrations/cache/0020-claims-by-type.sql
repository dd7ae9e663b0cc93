-- A claim that leaves some types for later, or alone, reads the jobs of the others by index. Before, it read all jobs of the lane,
-- and a queue of 80,000 jobs of one plugin cost each claim 100 ms. The keys are texts that are compared by `=`: only then does
-- PostgreSQL before 18 end a scan at the time, and no other index fits. Jobs without a type are under '', which is no type's name.
create index job_types on job ((lane || ' ' || coalesce(type, '')) collate "C", run_at, id);
create index job_owner_types on job ((lane || ' ' || owner::text || ' ' || coalesce(type, '')) collate "C", run_at, id);

-- Writes the completions of one process, and claims jobs for it, in one round trip. A completion may hand its dataset over: the
-- job that follows in the lane `next` is claimed with it, because the process has a place for it.
-- Fencing: a completion is written only while its lease token is current.
-- Locks: completions lock leases, then jobs, each in the order of dataset ids. A claim skips jobs that another transaction has
--   locked, and takes leases in the order of dataset ids. A deadlock needs two races at once; the caller then retries.
-- Plans: the statistics of a queue are always stale (empty a minute ago, full now). The settings, the lateral joins with
--   `offset 0` and the arrays of names and ids force a plan that looks rows up one by one, in index order, up to the limit.
--   Such a plan joins two sets in square time, so what belongs to a row is looked up in a JSON object, by its dataset.
create or replace function complete_and_fetch_jobs(
  me integer, lease_time interval, crashes_alone integer,
  -- {dataset: {token, outcome, delay_ms, counted, failure, message, next, owner, type, last, record}}. Outcomes: done, retry,
  -- requeue, crash, dead. Owner and type are those of the job for which there is a place in the lane `next`; with `last`, only
  -- when no other job of that lane is due. `record`: see record_attempts; absent when the history has no row.
  completions jsonb,
  its_lane text, max_claims bigint,
  -- Types and owners to claim only when no others wait, and those not to claim at all. `unreachable_types`: see holds_back.
  types_last text[], types_not text[], unreachable_types text[], owners_last numeric[], owners_not numeric[],
  -- When some owners are restricted, the others take turns, beginning with the owner after this one.
  owners_after numeric,
  -- Most jobs that an owner may hold in the lane, and how many the owners hold now: {owner: number}. What a claim finds of an
  -- owner beyond that stays in the table; the next claim knows that the owner has its share.
  owner_most bigint, owners_held jsonb)
returns table (
  id bigint, lane text, dataset_id text, owner numeric, event_id bigint, source text, type text, attempts integer, crashes integer,
  alone boolean, token bigint, waited_ms bigint, traceparent text,
  -- Set only in the last row, which has no job: due jobs may remain in the lane; time until the next delayed job is due.
  more boolean, next_due_ms bigint)
language plpgsql volatile set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  owners_looked_at constant integer := 1000;
  by_owner constant boolean := cardinality(owners_last) + cardinality(owners_not) > 0;
  -- Where owners take turns, each type is looked for, too: the index for that has both.
  by_type constant boolean := by_owner or cardinality(types_last) + cardinality(types_not) > 0;
  -- Types of due jobs, and those of them to claim in a pass. A null element: any type.
  types_due text[] := array[null]; types_wanted text[];
  crowded boolean; come_last boolean;
  room bigint := max_claims; rows_written bigint;
  released_datasets text[]; records jsonb; others jsonb;
  ids bigint[]; tokens jsonb; waits_ms jsonb;
begin
  if completions <> '{}' then
    with released as (
      update lease l set holder = null, expires_at = now()
      where l.name = any(array(select jsonb_object_keys(completions)))
        and l.holder = me and l.token = (completions -> l.name ->> 'token')::bigint returning l.name)
    select array_agg(r.name) into released_datasets from released r;
    -- The next two statements lock some of the jobs each: this keeps the order.
    if completions @? '$.* ? (@.outcome != "done")' then
      perform 1 from job j where j.dataset_id = any(released_datasets) and j.holder = me
        order by j.dataset_id, j.lane for update;
    end if;
    -- Most jobs are done, and nothing was asked for meanwhile.
    with removed as (
      delete from job j where j.dataset_id = any(released_datasets) and j.holder = me and not j.again
        and j.token = (completions -> j.dataset_id ->> 'token')::bigint
        and completions -> j.dataset_id ->> 'outcome' = 'done'
      returning completions -> j.dataset_id -> 'record' as record)
    select count(*), jsonb_agg(r.record) filter (where r.record is not null) into rows_written, records from removed r;
    if rows_written < cardinality(released_datasets) then
      with ended as materialized (
        select j.id, f.*,
          f.outcome = 'dead' or (f.outcome = 'crash' and j.alone and j.crashes + 1 >= crashes_alone) as dies,
          -- An attempt that waited as long as its dependency was away, as the one before did, is not told again.
          case when f.outcome = 'retry' and not f.counted and j.message = f.message then null else f.record end as entry
        from job j cross join lateral jsonb_to_record(completions -> j.dataset_id) as f(token bigint, outcome text,
          delay_ms double precision, counted boolean, failure text, message text, record jsonb)
        where j.dataset_id = any(released_datasets) and j.holder = me and j.token = f.token
        order by j.dataset_id, j.lane for update of j),
      kept as (
        update job j set
          state = case when e.dies then 'dead' when e.outcome = 'retry' then 'delayed' else 'queued' end,
          again = j.again and e.dies,
          alone = e.outcome = 'crash' or (e.outcome = 'requeue' and j.alone),
          attempts = case when e.outcome = 'done' then 0
            else j.attempts + (e.outcome = 'dead' or (e.outcome = 'retry' and e.counted))::integer end,
          crashes = case when e.outcome = 'done' then 0 else j.crashes + (e.outcome = 'crash' and j.alone)::integer end,
          -- A requeued job keeps its place in the queue. No claim finds a dead one. What was asked for meanwhile does not wait
          -- for the end of a pause.
          run_at = case when e.dies then 'infinity'
            when e.outcome = 'retry' and not (j.again and waits_for_pause(j.dataset_id, j.lane))
              then now() + e.delay_ms * interval '1 millisecond'
            when e.outcome = 'requeue' then j.run_at else now() end,
          failure = case when e.outcome = 'done' then null when e.outcome in ('retry', 'dead') then e.failure
            when e.dies then 'defect' else j.failure end,
          message = case when e.outcome = 'done' then null when e.outcome in ('retry', 'dead') then e.message
            when e.dies then 'its worker crashed ' || crashes_alone || ' times while the job ran alone' else j.message end,
          holder = null, token = null, claimed_at = null
        from ended e where j.id = e.id)
      select coalesce(records, '[]') || jsonb_agg(e.entry) filter (where e.entry is not null) into others from ended e;
      records := coalesce(others, records);
    end if;
    if records is not null then perform record_attempts(me, records); end if;
    -- The transaction has the leases locked, so nobody else can have taken them.
    if completions @? '$.*.next' then
      return query with following as materialized (
        select found.* from unnest(released_datasets) as r(dataset)
        cross join lateral jsonb_to_record(completions -> r.dataset) as f(next text, owner numeric, type text, last boolean)
        cross join lateral (select j.id, j.dataset_id from job j
          where j.dataset_id = r.dataset and j.lane = f.next and j.owner = f.owner and j.type = f.type
            and j.state = 'queued' and j.run_at <= now()
            and not exists (select from job lower where lower.dataset_id = j.dataset_id and lower.rank < j.rank
              and holds_back(lower.state, lower.lane, lower.type, unreachable_types) offset 0)
            and not (f.last and exists (select from job other where other.lane = f.next and other.run_at <= now()
              and other.state in ('queued', 'delayed') and other.id <> j.id offset 0))
          for update of j skip locked) found),
      taken as (
        update lease l set holder = me, token = l.token + 1, expires_at = now() + lease_time
        from following f where l.name = f.dataset_id and l.holder is null returning l.name, l.token),
      claimed as (
        update job j set state = 'running', holder = me, token = t.token, claimed_at = now(), again = false
        from following f join taken t on t.name = f.dataset_id where j.id = f.id returning j.*)
      select c.id, c.lane, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.attempts, c.crashes, c.alone, c.token,
        0::bigint, c.traceparent, null::boolean, null::bigint
      from claimed c;
    end if;
    -- Jobs that waited for the leases, and jobs that were put back: nobody else tells their lanes.
    select count(pg_notify('longshore_job', n.lane)) into rows_written from (
      select distinct waiting.lane from unnest(released_datasets) as r(dataset) cross join lateral (select j.lane from job j
        where j.dataset_id = r.dataset and j.state in ('queued', 'delayed') and j.run_at <= now()
          and not exists (select from lease l where l.name = j.dataset_id and l.holder is not null)
          and not exists (select from job lower where lower.dataset_id = j.dataset_id and lower.rank < j.rank
            and holds_back(lower.state, lower.lane, lower.type, unreachable_types))) waiting) n;
  end if;
  if max_claims <= 0 then return; end if;
  if by_type then
    -- Jumps from one type to the next in the index. They come in the order of their oldest waiting jobs. A type may have no job
    -- that waits, but one whose process died.
    with recursive kind (type) as (
      (select coalesce(j.type, '') from job j
        where (j.lane || ' ' || coalesce(j.type, '')) collate "C" >= its_lane || ' '
          and (j.lane || ' ' || coalesce(j.type, '')) collate "C" < its_lane || '!'
        order by (j.lane || ' ' || coalesce(j.type, '')) collate "C" limit 1)
      union all
      select (select coalesce(j.type, '') from job j
        where (j.lane || ' ' || coalesce(j.type, '')) collate "C" > its_lane || ' ' || k.type
          and (j.lane || ' ' || coalesce(j.type, '')) collate "C" < its_lane || '!'
        order by (j.lane || ' ' || coalesce(j.type, '')) collate "C" limit 1)
      from kind k where k.type is not null)
    select array_agg(k.type order by (select j.run_at from job j
        where (j.lane || ' ' || coalesce(j.type, '')) collate "C" = its_lane || ' ' || k.type
          and j.run_at <= now() and j.state <> 'running' order by j.run_at, j.id limit 1)) into types_due
    from kind k cross join lateral (select from job j
      where (j.lane || ' ' || coalesce(j.type, '')) collate "C" = its_lane || ' ' || k.type and j.run_at <= now()
      order by j.run_at, j.id limit 1) due;
  end if;
  foreach crowded in array array[false, true] loop
    exit when crowded and cardinality(types_last) = 0;
    types_wanted := array(select k.type from unnest(types_due) with ordinality as k(type, n)
      where k.type is null or ((k.type = any(types_last)) = crowded and k.type <> all(types_not)) order by k.n);
    continue when cardinality(types_wanted) = 0;
    foreach come_last in array array[false, true] loop
      exit when room <= 0 or come_last and not by_owner;
      -- A running job whose lease is free (expired, or its process died) is claimed again. A token higher than its lease's
      -- shows that it was claimed during this statement: PostgreSQL returns a locked job as it is now, but its lease as it was.
      with recursive turn (owner, went_round, n) as (
        select coalesce(owners_after, 0), false, 0 where by_owner and not come_last
        union all
        select coalesce(next.owner, 0), t.went_round or next.owner is null, t.n + 1
        from turn t left join lateral (select j.owner from job j where j.lane = its_lane and j.owner > t.owner
          order by j.lane, j.owner limit 1) next on true
        where t.n < owners_looked_at and (not t.went_round or next.owner <= owners_after)),
      its (owner, most) as ( -- null: all owners. Otherwise each owner once, in index order. Oldest jobs first.
        select null, room where not by_owner
        union all select t.owner, (room + 1) / 2 from turn t
          where t.n > 0 and t.owner > 0 and t.owner <> all(owners_last || owners_not)
        union all select o.owner, room from unnest(owners_last) as o(owner) where come_last and o.owner <> all(owners_not)),
      share (owner, most) as (
        select i.owner, case when i.owner is null then i.most
          else least(i.most, greatest(0, owner_most - coalesce((owners_held ->> i.owner::text)::bigint, 0))) end from its i),
      candidate as materialized (
        select of_owner.* from share s cross join lateral (
          select found.* from unnest(types_wanted) as k(type) cross join lateral (
            (select i.id from job i where k.type is null and i.lane = its_lane and i.run_at <= now() order by i.run_at, i.id)
            union all
            (select i.id from job i where s.owner is null
              and (i.lane || ' ' || coalesce(i.type, '')) collate "C" = its_lane || ' ' || k.type
              and i.run_at <= now() order by i.run_at, i.id)
            union all
            (select i.id from job i
              where (i.lane || ' ' || i.owner::text || ' ' || coalesce(i.type, '')) collate "C"
                = its_lane || ' ' || s.owner::text || ' ' || k.type
              and i.run_at <= now() order by i.run_at, i.id)) due
          cross join lateral (
            select j.id, j.dataset_id, j.owner, j.run_at,
              case when l.holder is null or l.expires_at <= now() then l.expires_at end as free_since
            from job j left join lateral (select * from lease l where l.name = j.dataset_id offset 0) l on true
            where j.id = due.id and j.run_at <= now() and not (j.state = 'running' and j.token > coalesce(l.token, 0))
              and (k.type is null or coalesce(j.type, '') = k.type)
              and (l.holder is null or l.expires_at <= now()
                or (l.holder <> me and l.holder not in (select a.id from alive_instance a)))
              and not exists (select from job lower where lower.dataset_id = j.dataset_id and lower.rank < j.rank
                and holds_back(lower.state, lower.lane, lower.type, unreachable_types) offset 0)
            for update of j skip locked) found
          limit s.most) of_owner
        limit room),
      fair as (
        select c.dataset_id, row_number() over (partition by c.owner order by c.run_at, c.id) as nth,
          owner_most - coalesce((owners_held ->> c.owner::text)::bigint, 0) as places
        from candidate c),
      taken as ( -- Of the processes that claim the same dataset, one gets the lease, decided on the row as it is now.
        insert into lease as l (name, holder, expires_at)
        select f.dataset_id, me, now() + lease_time from fair f where f.nth <= f.places order by f.dataset_id
        on conflict (name) do update set holder = me, token = l.token + 1, expires_at = excluded.expires_at
        where l.holder is null or l.expires_at <= now() or (l.holder <> me and not instance_alive(l.holder))
        returning l.name, l.token)
      select (select array_agg(c.id) from candidate c), (select jsonb_object_agg(t.name, t.token) from taken t),
        (select jsonb_object_agg(c.dataset_id,
          ceil(date_part('epoch', now() - greatest(c.run_at, c.free_since)) * 1000)) from candidate c)
      into ids, tokens, waits_ms;
      continue when ids is null;
      return query with claimed as (
        update job j set state = 'running', holder = me, token = (tokens ->> j.dataset_id)::bigint, claimed_at = now(),
          again = false
        where j.id = any(ids) and tokens ? j.dataset_id returning j.*)
      select c.id, c.lane, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.attempts, c.crashes, c.alone, c.token,
        (waits_ms ->> c.dataset_id)::bigint, c.traceparent, null::boolean, null::bigint
      from claimed c order by array_position(ids, c.id);
      get diagnostics rows_written = row_count; room := room - rows_written;
    end loop;
  end loop;
  more := room <= 0 or exists (select from job j
    where j.lane = its_lane and j.run_at <= now() and j.state in ('queued', 'delayed'));
  next_due_ms := (select ceil(extract(epoch from min(j.run_at) - now()) * 1000) from job j
    where j.lane = its_lane and j.run_at > now() and j.run_at < 'infinity' and j.state in ('queued', 'delayed'));
  return next;
end $$;
