-- An offset into the list of all datasets is skipped in the index alone: what is shown is decided by the state, which
-- would otherwise be looked up in the row of every dataset that is skipped.

create index dataset_created_state on dataset (created, dataset_id) include (state);
drop index dataset_created;
