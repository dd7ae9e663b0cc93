// The job table as the source of one lane. Claims are fair between owners (engine/runtime/fair-share.ts) and between plugins
// (claim-plan.ts), and skip the jobs of plugins that do not answer (plugin-breakers.ts).

import type { LaneSizes } from '../../engine/jobs/lane-metrics.ts';
import type { Completion, LaneSource } from '../../engine/jobs/lane-options.ts';
import type { DataTypes } from '../../engine/model/data-types.ts';
import type { LaneName } from '../../engine/model/event.ts';
import type { ClaimedJob, JobOutcome, Jobs } from '../../engine/ports/jobs.ts';
import { fairShare } from '../../engine/runtime/fair-share.ts';
import { planClaim } from './claim-plan.ts';

/** Data types whose plugin does not answer at present. */
export interface BlockedTypes {
  blockedTypes(): readonly string[];
  /** Calls `wake` when there may be fewer blocked types. Returns a function that stops watching. */
  watch(wake: () => void): () => void;
}

export interface JobSourceOptions {
  readonly lane: LaneName;
  readonly jobs: Jobs;
  readonly types: DataTypes;
  /** Undefined for a lane that calls no plugin. */
  readonly breakers: BlockedTypes | undefined;
  /** The plugins that do not answer, also for a lane that calls none. Default: all answer. */
  readonly away?: Pick<BlockedTypes, 'blockedTypes'>;
  /** The lane that claims. */
  readonly claimant: () => { readonly sizes: LaneSizes; held(): readonly ClaimedJob[] };
}

export class JobSource implements LaneSource<ClaimedJob, JobOutcome> {
  readonly #options: JobSourceOptions;
  #wake: () => void = () => undefined;
  #heldBack = false;

  constructor(options: JobSourceOptions) {
    this.#options = options;
  }

  async completeAndFetch(
    done: readonly Completion<ClaimedJob, JobOutcome>[],
    room: number,
    signal: AbortSignal,
  ): Promise<readonly ClaimedJob[]> {
    const { lane, jobs, types, breakers, away, claimant } = this.#options;
    const { sizes } = claimant();
    const ended = new Set(done.map(({ job }) => job));
    const held = claimant()
      .held()
      .filter((job) => !ended.has(job));
    const share = fairShare({
      workers: sizes.workers,
      room,
      held: held.map(({ owner }) => owner),
      left: done.map(({ job }) => job.owner),
    });
    const plan = planClaim(
      {
        workers: sizes.workers,
        idle: Math.max(0, sizes.workers - sizes.inFlight),
        room,
        held: held.map(({ type }) => type),
      },
      types,
    );
    // Set before the call, so that a job that ends during the call makes the next claim due.
    if (room > 0) this.#heldBack = plan.withheldTypes.length + share.withheld.length > 0;
    const { crowdedTypes } = plan;
    const limit = Math.min(plan.limit, share.limit);
    const blockedTypes = [...(breakers?.blockedTypes() ?? []), ...plan.withheldTypes];
    const awayTypes = away ? { awayTypes: away.blockedTypes() } : {};
    const withheld = share.withheld.length > 0 ? { withheldOwners: share.withheld } : {};
    const crowded = share.crowded.length > 0 ? { crowdedOwners: share.crowded } : {};
    const claim = { lane, limit, crowdedTypes, blockedTypes, ...awayTypes, ...withheld, ...crowded };
    const claimed = await jobs.completeAndFetch(done, claim, signal);
    // The lane has room for more, and this claim may have changed which plugins are crowded.
    if (limit < room && claimed.length >= limit) this.#wake();
    return claimed;
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    const { jobs, lane, breakers } = this.#options;
    const stops = [jobs.watch(lane, wake), breakers?.watch(wake)];
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  heldBack(): boolean {
    return this.#heldBack;
  }
}
