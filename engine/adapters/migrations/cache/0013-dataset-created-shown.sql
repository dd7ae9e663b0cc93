-- An offset into the list of all datasets that are shown is skipped in an index of just these: deciding by the state of
-- each dataset that is skipped took twice as long as skipping it.

create index dataset_created_shown on dataset (created, dataset_id) where state in ('live', 'superseded');
