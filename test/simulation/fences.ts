// What must hold of every write under a dataset's lease: made by a process that lost the lease, it is refused.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import type { FakeControlSchema } from '../fakes/fake-install-target.ts';
import type { SimLeases, Violate } from './sim-tables.ts';

const CONTROL_WRITES = ['begin', 'write', 'removeMessage', 'writeVisibility', 'setDeleted', 'purge'];

export class Fences {
  readonly #leases: SimLeases;
  readonly #schema: FakeControlSchema;
  readonly #violate: Violate;

  constructor(leases: SimLeases, schema: FakeControlSchema, violate: Violate) {
    this.#leases = leases;
    this.#schema = schema;
    this.#violate = violate;
  }

  /** Carries out a call of the cache or of a control schema. */
  async watch(port: string, method: string, args: readonly unknown[], call: () => Promise<unknown>): Promise<unknown> {
    const stale = this.#staleness(port, method, args);
    const result = await call();
    if (stale) this.#violate(`${port}.${method} took effect under a lost lease: ${stale}`);
    return result;
  }

  #staleness(port: string, method: string, args: readonly unknown[]): string | undefined {
    if (port === 'target') return this.#staleToken(method, args);
    return port === 'catalog' || port === 'uploads' ? this.#staleLease(method, args) : undefined;
  }

  #staleLease(method: string, args: readonly unknown[]): string | undefined {
    const lease = args.find(isLease);
    if (!lease || this.#leases.isCurrent(lease)) return undefined;
    // Nothing to write, nothing to fence.
    if (method === 'write' && (args[2] as readonly unknown[]).length === 0) return undefined;
    return `${lease.name} with token ${lease.token}`;
  }

  #staleToken(method: string, args: readonly unknown[]): string | undefined {
    if (!CONTROL_WRITES.includes(method)) return undefined;
    const dataset = args[0] as DatasetId;
    const token = args.at(-2) as number;
    const row = this.#schema.rows.get(dataset);
    return row && row.token > token ? `${dataset} with token ${token} after ${row.token}` : undefined;
  }
}

const isLease = (arg: unknown): arg is Lease =>
  typeof arg === 'object' && arg !== null && 'name' in arg && 'token' in arg && typeof arg.token === 'number';
