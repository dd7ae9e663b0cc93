// The audit trail in memory. `away` has every call fail as a database does that cannot be reached.

import type { AuditEntry, AuditPlace } from '../../engine/model/audit.ts';
import type { AuditLog } from '../../engine/ports/audit-log.ts';
import { transient } from '../../engine/runtime/failure.ts';

const WEEK_MS = 7 * 86_400_000;
const SOME_MONDAY = Date.UTC(2024, 0, 1);
const PAGE_BYTES = 256 * 1024;

export class FakeAuditLog implements AuditLog {
  /** In the order in which they came. */
  readonly entries: AuditEntry[] = [];
  /** How many rows each call of `append` brought. */
  readonly batches: number[] = [];
  away = false;
  /** Awaited by every `append`. */
  gate: Promise<void> = Promise.resolve();
  #number = 0;

  append: AuditLog['append'] = async (rows, signal) => {
    signal.throwIfAborted();
    this.#demand();
    await this.gate;
    signal.throwIfAborted();
    this.#demand();
    this.batches.push(rows.length);
    this.entries.push(...rows.map((row) => ({ ...row, number: ++this.#number })));
  };

  page: AuditLog['page'] = async (filter, { limit, order, after }, signal) => {
    signal.throwIfAborted();
    this.#demand();
    const sign = order === 'newest-first' ? -1 : 1;
    const isBehind = (place: AuditPlace): boolean => !after || sign * compare(place, after) > 0;
    const { from = -Infinity, to = Infinity } = filter;
    const found = this.entries
      .filter(({ at }) => at >= from && at < to)
      .filter((entry) => filter.kind === undefined || entry.kind === filter.kind)
      .filter((entry) => filter.actor === undefined || entry.actor.id === filter.actor)
      .filter((entry) => filter.dataset === undefined || entry.dataset === filter.dataset)
      .filter((entry) => filter.route === undefined || entry.route === filter.route)
      .filter((entry) => filter.outcome === undefined || entry.outcome === filter.outcome)
      .filter(isBehind)
      .toSorted((a, b) => sign * compare(a, b));
    const entries: AuditEntry[] = [];
    for (let bytes = 0; entries.length < limit && bytes < PAGE_BYTES; ) {
      const entry = found[entries.length];
      if (!entry) break;
      entries.push(entry);
      bytes += JSON.stringify(entry).length;
    }
    const last = entries.at(-1);
    return {
      entries,
      ...(last && entries.length < found.length ? { next: { at: last.at, number: last.number } } : {}),
    };
  };

  dropBefore: AuditLog['dropBefore'] = async (at, signal) => {
    signal.throwIfAborted();
    this.#demand();
    const weekOf = (moment: number): number => Math.floor((moment - SOME_MONDAY) / WEEK_MS);
    const old = this.entries.filter((entry) => weekOf(entry.at) < weekOf(at));
    for (const entry of old) this.entries.splice(this.entries.indexOf(entry), 1);
    return new Set(old.map((entry) => weekOf(entry.at))).size;
  };

  #demand(): void {
    if (this.away) throw transient('the audit trail is away', { unreachable: true });
  }
}

const compare = (a: AuditPlace, b: AuditPlace): number => a.at - b.at || a.number - b.number;
