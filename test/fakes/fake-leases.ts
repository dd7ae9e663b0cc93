// Leases in memory: one table for all processes, one view of it per process.

import type { Lease, Leases } from '../../engine/ports/jobs.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';

const LEASE_MS = 30_000;

interface Row {
  holder: number | undefined;
  token: number;
  expiresAt: number;
}

export class LeaseTable {
  readonly #clock: Clock;
  readonly #rows = new Map<string, Row>();
  readonly #dead = new Set<number>();
  readonly #listeners = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The process ends here and now: what it holds is free, and whatever it still attempts is refused. */
  kill(process: number): void {
    this.#dead.add(process);
  }

  alive(process: number): boolean {
    return !this.#dead.has(process);
  }

  /** Call before anything that a process does. */
  enter(process: number, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!this.alive(process)) throw aborted(`process ${process} is dead`);
  }

  isFree(name: string): boolean {
    const row = this.#rows.get(name);
    return row?.holder === undefined || row.expiresAt <= this.#clock.now() || !this.alive(row.holder);
  }

  /** When the lease was released or expired, for one that is free. */
  freeSince(name: string): number {
    const row = this.#rows.get(name);
    return row && row.expiresAt <= this.#clock.now() ? row.expiresAt : 0;
  }

  take(name: string, process: number): Lease | undefined {
    if (!this.isFree(name)) return undefined;
    const token = (this.#rows.get(name)?.token ?? 0) + 1;
    this.#rows.set(name, { holder: process, token, expiresAt: this.#clock.now() + LEASE_MS });
    return { name, token };
  }

  /** Also true for a lease that expired and that nobody took. */
  holds(lease: Lease, process: number): boolean {
    const row = this.#rows.get(lease.name);
    return row?.holder === process && row.token === lease.token;
  }

  renew(lease: Lease, process: number): boolean {
    const row = this.#rows.get(lease.name);
    if (!row || !this.holds(lease, process)) return false;
    row.expiresAt = this.#clock.now() + LEASE_MS;
    return true;
  }

  release(lease: Lease, process: number): void {
    const row = this.#rows.get(lease.name);
    if (!row || !this.holds(lease, process)) return;
    row.holder = undefined;
    row.expiresAt = this.#clock.now();
    for (const hear of [...this.#listeners]) hear();
  }

  /** Calls `hear` whenever a lease was released. */
  onRelease(hear: () => void): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  /** Names that somebody holds, for assertions. */
  held(): readonly string[] {
    return [...this.#rows.keys()].filter((name) => !this.isFree(name)).sort();
  }
}

export class FakeLeases implements Leases {
  readonly #table: LeaseTable;
  readonly #process: number;

  constructor(table: LeaseTable, process: number) {
    this.#table = table;
    this.#process = process;
  }

  async acquire(name: string, signal: AbortSignal): Promise<Lease | undefined> {
    this.#table.enter(this.#process, signal);
    return this.#table.take(name, this.#process);
  }

  async renew(leases: readonly Lease[], signal: AbortSignal): Promise<readonly Lease[]> {
    this.#table.enter(this.#process, signal);
    return leases.filter((lease) => !this.#table.renew(lease, this.#process));
  }

  async release(lease: Lease, signal: AbortSignal): Promise<void> {
    this.#table.enter(this.#process, signal);
    this.#table.release(lease, this.#process);
  }
}
