// Writes rows about requests to the audit table and the log.
//   keep      the caller waits until the row is in the table; rows that arrive while a batch is written go with the next one
//   add       the row is written within a second
//   refused   as with `add`, but similar refusals are counted in one row (RefusalCounts)
// No row is lost silently. If the table does not accept a row in time, or too many rows wait, the row is only logged, at warn,
// and counted. So a request waits for two batches at most, and memory is bounded in bytes. Every row is logged in any case.

import type { AuditRow } from '../../../engine/model/audit.ts';
import type { AuditLog } from '../../../engine/ports/audit-log.ts';
import { messageOf, transient } from '../../../engine/runtime/failure.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { Counter, Metrics } from '../../../engine/runtime/metrics.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import { peerOf } from '../server/peer-address.ts';

const ADD_MS = 1_000;
/** Timeout for writing a batch. */
const WRITE_MS = 2_000;
const BATCH_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

interface AuditTrailOptions {
  /** Undefined without a database. Then the log is the audit trail. */
  readonly table: Pick<AuditLog, 'append'> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Most bytes of waiting rows; default 4 MiB. */
  readonly maxBytes?: number;
}

interface Waiting {
  readonly row: AuditRow;
  readonly bytes: number;
  readonly kept: () => void;
}

export class AuditTrail implements AsyncDisposable {
  readonly #options: AuditTrailOptions;
  readonly #refusals: RefusalCounts;
  readonly #rows: Counter<'kept'>;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
    this.#refusals = new RefusalCounts(options.clock, (row) => this.add(row));
    this.#rows = options.metrics.counter('audit_rows_total', 'Rows of the audit trail.', ['kept']);
    // Starts at zero, so that the first row that is only in the log shows as an increase.
    if (options.table) for (const kept of ['table', 'log']) this.#rows.inc({ kept }, 0);
  }

  /** Resolves when the row is in the table or, if the table does not accept it, in the log. Never rejects. */
  keep(row: AuditRow): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#push(row, resolve);
    void this.#write();
    return promise;
  }

  add(row: AuditRow): void {
    this.#push(row, () => {});
    this.#cancel ??= this.#options.clock.after(ADD_MS, () => {
      this.#cancel = undefined;
      void this.#write();
    });
  }

  refused(row: AuditRow): void {
    this.#refusals.add(row);
  }

  /** Writes all waiting rows, including counted refusals. Rows may still be added afterwards. */
  async flush(): Promise<void> {
    this.#refusals.flush();
    await this.#write();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #push(row: AuditRow, kept: () => void): void {
    const { table, log, maxBytes = MAX_BYTES } = this.#options;
    if (!table) {
      log.info(fieldsOf(row), 'audit');
      kept();
      return;
    }
    const bytes = Buffer.byteLength(JSON.stringify(row));
    if (this.#bytes + bytes > maxBytes) {
      this.#toLog([row], 'too many rows wait for the table');
      kept();
      return;
    }
    this.#bytes += bytes;
    this.#waiting.push({ row, bytes, kept });
  }

  /** Writes all waiting rows. Resolves when none is left. */
  #write(): Promise<void> {
    if (this.#waiting.length > 0) this.#writing ??= this.#writeAll();
    return this.#writing ?? Promise.resolve();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_ROWS);
      await this.#append(batch.map(({ row }) => row));
      for (const { bytes, kept } of batch) {
        this.#bytes -= bytes;
        kept();
      }
    }
    // Cleared in the same turn as the last check, so that the next call writes any later row.
    this.#writing = undefined;
  }

  async #append(rows: readonly AuditRow[]): Promise<void> {
    const { table, clock, log } = this.#options;
    if (!table) return;
    using limit = deadline(clock, WRITE_MS, undefined, () => transient('the audit table did not answer in time'));
    try {
      await unlessAborted(table.append(rows, limit.signal), limit.signal);
    } catch (error) {
      this.#toLog(rows, messageOf(error));
      return;
    }
    this.#rows.inc({ kept: 'table' }, rows.length);
    for (const row of rows) log.info(fieldsOf(row), 'audit');
  }

  #toLog(rows: readonly AuditRow[], reason: string): void {
    const { log } = this.#options;
    this.#rows.inc({ kept: 'log' }, rows.length);
    for (const row of rows) log.warn({ ...fieldsOf(row), notInTable: reason }, 'audit');
  }
}

/** The row's `actor` is logged as `who`, because the key `actor` names the part of the program. */
const fieldsOf = ({ at, actor, ...row }: AuditRow): object => ({ who: actor, ...row, at: new Date(at).toISOString() });

const MINUTE_MS = 60_000;
/** Most kinds that are counted at a time. Beyond that, the oldest count is reported early. */
const MAX_KINDS = 10_000;

interface Counted {
  readonly untilMs: number;
  /** Number of refusals after the first. */
  count: number;
  latest: AuditRow;
}

/**
 * Counts refusals, because anybody can cause as many as they like. The first refusal of a kind is reported at once. Further
 * ones within a minute are counted, and reported as one row with their number when the minute is over. Refusals are of the same
 * kind if they have the same network (peer-address.ts), caller, route and status. For a known caller, the record must be the
 * same as well. Anonymous callers may try any record, so for them the record is ignored.
 */
export class RefusalCounts {
  readonly #clock: Clock;
  readonly #tell: (row: AuditRow) => void;
  /** Ordered by the end of their minute. */
  readonly #counted = new Map<string, Counted>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, tell: (row: AuditRow) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  add(row: AuditRow): void {
    const kind = kindOf(row);
    const known = this.#counted.get(kind);
    if (known) {
      known.count++;
      known.latest = row;
      return;
    }
    const [oldest] = this.#counted.keys();
    if (this.#counted.size >= MAX_KINDS && oldest !== undefined) this.#end(oldest);
    this.#counted.set(kind, { untilMs: this.#clock.now() + MINUTE_MS, count: 0, latest: row });
    this.#tell(row);
    this.#watch();
  }

  get size(): number {
    return this.#counted.size;
  }

  /** Reports all counts at once. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const kind of this.#counted.keys()) this.#end(kind);
  }

  #watch(): void {
    const [oldest] = this.#counted.values();
    if (this.#cancel || !oldest) return;
    this.#cancel = this.#clock.after(Math.max(0, oldest.untilMs - this.#clock.now()), () => {
      this.#cancel = undefined;
      for (const [kind, { untilMs }] of this.#counted) {
        if (untilMs > this.#clock.now()) break;
        this.#end(kind);
      }
      this.#watch();
    });
  }

  #end(kind: string): void {
    const counted = this.#counted.get(kind);
    this.#counted.delete(kind);
    if (!counted || counted.count === 0) return;
    const { latest, count } = counted;
    this.#tell({ ...latest, count, address: count === 1 ? latest.address : peerOf(latest.address) });
  }
}

function kindOf({ address, actor, service, method, route, status, records, dataset }: AuditRow): string {
  const about = actor.kind === 'anonymous' ? [] : [dataset, records];
  return JSON.stringify([peerOf(address), actor.kind, actor.id, service, method, route, status, about]);
}
