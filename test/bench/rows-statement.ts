// The statement that sides without our reader read the cache's datasets by: the same parts, each as a column.

/** The order of the store's keys, put so that none of our statements takes the peers' index for its own. */
const PEERS_ORDER = `((owner_id::text || '/') || (dataset_id || '/')) collate "C"`;
export const PEERS_INDEX = `create index if not exists peers_order on dataset (${PEERS_ORDER})`;

export const ROWS = `
  select d.dataset_id, d.owner_id::text as owner_id, d.state, d.type_name, d.type_version, d.install_targets,
    d.upload_status, d.import_status, d.meta_etag, d.meta_modified_ms, d.data_etag, d.data_modified_ms, d.shares_etag,
    d.shares_modified_ms
  from cache.dataset d where d.state <> 'receiving'
  order by ${PEERS_ORDER}`;
