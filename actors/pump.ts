// A child that consumes something for as long as it lives: the event router, the event intake, the lease keeper.
// Its signal aborts when it is to take nothing new; a batch being handled then is not acknowledged and comes again.

import { Lifecycle, type LifecycleOptions } from '../engine/lifecycle.ts';

export interface PumpOptions extends LifecycleOptions {
  /** Runs until the signal aborts, then resolves. */
  readonly consume: (signal: AbortSignal) => Promise<void>;
}

export class Pump extends Lifecycle {
  readonly #consume: PumpOptions['consume'];

  constructor(options: PumpOptions) {
    super(options);
    this.#consume = options.consume;
  }

  protected override async open(): Promise<void> {}

  protected override run(): Promise<void> {
    return this.#consume(this.draining);
  }
}
