// A queue of jobs as the source of a lane. Claims are fair between tenants (engine/runtime/fair-share.ts).

import type { Completion, LaneSizes, LaneSource } from '../../engine/jobs/lane-options.ts';
import type { Tenant } from '../../engine/model/ids.ts';
import { fairShare } from '../../engine/runtime/fair-share.ts';
import type { Clock } from '../../engine/runtime/time.ts';

interface TenantQueue<Job, Outcome> {
  completeAndFetch(
    done: readonly { readonly claim: Job; readonly outcome: Outcome }[],
    /** `limit` 0 = complete only; of withheld tenants nothing is claimed. */
    request: { readonly limit: number; readonly withheld: readonly Tenant[] },
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly Job[]>;
  watch(wake: () => void): () => void;
}

interface TenantSourceOptions<Job, Outcome> {
  readonly queue: TenantQueue<Job, Outcome>;
  readonly clock: Clock;
  /** The lane that claims. */
  readonly claimant: () => { readonly sizes: LaneSizes; held(): readonly Job[] };
}

export class TenantSource<Job extends { readonly tenant: Tenant }, Outcome> implements LaneSource<Job, Outcome> {
  readonly #options: TenantSourceOptions<Job, Outcome>;
  #wake: () => void = () => undefined;
  #heldBack = false;

  constructor(options: TenantSourceOptions<Job, Outcome>) {
    this.#options = options;
  }

  async completeAndFetch(
    done: readonly Completion<Job, Outcome>[],
    room: number,
    signal: AbortSignal,
  ): Promise<readonly Job[]> {
    const { queue, clock, claimant } = this.#options;
    const { workers } = claimant().sizes;
    const ended = new Set(done.map(({ job }) => job));
    const held = claimant()
      .held()
      .flatMap((job) => (ended.has(job) ? [] : [job.tenant]));
    const { limit, withheld } = fairShare<Tenant>({ workers, room, held });
    // Set before the call: a job that ends during the call makes the next claim due.
    if (room > 0) this.#heldBack = withheld.length > 0;
    const completions = done.map(({ job, outcome }) => ({ claim: job, outcome }));
    const claimed = await queue.completeAndFetch(completions, { limit, withheld }, new Date(clock.now()), signal);
    if (limit > 0 && claimed.length >= limit) this.#wake();
    return claimed;
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return this.#options.queue.watch(wake);
  }

  heldBack(): boolean {
    return this.#heldBack;
  }

  skips(): boolean {
    return this.#heldBack;
  }
}
