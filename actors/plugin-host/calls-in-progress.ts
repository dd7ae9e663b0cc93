// The calls of lanes to the plugin host in this process. A lane that gives up a call does not wait for its script, which may take
// seconds to end after it was told to. This child does: it stops after the lanes, and before the worker threads.

import { Actor, type ActorOptions, type ChildSpec } from '../../engine/runtime/actor.ts';
import { settledUnless } from '../../engine/runtime/wait.ts';

const NAME = 'pluginCalls';

export class CallsInProgress {
  readonly #calls = new Set<Promise<unknown>>();

  get size(): number {
    return this.#calls.size;
  }

  /** Returns the call. Its failure is left to the caller. */
  add<Result>(call: Promise<Result>): Promise<Result> {
    this.#calls.add(call);
    const forget = (): void => void this.#calls.delete(call);
    call.then(forget, forget);
    return call;
  }

  spec(parts: Omit<ActorOptions, 'name'>): ChildSpec {
    return { name: NAME, create: () => new Waiting({ name: NAME, ...parts }, this.#calls) };
  }
}

class Waiting extends Actor {
  readonly #calls: ReadonlySet<Promise<unknown>>;

  constructor(options: ActorOptions, calls: ReadonlySet<Promise<unknown>>) {
    super(options);
    this.#calls = calls;
  }

  protected override async open(): Promise<void> {}

  protected override async work(): Promise<void> {
    await settledUnless(new Promise(() => {}), this.stopping);
    // The lanes have stopped, so no call is added.
    await settledUnless(Promise.allSettled(this.#calls), this.ended);
  }
}
