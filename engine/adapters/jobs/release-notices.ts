// When other processes are told that leases were released. PostgreSQL commits transactions that notify one after the other,
// whichever process they are of, so a lane that completes jobs many times a second does not tell of each: a few at once, then
// one notice for what was released within ReleasePace.longestMs.

import type { Clock } from '../../runtime/time.ts';
import { ReleasePace } from './release-pace.ts';

export class ReleaseNotices implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #tell: () => Promise<unknown>;
  readonly #pace = new ReleasePace();
  /** When the notice that is owed may be sent. */
  #dueAt: number | undefined;
  #cancel: (() => void) | undefined;

  /** `tell` notifies; when it fails, the polls of the others find what was released. */
  constructor(clock: Clock, tell: () => Promise<unknown>) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Before a statement that releases: whether it is to tell by itself. If not, call {@link owe} when it has ended. */
  now(): boolean {
    if (this.#dueAt !== undefined) return false;
    const now = this.#clock.now();
    const waitMs = this.#pace.take(now);
    if (waitMs > 0) this.#dueAt = now + waitMs;
    return waitMs <= 0;
  }

  /** Something was released, or may have been, that nobody was told of. */
  owe(): void {
    if (this.#cancel) return;
    const now = this.#clock.now();
    this.#dueAt ??= now + this.#pace.take(now);
    this.#cancel = this.#clock.after(Math.max(0, this.#dueAt - now), () => void this.#send());
  }

  /** Tells at once what is owed. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#cancel) return;
    this.#cancel();
    await this.#send();
  }

  async #send(): Promise<void> {
    this.#cancel = undefined;
    this.#dueAt = undefined;
    await this.#tell().catch(() => {});
  }
}
