// Refusals, of which anybody can have as many as they like. The first of its kind is told at once; those that are alike within
// a minute after it are counted, and told as one with their number when the minute is over. Those are alike that come from one
// network (peer-address.ts), of one caller, at one route, with one status. Of somebody who is known they are alike only when
// they are about the same record; of strangers, who may ask for any, the first record stands for all.

import type { AuditRow } from '../../../engine/model/audit.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { peerOf } from '../server/peer-address.ts';

const MINUTE_MS = 60_000;
/** Kinds that are counted at a time; the oldest is told early to make room. */
const MAX_KINDS = 10_000;

interface Counted {
  readonly untilMs: number;
  /** Of those after the first. */
  count: number;
  latest: AuditRow;
}

export class RefusalCounts {
  readonly #clock: Clock;
  readonly #tell: (row: AuditRow) => void;
  /** In the order in which their minutes end. */
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

  /** Tells everything that was counted. */
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
