// Renews the leases of claimed jobs, and aborts a job whose lease is lost: taken over, or not renewed within the deadline. The job's writes
// would be rejected anyway; aborting it early saves the work.

import type { LaneName } from '../../engine/model/event.ts';
import type { ClaimedJob, Jobs, Leases } from '../../engine/ports/jobs.ts';
import type { Child } from '../../engine/runtime/actor.ts';
import { aborted, messageOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';
import { Notifier, unlessAborted } from '../../engine/runtime/wait.ts';

/** What lease renewal needs of a lane. */
export interface LeaseHolder {
  /** Claimed jobs whose outcome is not written yet. */
  held(): readonly ClaimedJob[];
  abortJob(id: number, reason: Error): boolean;
}

export interface LeaseTimes {
  /** Interval between renewals of all leases. */
  readonly renewMs: number;
  /** A job is aborted after this long without a renewal. Less than the lease's expiry on the server. */
  readonly giveUpMs: number;
}

interface HeldJob {
  readonly job: ClaimedJob;
  readonly holder: LeaseHolder;
}

export const LEASE_TIMES: LeaseTimes = { renewMs: 10_000, giveUpMs: 25_000 };

export class LeaseRenewer {
  readonly #leases: Leases;
  readonly #holders: readonly LeaseHolder[];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #times: LeaseTimes;
  readonly #notifier = new Notifier();
  /** When each lease was last renewed or, if never, the earliest possible time of its claim. Key: `name token`. */
  #renewedAt = new Map<string, number>();
  /** When the last round (or the renewer) started. A lease not seen in that round was claimed after it started. */
  #roundAt = Number.POSITIVE_INFINITY;

  constructor(
    leases: Leases,
    holders: readonly LeaseHolder[],
    clock: Clock,
    log: Logger,
    times: LeaseTimes = LEASE_TIMES,
  ) {
    this.#leases = leases;
    this.#holders = holders;
    this.#clock = clock;
    this.#log = log;
    this.#times = times;
  }

  /** Renews until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    let waitMs = this.#times.renewMs;
    this.#roundAt = this.#clock.now();
    const wake = (): void => this.#notifier.notify();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      await this.#notifier.wait(this.#clock, waitMs);
      if (signal.aborted) return;
      const renewed = await this.renewAll(signal);
      // After a failure, retry sooner, and check whether a lease has become too old by then.
      waitMs = renewed ? this.#times.renewMs : this.#times.renewMs / 4;
    }
  }

  /** Renews all leases now. Call it after a pause in which other processes may have considered this one dead. */
  renewSoon(): void {
    this.#notifier.notify();
  }

  /** False when the leases could not be renewed. */
  async renewAll(signal: AbortSignal): Promise<boolean> {
    const now = this.#clock.now();
    const held = this.#held();
    // A lease seen for the first time was claimed since the last round, perhaps at its start.
    const seenFirst = Math.min(now - this.#times.renewMs, this.#roundAt);
    this.#roundAt = now;
    this.#renewedAt = new Map(held.map(({ job }) => [keyOf(job), this.#renewedAt.get(keyOf(job)) ?? seenFirst]));
    // Before any request: after the process was suspended, it must not continue jobs that another process may hold.
    this.#stopOld(held);
    if (held.length === 0) return true;
    using limit = deadline(this.#clock, this.#times.renewMs / 2, signal, () =>
      transient('leases: no response within the deadline'),
    );
    try {
      const leases = held.map(({ job }) => job.lease);
      const gone = await unlessAborted(this.#leases.renew(leases, limit.signal), limit.signal);
      const goneTokens = new Set(gone.map((lease) => `${lease.name} ${lease.token}`));
      for (const { job, holder } of held) {
        if (goneTokens.has(keyOf(job))) this.#stop(job, holder, 'taken over');
        else this.#renewedAt.set(keyOf(job), now);
      }
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      this.#log.warn({ err: messageOf(error), leases: held.length }, 'leases could not be renewed');
      return false;
    } finally {
      // The round may have taken long because the process was suspended, and jobs may have been claimed since it started.
      if (!signal.aborted) this.#stopOld(this.#held());
    }
  }

  #held(): readonly HeldJob[] {
    return this.#holders.flatMap((holder) => holder.held().map((job) => ({ job, holder })));
  }

  #stopOld(held: readonly HeldJob[]): void {
    const oldest = this.#clock.now() - this.#times.giveUpMs;
    for (const { job, holder } of held) {
      if ((this.#renewedAt.get(keyOf(job)) ?? this.#roundAt) >= oldest) continue;
      this.#stop(job, holder, 'not renewed within the deadline');
      // Abort it only once.
      this.#renewedAt.set(keyOf(job), Number.POSITIVE_INFINITY);
    }
  }

  #stop(job: ClaimedJob, holder: LeaseHolder, how: string): void {
    // Its outcome may have been written in the meantime, which releases the lease.
    if (!holder.held().some((other) => keyOf(other) === keyOf(job))) return;
    this.#log.warn({ lane: job.lane, dataset: job.dataset, event: job.eventId, how }, 'lease of a running job lost');
    holder.abortJob(job.id, aborted(`lease of ${job.lease.name} lost: ${how}`));
  }
}

const keyOf = (job: ClaimedJob): string => `${job.lease.name} ${job.lease.token}`;

// Preempts work that is no longer needed. While a dataset waits to be deleted or superseded, its running import, install or
// update of metadata goes back to the queue, behind the soft delete. When it is claimed again, it finds nothing to do. An
// upload is not preempted: it calls no plugin, is short, and an undelete needs its result.

interface PreemptionOptions extends TimerParts {
  readonly jobs: Pick<Jobs, 'overtaken'>;
  /** The lanes of this process. */
  readonly holders: readonly LeaseHolder[];
}

const PREEMPTION_PERIOD_MS = 10_000;
const PREEMPTED_LANES: readonly LaneName[] = ['import', 'updateMeta', 'install'];

export function preemption({ jobs, holders, ...parts }: PreemptionOptions): Child {
  const stopOvertaken = async (signal: AbortSignal): Promise<number> => {
    const held = holders.flatMap((holder) => holder.held().map((job) => ({ job, holder })));
    const running = held.filter(({ job }) => PREEMPTED_LANES.includes(job.lane));
    if (running.length === 0) return 0;
    const datasets = running.map(({ job }) => job.dataset);
    const overtaken = new Set(await jobs.overtaken(datasets, signal));
    let stopped = 0;
    for (const { job, holder } of running) {
      if (!overtaken.has(job.dataset)) continue;
      if (!holder.abortJob(job.id, aborted(`dataset ${job.dataset} is waiting to be deleted`))) continue;
      stopped++;
      parts.log.info({ lane: job.lane, dataset: job.dataset, event: job.eventId }, 'job preempted by a soft delete');
    }
    return stopped;
  };
  return new Timer<number>({
    ...parts,
    name: 'preemption',
    periodMs: PREEMPTION_PERIOD_MS,
    runOnce: stopOvertaken,
  });
}
