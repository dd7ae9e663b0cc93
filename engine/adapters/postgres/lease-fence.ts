// Fences every write to the cache DB that is made under a dataset's lease. Check and write are one statement, so a process that
// lost its lease while it was suspended can no longer write (docs/design/decisions.md#from-a-change-to-a-job).

import type { DatasetId } from '../../model/ids.ts';
import type { Lease } from '../../ports/jobs.ts';
import { aborted, type Failure } from '../../runtime/failure.ts';
import type { SqlParameters } from './sql-parameters.ts';

/**
 * A CTE `fence` whose only row has the dataset's id; no row when the lease is not ours. Its lock keeps the lease unchanged
 * until the transaction ends. Throws when the lease is another dataset's.
 */
export function fence(dataset: DatasetId, lease: Lease, parameters: SqlParameters): string {
  if (lease.name !== dataset) throw leaseLost(dataset);
  const name = parameters.add(dataset, 'text');
  const token = parameters.add(lease.token, 'bigint');
  return `fence as materialized (
    select l.name as dataset_id from lease l
    where l.name = ${name} and l.token = ${token} and l.holder is not null for share)`;
}

export const leaseLost = (dataset: DatasetId): Failure => aborted(`dataset ${dataset}: lease lost`);
