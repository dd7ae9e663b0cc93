// Daemons that take orders and run as long as they are told to.

import type {
  OrderAnswer,
  PrunerControl,
  PrunerReport,
  ReconcilerControl,
  ReconcilerReport,
  ReconcilerRunKind,
} from '../../engine/ports/process-control.ts';

/** What both have in common: a run that begins with an order and ends once it was looked at so often. */
class FakeRuns<Report> {
  /** What the next order is answered. */
  answer: OrderAnswer = 'started';
  /** What the next run has found when it ends. */
  report: Report;
  lastReport: Report | undefined;
  /** How often the next run is seen under way before it has ended. */
  looks = 0;
  #running: Report | undefined;
  #looksLeft = 0;

  constructor(report: Report) {
    this.report = report;
  }

  get current(): Report | undefined {
    if (this.#running !== undefined && this.#looksLeft-- <= 0) {
      this.lastReport = this.#running;
      this.#running = undefined;
    }
    return this.#running;
  }

  /** The process was started anew. */
  forget(): void {
    this.#running = undefined;
    this.lastReport = undefined;
  }

  protected begin(): OrderAnswer {
    if (this.answer === 'started') {
      this.#running = this.report;
      this.#looksLeft = this.looks;
    }
    return this.answer;
  }
}

export class FakeReconcilerControl extends FakeRuns<ReconcilerReport> implements ReconcilerControl {
  readonly orders: { readonly kind: ReconcilerRunKind; readonly allowDeletes: boolean }[] = [];

  async order(
    kind: ReconcilerRunKind,
    { allowDeletes }: { readonly allowDeletes: boolean },
    signal: AbortSignal,
  ): Promise<OrderAnswer> {
    signal.throwIfAborted();
    this.orders.push({ kind, allowDeletes });
    return this.begin();
  }
}

export class FakePrunerControl extends FakeRuns<PrunerReport> implements PrunerControl {
  readonly orders: { readonly minAgeMs?: number }[] = [];

  async order(options: { readonly minAgeMs?: number }, signal: AbortSignal): Promise<OrderAnswer> {
    signal.throwIfAborted();
    this.orders.push(options);
    return this.begin();
  }
}
