-- Report jobs that failed, with the columns of the cache database's view `problem`.

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
select 'report:' || id as id, 'report' as lane, null::text as dataset_id, null::text as target_id, null::numeric as owner_id,
  null::text as type, 'failed' as state, failure as message, ended_at as since, problem_cause(failure, id) as cause
from report_job where status = 'failed';
