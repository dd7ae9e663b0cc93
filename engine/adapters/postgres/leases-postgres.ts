// Leases as rows of the cache database. A lease is free when nobody holds it, when it has expired, or when its holder has lost
// its session lock. Acquiring it increments its token. The database's clock is used.

import type { DatasetId } from '../../model/ids.ts';
import type { Lease, Leases } from '../../ports/jobs.ts';
import { aborted, type Failure } from '../../runtime/failure.ts';
import type { Postgres } from './postgres.ts';
import type { PostgresInstance } from './postgres-instance.ts';
import type { SqlParameters } from './sql-parameters.ts';

/** How long a lease lasts without renewal, as an interval of PostgreSQL; three renewals fit into it. */
export const LEASE_TIME = '30 seconds';

/** Notified when a lease was released that no job held, because jobs that waited for it may be claimable. */
export const LEASE_CHANNEL = 'longshore_lease';

const ACQUIRE = `
insert into lease as l (name, holder, expires_at) values ($1, $2, now() + interval '${LEASE_TIME}')
on conflict (name) do update set holder = excluded.holder, token = l.token + 1, expires_at = excluded.expires_at
where l.holder is null or l.expires_at <= now() or (l.holder <> $2 and not instance_alive(l.holder))
returning token`;

// Always in the order of names, so that statements that lock several leases cannot deadlock.
const RENEW = `
with ours as (
  select l.name, l.token from lease l
  join unnest($1::text[], $2::bigint[]) as g(name, token) on l.name = g.name and l.token = g.token
  where l.holder = $3
  order by l.name for update of l)
update lease l set expires_at = now() + interval '${LEASE_TIME}' from ours where l.name = ours.name
returning l.name, l.token`;

const RELEASE = `
with released as (
  update lease set holder = null, expires_at = now() where name = $1 and token = $2 and holder = $3 returning name)
select pg_notify('${LEASE_CHANNEL}', '') from released`;

export class PostgresLeases implements Leases {
  readonly #db: Postgres;
  readonly #instance: PostgresInstance;

  constructor(db: Postgres, instance: PostgresInstance) {
    this.#db = db;
    this.#instance = instance;
  }

  async acquire(name: string, signal: AbortSignal): Promise<Lease | undefined> {
    signal.throwIfAborted();
    // Without our session lock, others would consider the lease free as soon as we acquired it.
    if (!this.#instance.connected) return undefined;
    const [row] = await this.#db.query<{ token: number }>(ACQUIRE, [name, this.#instance.id]);
    return row && { name, token: row.token };
  }

  async renew(leases: readonly Lease[], signal: AbortSignal): Promise<readonly Lease[]> {
    signal.throwIfAborted();
    if (leases.length === 0) return [];
    const rows = await this.#db.query<{ name: string; token: number }>(RENEW, [
      leases.map((lease) => lease.name),
      leases.map((lease) => lease.token),
      this.#instance.id,
    ]);
    const ours = new Map(rows.map((row) => [row.name, row.token]));
    return leases.filter((lease) => ours.get(lease.name) !== lease.token);
  }

  async release(lease: Lease, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(RELEASE, [lease.name, lease.token, this.#instance.id]);
  }
}

// Fences every write to the cache DB that is made under a dataset's lease. Check and write are one statement, so a process that
// lost its lease while it was suspended can no longer write (docs/design/decisions.md#from-a-change-to-a-job).

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
