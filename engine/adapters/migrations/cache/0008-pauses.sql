-- What operators have paused. A pause without `until` lasts until it is ended.
create table pause (
  kind text not null check (kind in ('lane', 'plugin', 'target')),
  name text collate "C" not null,
  since timestamptz not null default now(),
  paused_by text not null,
  reason text,
  until timestamptz,
  primary key (kind, name)
);

-- Jobs that were put back because of a pause. When it is over, they become due at once. A row without such a job is harmless.
create table pause_wait (
  kind text not null,
  name text collate "C" not null,
  lane text not null,
  dataset_id text collate "C" not null,
  primary key (dataset_id, lane, kind, name)
);

-- True when the job was put back because of a pause. A new request makes it due at once: only a part of its work is paused.
create function waits_for_pause(its_dataset text, its_lane text) returns boolean language sql stable
  begin atomic
    select exists (select from pause_wait w where w.dataset_id = its_dataset and w.lane = its_lane);
  end;
