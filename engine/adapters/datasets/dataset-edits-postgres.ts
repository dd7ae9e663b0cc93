// Edits of a dataset in the cache DB: one transaction that holds the row's lock from the read to the commit.

import type { DatasetId } from '../../model/ids.ts';
import type { FileEntry } from '../../model/metadata.ts';
import type { StoredShare } from '../../ports/catalog.ts';
import type { DatasetEdit, DatasetEdits, DecidedEdit, EditableDataset } from '../../ports/dataset-edits.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import { changeCtes } from '../catalog/catalog-changes.ts';
import type { FileFolderName } from '../catalog/dataset-document.ts';
import { DATASET_COLUMNS, type DatasetRow, datasetRecord } from '../catalog/dataset-row.ts';
import { type Postgres, type Sql, sqlState } from '../postgres/postgres.ts';
import { SqlParameters, statementName } from '../postgres/sql-parameters.ts';

/** How long an edit waits for the edit before it, which may be putting a small object. */
const LOCK_TIMEOUT = '10s';

/** Condition on `o`: older revisions of `d`. */
const OLDER = `o.root_id = d.root_id and o.owner_id = d.owner_id and o.revision < d.revision
  and o.state in ('live', 'superseded')`;

const LOCK = `select from dataset where dataset_id = $1 and state <> 'receiving' for update`;
// Read after the lock in a second statement: a statement's snapshot is taken before it waits for the lock.
const READ = `
  select ${DATASET_COLUMNS},
    (select json_agg(json_build_array(s.recipient_id::text, s.offer, s.receipt) order by s.recipient_id)
      from dataset_share s where s.dataset_id = d.dataset_id) as shares,
    (select json_agg(json_build_array(f.folder, f.name, f.size) order by f.folder, f.name collate "C")
      from dataset_file f
      where f.dataset_id = d.dataset_id and f.folder in ('document', 'property')) as files,
    (select json_build_array(n.dataset_id, n.upload_status in ('rejected', 'failed')
        or n.upload_status = 'success' and n.import_status in ('invalid', 'failed'))
      from dataset n where n.root_id = d.root_id and n.owner_id = d.owner_id and n.state = 'live'
        and n.revision > d.revision order by n.revision desc limit 1) as newer,
    (select json_agg(o.dataset_id order by o.revision desc) from dataset o where ${OLDER}) as older
  from dataset d where d.dataset_id = $1`;

const DELETE_OLDER = `
  update dataset o set state = 'deleting', row_version = o.row_version + 1 from dataset d
  where d.dataset_id = $1 and ${OLDER}`;

const TRACE = 'update dataset set traceparent = $2 where dataset_id = $1';

interface EditableRow extends DatasetRow {
  readonly shares: [StoredShare['recipient'], StoredShare['offer'] | null, StoredShare['receipt'] | null][] | null;
  readonly files: [FileFolderName, name: string, size: number][] | null;
  readonly newer: [DatasetId, failed: boolean] | null;
  readonly older: DatasetId[] | null;
}

export class PostgresDatasetEdits implements DatasetEdits {
  readonly #db: Pick<Postgres, 'transaction'>;

  constructor(db: Pick<Postgres, 'transaction'>) {
    this.#db = db;
  }

  async edit<Result>(
    dataset: DatasetId,
    decide: (now: EditableDataset | undefined, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
    signal: AbortSignal,
  ): Promise<Result> {
    // An error thrown by the caller's `decide` must not be reported as a database failure.
    let refusal: { readonly error: unknown } | undefined;
    try {
      return await this.#db.transaction(async (sql) => {
        const now = await lock(sql, dataset);
        const { changes, result, traceparent } = await decide(now, signal).catch((error: unknown) => {
          refusal = { error };
          throw error;
        });
        await apply(sql, dataset, changes);
        if (changes.length > 0 && traceparent !== undefined)
          await sql.query(TRACE, [dataset, traceparent], 'dataset-trace');
        return result;
      }, signal);
    } catch (error) {
      throw refusal ? refusal.error : error;
    }
  }
}

async function lock(sql: Sql, dataset: DatasetId): Promise<EditableDataset | undefined> {
  await sql.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
  try {
    if ((await sql.query(LOCK, [dataset])).length === 0) return undefined;
  } catch (error) {
    if (sqlState(error) !== '55P03') throw error;
    throw transient(`dataset ${dataset} is being changed: ${messageOf(error)}`, { cause: error });
  }
  const [row] = await sql.query<EditableRow>(READ, [dataset], 'dataset-edit');
  return row && editable(row);
}

function editable(row: EditableRow): EditableDataset {
  const inFolder = (folder: FileFolderName): FileEntry[] =>
    (row.files ?? []).flatMap(([of, name, size]) => (of === folder ? [{ name, size }] : []));
  return {
    ...datasetRecord(row),
    shares: (row.shares ?? []).map(([recipient, offer, receipt]) => ({
      recipient,
      ...(offer && { offer }),
      ...(receipt && { receipt }),
    })),
    files: { documents: inFolder('document'), properties: inFolder('property') },
    newer: row.newer ? { dataset: row.newer[0], failed: row.newer[1] } : undefined,
    older: row.older ?? [],
  };
}

async function apply(sql: Sql, dataset: DatasetId, changes: readonly DatasetEdit[]): Promise<void> {
  if (changes.some(({ set }) => set === 'olderDeleted')) await sql.query(DELETE_OLDER, [dataset], 'delete-older');
  const own = changes.filter((change) => change.set !== 'olderDeleted');
  if (own.length === 0) return;
  const parameters = new SqlParameters();
  // The row lock takes the place of the lease that fences the lanes' writes.
  const ours = `fence as (select ${parameters.add(dataset, 'text')} as dataset_id)`;
  const text = `with ${[ours, ...changeCtes(dataset, own, parameters)].join(',\n')} select from changed`;
  await sql.query(text, parameters.values, statementName(text));
}
