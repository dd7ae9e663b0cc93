-- Lists by other orders than creation, and full-text search over what owners say about their datasets.

-- The last change of the details, the upload or the import. Installs have times of their own. No index, so these updates stay HOT.
alter table dataset add column updated timestamptz not null default now();
create function note_dataset_change() returns trigger language plpgsql as $$
begin
  new.updated := now();
  return new;
end $$;
-- Only of these columns, and metadata last: they may be large.
create trigger dataset_changed
  before update of state, upload_status, upload_message, import_status, import_messages, upload_file_bytes, metadata
  on dataset for each row
  when ((old.state, old.upload_status, old.upload_message, old.import_status, old.import_messages, old.upload_file_bytes,
      old.metadata)
    is distinct from (new.state, new.upload_status, new.upload_message, new.import_status, new.import_messages,
      new.upload_file_bytes, new.metadata))
  execute function note_dataset_change();

-- Names are compared by their beginning, so that the place where a page ends stays small.
create function name_order(name text) returns text immutable parallel safe return left(lower(name), 100);
create index dataset_community_name on dataset ((name_order(name) collate "C"), dataset_id)
  where state = 'live' and visibility <> 'private';

-- The words of live datasets. A table of its own, because an indexed column of `dataset` would slow down every edit.
--
-- `search` has all words: A name, B summary, C description, D the rest with the people who are named as contacts. Guests are
-- shown contacts of public datasets only, so `guest` has the words of a protected dataset without them; null for the others.
-- Both also have words in upper case, which no text has: 'O' with the owner's id, 'C' (community) unless the dataset is private,
-- 'P' if it is public. With one of them in the query, the index gives only what a list may show.
create table dataset_search (
  dataset_id text collate "C" primary key references dataset on delete cascade,
  created timestamptz not null,
  search tsvector not null,
  guest tsvector
);

-- PostgreSQL's parser has its own idea of what `PF3D7_0417200.1` or `a/b` are. Without ASCII punctuation there are only words. A
-- query is treated alike (http/installer/list-search.ts), where such a name is a phrase. The bound keeps a vector below the
-- 1 MiB that PostgreSQL allows, whatever a document contains.
create function words_of(text text, most integer) returns tsvector immutable parallel safe
  return coalesce(to_tsvector('pg_catalog.english',
    translate(left(text, most), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))), '');

-- No deeper than our own documents are: a document of another system must not exhaust the stack.
create function texts_in(value jsonb) returns text immutable parallel safe
  return (select string_agg(found #>> '{}', ' ')
    from jsonb_path_query(value, 'strict $.**{0 to 6} ? (@.type() == "string")') found);

-- No address of a contact is searched.
create function search_words(dataset_id text, owner_id numeric, visibility text, metadata jsonb,
  out search tsvector, out guest tsvector) language plpgsql immutable parallel safe set search_path from current as $$
declare
  -- Names as people write them, so that they are phrases.
  people constant text := (select string_agg(concat_ws(' ', c ->> 'firstName', c ->> 'middleName', c ->> 'lastName',
      c ->> 'affiliation', c ->> 'country'), ' ') from jsonb_path_query(metadata, '$.contacts[*]') c);
  community constant text[] := case visibility when 'private' then '{}' else '{C}' end;
begin
  search := setweight(words_of(metadata ->> 'name', 2000), 'A') || setweight(words_of(metadata ->> 'summary', 10000), 'B')
    || setweight(words_of(concat_ws(' ', metadata ->> 'description', metadata ->> 'shortAttribution'), 60000), 'C')
    || words_of(concat_ws(' ', dataset_id, metadata #>> '{type,name}', metadata ->> 'projectName', metadata ->> 'programName',
      texts_in(jsonb_build_array(metadata -> 'publications', metadata -> 'experimentalOrganism', metadata -> 'hostOrganism',
        metadata -> 'datasetCharacteristics', metadata -> 'externalIdentifiers', metadata -> 'funding',
        metadata -> 'dependencies', metadata -> 'datasetSources'))), 60000);
  if visibility = 'protected' then
    guest := search || array_to_tsvector(community);
  end if;
  search := search || words_of(people, 20000) || array_to_tsvector(community || ('O' || owner_id)
    || case visibility when 'public' then '{P}'::text[] else '{}' end);
end $$;

insert into dataset_search
  select d.dataset_id, d.created, w.search, w.guest
  from dataset d cross join lateral search_words(d.dataset_id, d.owner_id, d.visibility, d.metadata) w where d.state = 'live';
-- A search reads all entries that wait to be sorted in, at most 1 MiB.
create index dataset_search_words on dataset_search using gin (search, guest) with (gin_pending_list_limit = 1024);

create function index_added_datasets() returns trigger language plpgsql set search_path from current as $$
begin
  insert into dataset_search
    select a.dataset_id, a.created, w.search, w.guest
    from added a cross join lateral search_words(a.dataset_id, a.owner_id, a.visibility, a.metadata) w where a.state = 'live';
  return null;
end $$;
create trigger index_added_datasets after insert on dataset referencing new table as added
  for each statement execute function index_added_datasets();

create function index_changed_dataset() returns trigger language plpgsql set search_path from current as $$
begin
  if new.state = 'live' then
    insert into dataset_search
      select new.dataset_id, new.created, w.search, w.guest
      from search_words(new.dataset_id, new.owner_id, new.visibility, new.metadata) w
    on conflict (dataset_id) do update
      set created = excluded.created, search = excluded.search, guest = excluded.guest;
  else
    delete from dataset_search s where s.dataset_id = new.dataset_id;
  end if;
  return null;
end $$;
create trigger index_changed_dataset after update of state, owner_id, visibility, created, metadata on dataset for each row
  when ((old.state, old.owner_id, old.visibility, old.created, old.metadata)
    is distinct from (new.state, new.owner_id, new.visibility, new.created, new.metadata))
  execute function index_changed_dataset();

-- Without D, C, B, A: how near the words are to each other, and how much they weigh; long texts have no advantage.
create function search_rank(words tsvector, query tsquery) returns real immutable parallel safe
  return ts_rank_cd('{0.1, 0.2, 0.4, 1.0}', words, query, 1);

-- The newest datasets with these words, at most `most`, with their ranks if asked for: of the owner, or those that are not private
-- if there is none. A word that a million datasets have does not cost a million ranks: beyond `counted` matches, the newest
-- `looked_at` datasets are compared one by one. The settings keep the planner from reading whole tables where it takes a phrase
-- for frequent.
create function search_datasets(query tsquery, owner numeric, is_guest boolean, most integer, is_ranked boolean)
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
    select from dataset_search s where s.search @@ everything or s.guest @@ shown limit counted + 1) matches) > counted;
  return query select m.dataset_id, case when is_ranked then search_rank(m.words, query) else 0 end from (
    (select s.dataset_id, case when s.search @@ everything then s.search else s.guest end as words
      from dataset_search s where not is_frequent and (s.search @@ everything or s.guest @@ shown)
      order by s.created desc, s.dataset_id limit most)
    union all
    (select s.dataset_id, case when s.search @@ everything then s.search else s.guest end
      from (
        (select d.dataset_id from dataset d where owner is not null and d.state = 'live' and d.owner_id = owner
          order by d.created desc, d.dataset_id limit looked_at)
        union all
        (select d.dataset_id from dataset d where owner is null and d.state = 'live' and d.visibility <> 'private'
          order by d.created desc, d.dataset_id limit looked_at)) newest
      join dataset_search s on s.dataset_id = newest.dataset_id
      where is_frequent and (s.search @@ everything or s.guest @@ shown) limit most)) m;
end $$;
