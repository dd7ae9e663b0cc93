// A child that runs a consumer for as long as it lives: the event router, the event intake, the lease keeper. Its signal
// aborts when it must take nothing new; a batch in progress is then not acknowledged and is delivered again. A consumer that
// other children need until they have ended stops at `stop` instead of `quiet`.

import { Actor, type ActorOptions } from '../../engine/runtime/actor.ts';

export interface PumpOptions extends ActorOptions {
  /** Runs until the signal aborts, then resolves. */
  readonly consume: (signal: AbortSignal) => Promise<void>;
  /** When the signal aborts. Default: quiet. */
  readonly until?: 'quiet' | 'stop';
}

export class Pump extends Actor {
  readonly #consume: PumpOptions['consume'];
  readonly #until: 'quiet' | 'stop';

  constructor(options: PumpOptions) {
    super(options);
    this.#consume = options.consume;
    this.#until = options.until ?? 'quiet';
  }

  protected override async open(): Promise<void> {}

  protected override work(): Promise<void> {
    return this.#consume(this.#until === 'quiet' ? this.draining : this.stopping);
  }
}
