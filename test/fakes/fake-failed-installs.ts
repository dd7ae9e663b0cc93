// Clearing of failed installs that takes orders and says what it is told to.

import type { ClearOrder, ClearReport, ClearRun, FailedInstalls } from '../../engine/ports/process-control.ts';

export class FakeFailedInstalls implements FailedInstalls {
  readonly orders: ClearOrder[] = [];
  current: ClearRun | undefined;
  lastReport: ClearReport | undefined;
  /** What the next order fails with. */
  failure: Error | undefined;

  clear(order: ClearOrder): 'started' | 'running' {
    if (this.failure) throw this.failure;
    if (this.current) return 'running';
    this.orders.push(order);
    return 'started';
  }
}
