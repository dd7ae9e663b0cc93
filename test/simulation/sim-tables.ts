// The job table and the leases of a simulation: the fakes, and what has to hold of them after every step.

import type { Lease } from '../../engine/ports/jobs.ts';
import { type FakeJobRow, JobTable } from '../fakes/fake-jobs.ts';
import { LeaseTable } from '../fakes/fake-leases.ts';

export type Violate = (text: string) => void;

interface Taken {
  readonly token: number;
  readonly process: number;
  readonly released: boolean;
}

export class SimLeases extends LeaseTable {
  violate: Violate = () => {};
  readonly #taken = new Map<string, Taken>();

  override take(name: string, process: number): Lease | undefined {
    const lease = super.take(name, process);
    if (!lease) return undefined;
    const before = this.#taken.get(name);
    if (before && before.token >= lease.token)
      this.violate(`token of ${name} went from ${before.token} to ${lease.token}`);
    this.#taken.set(name, { token: lease.token, process, released: false });
    return lease;
  }

  override release(lease: Lease, process: number): void {
    if (this.holds(lease, process)) this.#taken.set(lease.name, { token: lease.token, process, released: true });
    super.release(lease, process);
  }

  /** As the fence of the cache sees it: nobody took or released it, expired or not, be its holder dead or alive. */
  isCurrent({ name, token }: Lease): boolean {
    const taken = this.#taken.get(name);
    return taken !== undefined && taken.token === token && !taken.released;
  }

  /** The process that took it last, unless it was released. */
  holderOf(name: string): number | undefined {
    const taken = this.#taken.get(name);
    return taken && !taken.released ? taken.process : undefined;
  }
}

export class SimJobs extends JobTable {
  /** Planted: an event for a running job is dropped. */
  dropsEvents = false;
  /** Hears of each row that is written. */
  onPut: (row: FakeJobRow) => void = () => {};

  override enqueue(request: Parameters<JobTable['enqueue']>[0]): void {
    if (this.dropsEvents && this.get(request.lane, request.dataset)?.state === 'running') return;
    super.enqueue(request);
  }

  override put(row: FakeJobRow): void {
    super.put(row);
    this.onPut(row);
  }
}
