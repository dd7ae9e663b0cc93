// Owns resources: opened in order, closed in reverse order, each within a time limit. If closing one fails, the others are
// still closed. Closing twice waits for the same result. A resource that is added after closing began is closed at once.

import { aborted, messageOf } from './failure.ts';
import type { Logger } from './log.ts';
import type { Clock } from './time.ts';
import { settledWithin } from './wait.ts';

interface ScopeOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Time limit for closing each resource; default 5 s. */
  readonly closeMs?: number;
}

interface Owned {
  readonly name: string;
  readonly close: () => unknown;
}

export class Scope implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #closeMs: number;
  readonly #owned: Owned[] = [];
  #end: Promise<void> | undefined;

  constructor(options: ScopeOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#closeMs = options.closeMs ?? 5000;
  }

  /** Waits for the resource and owns it. When opening fails, the caller's `await using` closes the earlier ones. */
  async open<T extends AsyncDisposable | Disposable>(name: string, opening: Promise<T>): Promise<T> {
    return this.use(name, await opening);
  }

  /** Owns a resource that is already open. */
  use<T extends AsyncDisposable | Disposable>(name: string, resource: T): T {
    this.defer(name, () => {
      return Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose]();
    });
    return resource;
  }

  /** Owns anything that `close` can close. */
  defer(name: string, close: () => unknown): void {
    const owned = { name, close };
    if (this.#end === undefined) {
      this.#owned.push(owned);
      return;
    }
    void this.#close(owned);
    throw aborted(`'${name}' was opened after its scope was closed`);
  }

  /** Never rejects: a failure to close is logged. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#end ??= this.#closeAll();
    return this.#end;
  }

  async #closeAll(): Promise<void> {
    for (let owned = this.#owned.pop(); owned; owned = this.#owned.pop()) await this.#close(owned);
  }

  async #close(owned: Owned): Promise<void> {
    const closing = (async () => owned.close())().catch((error: unknown) => {
      this.#log.warn({ resource: owned.name, err: messageOf(error) }, 'a resource failed to close');
    });
    if (await settledWithin(this.#clock, this.#closeMs, closing)) return;
    this.#log.warn({ resource: owned.name, closeMs: this.#closeMs }, 'a resource did not close in time');
  }
}
