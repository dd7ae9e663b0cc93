-- The reconciler reads the columns of a dataset and no longer its line, so one index of the order is enough. It is not
-- written to when a dataset changes.

create index dataset_store_order on dataset ((owner_id::text || '/' || dataset_id || '/') collate "C")
  where state <> 'receiving';
drop index dataset_store_order_line;
drop index dataset_store_order_long;
