-- Related datasets are read newest first, up to a limit. Without the order in the index, each view of a dataset sorted all of its
-- project: 440 ms with 100,000 of them. (Who may see few of them still causes all to be read.)
-- Longer texts are not stored in these columns any more, but older rows may have them, and they would not fit.
create index dataset_project_created on dataset (owner_id, project_name, created desc, dataset_id)
  where octet_length(project_name) <= 1024 and state = 'live';
create index dataset_program_created on dataset (owner_id, program_name, created desc, dataset_id)
  where octet_length(program_name) <= 1024 and state = 'live';
-- The order of ids is that of creation, but for datasets that another installer made.
create index dataset_publication_dataset on dataset_publication (identifier, type, dataset_id);
-- At the end, because it makes readers wait until the migration is done.
drop index dataset_project;
drop index dataset_program;
drop index dataset_publication_identifier;
