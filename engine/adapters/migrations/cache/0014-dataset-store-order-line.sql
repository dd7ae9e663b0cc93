-- A full run of the reconciler reads each dataset's line from the index of their order alone: looking into the table, whose
-- rows are ten times as long, took most of its time. An entry of an index may have 2,704 bytes, and this one holds the id
-- three times; the few datasets with a longer line, of many targets, have an index to themselves.

create index dataset_store_order_line on dataset ((owner_id::text || '/' || dataset_id || '/') collate "C")
  include (owner_id, dataset_id, line) where state <> 'receiving' and octet_length(line) <= 800;
create index dataset_store_order_long on dataset ((owner_id::text || '/' || dataset_id || '/') collate "C")
  where state <> 'receiving' and octet_length(line) > 800;
drop index dataset_store_order;
