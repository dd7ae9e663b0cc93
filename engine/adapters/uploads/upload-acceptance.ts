// The statement behind the 202: it turns an upload's reservation into a dataset with an upload job.

import type { FileEntry } from '../../model/metadata.ts';
import type { AcceptedUpload } from '../../ports/uploads.ts';
import { insertShares, syncColumns } from '../catalog/catalog-changes.ts';
import { archiveColumns, insertDataset, insertFiles } from '../catalog/dataset-document.ts';
import { sealingCtes } from '../idempotency/idempotency-keys-postgres.ts';
import { enqueueCte, notifyLanes } from '../jobs/enqueue-jobs.ts';
import { type SqlParameters, storableJson, storableText } from '../postgres/sql-parameters.ts';

/**
 * Creates the dataset's rows and its first job from its `receiving` row, which becomes `accepted`, or `stored` if it is packed.
 * Returns no row if that row is gone, or if the claim of one of the resumable uploads, or of the idempotency key, was lost.
 */
export function acceptStatement(upload: AcceptedUpload, instance: number, parameters: SqlParameters): string {
  const { source, packed } = upload;
  const files = source.kind === 'files' ? source.files : [];
  const received =
    source.kind === 'files'
      ? parameters.add(packed ? 0 : sumOf(files), 'bigint')
      : // Nothing was downloaded yet: the reservation stays counted until the lane has downloaded the URL.
        `greatest(r.reserved_bytes - ${parameters.add(sumOf(besides(upload)), 'bigint')}, 0)`;
  const { type } = upload.metadata;
  const traceparent = parameters.add(upload.traceparent ?? null, 'text');
  const { taken = [], shares = [] } = upload;
  const key = upload.keyed && sealingCtes(upload.keyed, 'added', parameters);
  const holder = parameters.add(instance, 'integer');
  const ctes = [
    ...(key ? [key.claim] : []),
    ...(taken.length > 0
      ? [
          `taken as materialized (
      select id from resumable_upload
      where id = any(${parameters.add(taken, 'text[]')}) and owner_id = ${parameters.add(upload.owner, 'numeric')}
        and state = 'open' and holder = ${holder} and offset_bytes = length_bytes
      order by id for update)`,
        ]
      : []),
    `received as materialized (
      select dataset_id, reserved_bytes from upload
      where dataset_id = ${parameters.add(upload.dataset, 'text')} and state = 'receiving' and holder = ${holder}
        ${taken.length > 0 ? `and (select count(*) from taken) = ${parameters.add(taken.length, 'bigint')}` : ''}
        ${key ? 'and exists (select from key_claim)' : ''}
      for update)`,
    ...insertDataset(
      upload,
      upload.metadata,
      {
        state: `'live'`,
        upload_status: packed ? `'success'` : `'running'`,
        import_status: `'queued'`,
        raw_bytes: received,
        // Otherwise the lane sets them, once it has packed the files.
        upload_file_count: parameters.add(packed ? files.length : 0, 'integer'),
        upload_file_bytes: parameters.add(packed ? sumOf(files) : 0, 'bigint'),
        ...(packed ? archiveColumns('import-ready.zip', packed, parameters) : {}),
        ...syncColumns('meta', upload.metaVersion, parameters),
        traceparent,
      },
      'received r',
      parameters,
    ),
    ...(packed ? [insertFiles('upload', files, 'added', parameters)] : []),
    insertFiles('document', upload.documents, 'added', parameters),
    insertFiles('property', upload.properties, 'added', parameters),
    ...(shares.length > 0 ? [insertShares(shares, 'added', parameters)] : []),
    keptObjects(upload, parameters),
    `accepted as (
      update upload u set state = ${packed ? `'stored'` : `'accepted'`}, reserved_bytes = 0,
        source = ${parameters.add(packed ? null : storableJson(JSON.stringify(source)), 'jsonb')}
      from added a where u.dataset_id = a.dataset_id)`,
    ...(taken.length > 0
      ? [
          `used as (
      update resumable_upload u set state = 'used', holder = null, reserved_bytes = 0
      from taken k, added a where u.id = k.id)`,
        ]
      : []),
    ...(key ? [key.sealed] : []),
    enqueueCte(
      'first_job',
      { lane: packed ? 'import' : 'upload', eventId: upload.eventId, source: 'api' },
      'added a',
      {
        dataset: 'a.dataset_id',
        owner: parameters.add(upload.owner, 'numeric'),
        type: parameters.add(storableText(`${type.name}:${type.version}`), 'text'),
        traceparent,
      },
      parameters,
    ),
  ];
  return `with ${ctes.join(',\n')} select a.dataset_id, ${notifyLanes('first_job')} from added a`;
}

const besides = ({ others = [], documents, properties }: AcceptedUpload): readonly FileEntry[] => [
  ...others,
  ...documents.map(({ name, size }) => ({ name: `documents/${name}`, size })),
  ...properties.map(({ name, size }) => ({ name: `datasetProperties/${name}`, size })),
];

const sumOf = (files: readonly FileEntry[]): number => files.reduce((sum, { size }) => sum + size, 0);

/** Objects besides the raw files. If they are unknown, the sweep counts the dataset. */
function keptObjects(upload: AcceptedUpload, parameters: SqlParameters): string {
  const { owner, others } = upload;
  const kept = others ? besides(upload) : [{ name: '', size: 0 }];
  const sizes = new Map(kept.map(({ name, size }) => [name, size]));
  const names = parameters.add([...sizes.keys()], 'text[]');
  return `kept as (
    insert into kept_object (dataset_id, name, owner_id, bytes, holder)
    select a.dataset_id, x.name, ${parameters.add(owner, 'numeric')}, x.bytes, case when x.name = '' then 0 end
    from added a, unnest(${names}, ${parameters.add([...sizes.values()], 'bigint[]')}) x (name, bytes)
    on conflict (dataset_id, name) do nothing)`;
}
