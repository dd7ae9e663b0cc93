// The job table as the source of one lane. Claims are fair between owners (engine/runtime/fair-share.ts) and between plugins
// (`planClaim`), and skip the jobs of plugins that do not answer (plugin-breakers.ts).

import type { Completion, LaneSizes, LaneSource } from '../../engine/jobs/lane-options.ts';
import { type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import type { LaneName } from '../../engine/model/event.ts';
import type { ClaimedJob, Jobs, RecordedOutcome } from '../../engine/ports/jobs.ts';
import { fairShare } from '../../engine/runtime/fair-share.ts';
import { type Place, Places, type Receiver, type Receivers } from './hand-over.ts';

/** Data types whose plugin does not answer at present. */
export interface BlockedTypes {
  blockedTypes(): readonly string[];
  /** Calls `wake` when there may be fewer blocked types. Returns a function that stops watching. */
  watch(wake: () => void): () => void;
}

interface JobSourceOptions {
  readonly lane: LaneName;
  readonly jobs: Jobs;
  readonly types: DataTypes;
  /** Undefined for a lane that calls no plugin. */
  readonly breakers: BlockedTypes | undefined;
  /** The plugins that do not answer, also for a lane that calls none. Default: all answer. */
  readonly away?: Pick<BlockedTypes, 'blockedTypes'>;
  /** To which the jobs that follow are handed over; default none. */
  readonly receivers?: Receivers;
  /** The lane that claims. */
  readonly claimant: () => Claimant;
}

export interface Claimant {
  readonly sizes: LaneSizes;
  held(): readonly ClaimedJob[];
  reserve(): boolean;
  fill(job: ClaimedJob | undefined): boolean;
}

export class JobSource implements LaneSource<ClaimedJob, RecordedOutcome>, Receiver {
  readonly #options: JobSourceOptions;
  /** Jobs for whose successors places are reserved here. */
  readonly #reserved = new Set<ClaimedJob>();
  #heldBack = false;
  #waitsForWorker = false;
  #skips = false;

  constructor(options: JobSourceOptions) {
    this.#options = options;
  }

  async completeAndFetch(
    done: readonly Completion<ClaimedJob, RecordedOutcome>[],
    room: number,
    signal: AbortSignal,
  ): Promise<readonly ClaimedJob[]> {
    const { lane, jobs, away, receivers } = this.#options;
    const { share, plan, blockedTypes } = this.#plan(done, room);
    // Set before the call, so that a job that ends during the call makes the next claim due.
    if (room > 0) this.#heldBack = plan.withheldTypes.length + share.withheld.length > 0;
    // One plugin has its share, so that nothing of it is claimed while no worker is idle. What others wait for is a worker, too:
    // with it they are claimed before its jobs.
    if (room > 0) this.#waitsForWorker = plan.withheldTypes.length + plan.crowdedTypes.length > 0;
    const { crowdedTypes } = plan;
    // The job table gives no owner more than its share, but counts jobs of crowded types by themselves. A claim that may have
    // these is so small that one owner could get all of it.
    const limit = crowdedTypes.length > 0 ? Math.min(plan.limit, share.limit) : plan.limit;
    if (room > 0) this.#skips = blockedTypes.length + share.withheld.length > 0;
    const unreachableTypes = away ? { unreachableTypes: away.blockedTypes() } : {};
    const withheld = share.withheld.length > 0 ? { withheldOwners: share.withheld } : {};
    const crowded = share.crowded.length > 0 ? { crowdedOwners: share.crowded } : {};
    const owners = { ...withheld, ...crowded, ownerShare: share.each };
    const claim = { lane, limit, crowdedTypes, blockedTypes, ...unreachableTypes, ...owners };
    const places = new Places(done, receivers);
    let fetched: readonly ClaimedJob[] = [];
    try {
      fetched = await jobs.completeAndFetch(places.completions, claim, signal);
    } finally {
      fetched = places.handOver(lane, fetched);
    }
    return fetched;
  }

  reserve(like: ClaimedJob): Place | undefined {
    const { owner, type } = like;
    const { share, plan, blockedTypes } = this.#plan([], 1);
    if (type === undefined || blockedTypes.includes(type) || share.withheld.includes(owner)) return undefined;
    const lane = this.#options.claimant();
    if (!lane.reserve()) return undefined;
    this.#reserved.add(like);
    return {
      last: share.crowded.includes(owner) || plan.crowdedTypes.includes(type),
      fill: (job) => {
        this.#reserved.delete(like);
        return lane.fill(job);
      },
    };
  }

  /** Who may have more places, now that these jobs have ended. */
  #plan(done: readonly Completion<ClaimedJob, RecordedOutcome>[], room: number) {
    const { types, breakers, claimant } = this.#options;
    const { sizes } = claimant();
    const ended = new Set(done.map(({ job }) => job));
    const held = [...claimant().held(), ...this.#reserved].filter((job) => !ended.has(job));
    const share = fairShare({
      workers: sizes.workers,
      room,
      held: held.map(({ owner }) => owner),
      left: done.map(({ job }) => job.owner),
    });
    const plan = planClaim(
      {
        workers: sizes.workers,
        idle: Math.max(0, sizes.workers - sizes.inFlight - this.#reserved.size),
        room,
        held: held.map(({ type }) => type),
      },
      types,
    );
    return { share, plan, blockedTypes: [...(breakers?.blockedTypes() ?? []), ...plan.withheldTypes] };
  }

  watch(wake: () => void): () => void {
    const { jobs, lane, breakers } = this.#options;
    const stops = [jobs.watch(lane, wake), breakers?.watch(wake)];
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  heldBack(): boolean {
    return this.#heldBack;
  }

  waitsForWorker(): boolean {
    return this.#waitsForWorker;
  }

  skips(): boolean {
    return this.#skips;
  }
}

// Fairness between the plugins whose jobs share a lane (docs/design/decisions.md#from-a-change-to-a-job). A plugin that holds
// half of the workers, rounded up, is crowded:
//   a worker is idle   its jobs are claimed for idle workers only, and only when no other plugin's jobs wait
//   none is idle       its jobs stay in the table, because a job that waits in memory would take the place of others
// The size of a claim is limited so that it cannot raise another plugin above that half.

interface LaneLoad {
  readonly workers: number;
  /** Workers without a job. */
  readonly idle: number;
  /** How many more jobs the lane can hold, waiting or running. */
  readonly room: number;
  /** Data types of the jobs that the lane holds, waiting or running. */
  readonly held: readonly (string | undefined)[];
}

interface ClaimPlan {
  readonly limit: number;
  /** Claimed only when no other jobs wait. */
  readonly crowdedTypes: readonly string[];
  /** Not claimed until a job of the lane ends. */
  readonly withheldTypes: readonly string[];
}

export function planClaim({ workers, idle, room, held }: LaneLoad, types: DataTypes): ClaimPlan {
  const pluginOf = new Map(types.all().map((type) => [typeKey(type), type.plugin]));
  const plugins = new Map([...pluginOf.values()].map((plugin) => [plugin, 0]));
  const alike: ClaimPlan = { limit: room, crowdedTypes: [], withheldTypes: [] };
  if (room === 0 || plugins.size < 2) return alike;
  for (const type of held) {
    const plugin = type === undefined ? undefined : pluginOf.get(type);
    if (plugin !== undefined) plugins.set(plugin, (plugins.get(plugin) ?? 0) + 1);
  }
  const share = Math.ceil(workers / 2);
  const most = Math.max(0, ...[...plugins.values()].filter((count) => count < share));
  const limit = Math.min(room, share - most);
  const crowded = [...pluginOf].flatMap(([type, plugin]) => ((plugins.get(plugin) ?? 0) >= share ? [type] : []));
  if (crowded.length === 0) return { ...alike, limit };
  if (idle === 0) return { ...alike, limit, withheldTypes: crowded };
  return { ...alike, limit: Math.min(limit, idle), crowdedTypes: crowded };
}
