-- True when a job holds back the jobs of higher rank of its dataset: the jobs of one dataset run in the order of their ranks.
-- A dead job holds back nothing. Neither does a job of the target lanes (updateMeta, install, sharing) that is delayed because
-- a target is unreachable, or queued for a plugin that is: other targets, and users who lost access, must not wait for that.
create function holds_back(its_state text, its_lane text, its_type text, types_away text[]) returns boolean
  immutable parallel safe
  return its_state <> 'dead' and not (its_lane in ('updateMeta', 'install', 'sharing')
    and (its_state = 'delayed' or its_state = 'queued' and coalesce(its_type = any(types_away), false)));
