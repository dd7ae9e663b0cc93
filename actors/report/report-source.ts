// The queue of report jobs as the source of a lane. Claims are fair between tenants (engine/runtime/fair-share.ts).

import type { LaneSizes } from '../../engine/jobs/lane-metrics.ts';
import type { Completion, LaneSource } from '../../engine/jobs/lane-options.ts';
import type { Tenant } from '../../engine/model/ids.ts';
import type { ReportClaim, ReportOutcome, ReportQueue } from '../../engine/ports/report-jobs.ts';
import { fairShare } from '../../engine/runtime/fair-share.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export interface ReportSourceOptions {
  readonly queue: Pick<ReportQueue, 'completeAndFetch' | 'watch'>;
  readonly clock: Clock;
  /** The lane that claims. */
  readonly claimant: () => { readonly sizes: LaneSizes; held(): readonly ReportClaim[] };
}

export class ReportSource implements LaneSource<ReportClaim, ReportOutcome> {
  readonly #options: ReportSourceOptions;
  #wake: () => void = () => undefined;
  #heldBack = false;

  constructor(options: ReportSourceOptions) {
    this.#options = options;
  }

  async completeAndFetch(
    done: readonly Completion<ReportClaim, ReportOutcome>[],
    room: number,
    signal: AbortSignal,
  ): Promise<readonly ReportClaim[]> {
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
    // The lane had asked for more.
    if (limit < room && claimed.length >= limit) this.#wake();
    return claimed;
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return this.#options.queue.watch(wake);
  }

  heldBack(): boolean {
    return this.#heldBack;
  }
}
