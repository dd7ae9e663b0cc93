-- The words of datasets that lists of the community show lie together, so that a frequent word among a few of a million datasets
-- does not cost one page of the disk for each of them.
alter table dataset_search rename to dataset_search_before;
drop index dataset_search_words;
alter table dataset_search_before rename constraint dataset_search_pkey to dataset_search_before_pkey;

create table dataset_search (
  dataset_id text collate "C" not null references dataset on delete cascade,
  is_community boolean not null,
  created timestamptz not null,
  search tsvector not null,
  guest tsvector,
  primary key (dataset_id, is_community)
) partition by list (is_community);
create table dataset_search_community partition of dataset_search for values in (true);
create table dataset_search_private partition of dataset_search for values in (false);
insert into dataset_search
  select dataset_id, search @@ '''C'''::tsquery, created, search, guest from dataset_search_before;
drop table dataset_search_before;
create index dataset_search_words on dataset_search using gin (search, guest) with (gin_pending_list_limit = 1024);

create or replace function index_added_datasets() returns trigger language plpgsql set search_path from current as $$
begin
  insert into dataset_search
    select a.dataset_id, a.visibility <> 'private', a.created, w.search, w.guest
    from added a cross join lateral search_words(a.dataset_id, a.owner_id, a.visibility, a.metadata) w where a.state = 'live';
  return null;
end $$;

create or replace function index_changed_dataset() returns trigger language plpgsql set search_path from current as $$
begin
  delete from dataset_search s where s.dataset_id = new.dataset_id;
  if new.state = 'live' then
    insert into dataset_search
      select new.dataset_id, new.visibility <> 'private', new.created, w.search, w.guest
      from search_words(new.dataset_id, new.owner_id, new.visibility, new.metadata) w;
  end if;
  return null;
end $$;

-- The newest datasets with these words, at most `most`, with their ranks if asked for: of the owner, or those that are not private
-- if there is none. A word that a million datasets have does not cost a million ranks: beyond `counted` matches, the newest
-- `looked_at` datasets are compared one by one. The settings keep the planner from reading whole tables where it takes a phrase
-- for frequent.
create or replace function search_datasets(query tsquery, owner numeric, is_guest boolean, most integer, is_ranked boolean)
returns table (dataset_id text, rank real) language plpgsql stable set search_path from current
set plan_cache_mode = force_custom_plan set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  counted constant integer := 20000;
  looked_at constant integer := 50000;
  everything constant tsquery := query && case when owner is not null then format('''O%s''', owner)
    when is_guest then '''P''' else '''C''' end::tsquery;
  shown constant tsquery := case when owner is null and is_guest then query && '''C''' end;
  is_frequent boolean;
begin
  -- Only stop words: without this, the word for the list would be all of the query.
  if numnode(query) = 0 then return; end if;
  is_frequent := (select count(*) from (
    select from dataset_search s where (s.is_community or owner is not null) and (s.search @@ everything or s.guest @@ shown)
    limit counted + 1) matches) > counted;
  return query select m.dataset_id, case when is_ranked then search_rank(m.words, query) else 0 end from (
    (select s.dataset_id, case when s.search @@ everything then s.search else s.guest end as words
      from dataset_search s
      where not is_frequent and (s.is_community or owner is not null) and (s.search @@ everything or s.guest @@ shown)
      order by s.created desc, s.dataset_id limit most)
    union all
    (select s.dataset_id, case when s.search @@ everything then s.search else s.guest end
      from (
        (select d.dataset_id from dataset d where owner is not null and d.state = 'live' and d.owner_id = owner
          order by d.created desc, d.dataset_id limit looked_at)
        union all
        (select d.dataset_id from dataset d where owner is null and d.state = 'live' and d.visibility <> 'private'
          order by d.created desc, d.dataset_id limit looked_at)) newest
      join dataset_search s on s.dataset_id = newest.dataset_id and (s.is_community or owner is not null)
      where is_frequent and (s.search @@ everything or s.guest @@ shown) limit most)) m;
end $$;
