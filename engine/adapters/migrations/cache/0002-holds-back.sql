-- True when a job holds back the jobs of higher rank of its dataset. The jobs of a dataset run in the order of their ranks,
-- with two exceptions. A dead job holds back nothing. A job of the target lanes (updateMeta, install, sharing) holds back
-- nothing while it is delayed because a target is unreachable, or queued while its plugin is. Other targets, and users who lost
-- access, must not wait for that.
create function holds_back(its_state text, its_lane text, its_type text, unreachable_types text[]) returns boolean
  immutable parallel safe
  return its_state <> 'dead' and not (its_lane in ('updateMeta', 'install', 'sharing')
    and (its_state = 'delayed' or its_state = 'queued' and coalesce(its_type = any(unreachable_types), false)));
