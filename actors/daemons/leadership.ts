// Leader election for daemons: the process that holds the lease `daemon:{name}` runs the daemon
// (docs/design/decisions.md#from-a-change-to-a-job).
//   held       renewed every 10 s
//   lost       taken over by another process, or not renewed for 25 s: after 30 s another process may hold it
//   released   free for others at once; so is the lease of a crashed process
// Processes that do not lead ask again every few seconds.

import type { Lease, Leases } from '../../engine/ports/jobs.ts';
import { aborted, kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import { JoinedSignal } from '../../engine/runtime/joined-signal.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { LEAD_RETRY_MS, type Leadership, leaderGauge } from '../../engine/runtime/timer.ts';
import { Notifier, unlessAborted } from '../../engine/runtime/wait.ts';
import { LEASE_TIMES, type LeaseTimes } from '../jobs/lease-renewer.ts';

/** A lead that is renewed for its holder until it is lost or disposed of. */
interface HeldLeadership extends Leadership {
  readonly lost: AbortSignal;
}

/** The leads of one process. */
export class DaemonLeaders {
  readonly #leases: Leases;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #times: LeaseTimes;
  readonly #held = new Set<RenewedLeadership>();

  constructor(leases: Leases, clock: Clock, log: Logger, times: LeaseTimes = LEASE_TIMES) {
    this.#leases = leases;
    this.#clock = clock;
    this.#log = log;
    this.#times = times;
  }

  /** The lead, or undefined while another process holds it. Fails with `transient` when the database does not answer. */
  async take(daemon: string, signal: AbortSignal): Promise<HeldLeadership | undefined> {
    const name = `daemon:${daemon}`;
    const begun = this.#clock.now();
    const late = (): Error => transient(`lease ${name}: no response within the deadline`);
    using limit = deadline(this.#clock, this.#times.renewMs / 2, signal, late);
    const lease = await unlessAborted(this.#leases.acquire(name, limit.signal), limit.signal);
    if (!lease) return undefined;
    const log = this.#log.child({ actor: daemon });
    const lead = new RenewedLeadership(lease, begun, this.#leases, this.#clock, log, this.#times, () =>
      this.#held.delete(lead),
    );
    this.#held.add(lead);
    log.info('this process is the leader now');
    return lead;
  }

  /** Renews every lead now. Call it after a pause in which other processes may have considered this one dead. */
  renewSoon(): void {
    for (const lead of this.#held) lead.renewSoon();
  }

  /**
   * For a daemon that consumes instead of running periodically. Waits for the lead, consumes while this process holds it, and
   * waits again when it is lost.
   */
  whileLeading(
    daemon: string,
    metrics: Metrics,
    consume: (signal: AbortSignal) => Promise<void>,
  ): (signal: AbortSignal) => Promise<void> {
    const leader = leaderGauge(metrics);
    const tell = (leads: boolean): void => leader.set({ daemon }, leads ? 1 : 0);
    return async (signal) => {
      tell(false);
      while (!signal.aborted) {
        const lead = await this.#ask(daemon, signal);
        if (!lead) {
          await this.#clock.sleep(LEAD_RETRY_MS, signal).catch(() => undefined);
          continue;
        }
        await using held = lead;
        using cleanup = new DisposableStack();
        cleanup.defer(() => tell(false));
        tell(true);
        held.lost.addEventListener('abort', () => tell(false), { once: true });
        using until = new JoinedSignal(signal, held.lost);
        try {
          await consume(until.signal);
        } catch (error) {
          if (!held.lost.aborted) throw error;
        }
      }
    };
  }

  async #ask(daemon: string, signal: AbortSignal): Promise<HeldLeadership | undefined> {
    try {
      return await this.take(daemon, signal);
    } catch (error) {
      if (!signal.aborted)
        this.#log.warn(
          { actor: daemon, kind: kindOf(error), err: messageOf(error) },
          'leadership could not be checked; retrying',
        );
      return undefined;
    }
  }
}

/** Deadline for releasing the lease. */
const RELEASE_MS = 5_000;

class RenewedLeadership implements HeldLeadership {
  readonly #lease: Lease;
  readonly #leases: Leases;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #times: LeaseTimes;
  readonly #notifier = new Notifier();
  readonly #lost = new AbortController();
  readonly #ending = new AbortController();
  readonly #keeping: Promise<void>;
  readonly #onEnd: () => void;
  #renewedAt: number;
  #end: Promise<void> | undefined;

  constructor(
    lease: Lease,
    takenAt: number,
    leases: Leases,
    clock: Clock,
    log: Logger,
    times: LeaseTimes,
    onEnd: () => void,
  ) {
    this.#lease = lease;
    this.#renewedAt = takenAt;
    this.#leases = leases;
    this.#clock = clock;
    this.#log = log;
    this.#times = times;
    this.#onEnd = onEnd;
    this.#notifier.notifyOn(this.#ending.signal);
    this.#keeping = this.#keep();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  renewSoon(): void {
    this.#notifier.notify();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#end ??= this.#release();
    return this.#end;
  }

  get #leftMs(): number {
    return this.#renewedAt + this.#times.giveUpMs - this.#clock.now();
  }

  /** Renews until leadership is lost or released. Never rejects. */
  async #keep(): Promise<void> {
    const { renewMs } = this.#times;
    for (let waitMs = renewMs; ; ) {
      await this.#notifier.wait(this.#clock, Math.min(waitMs, this.#leftMs));
      if (this.#ending.signal.aborted) return;
      if (this.#leftMs <= 0) this.#lose('not renewed within the deadline');
      // After a failed renewal time is running out, so we retry sooner.
      else waitMs = (await this.#renew()) ? renewMs : renewMs / 4;
      if (this.#lost.signal.aborted) return;
    }
  }

  /** False when the renewal failed. */
  async #renew(): Promise<boolean> {
    const begun = this.#clock.now();
    const late = (): Error => transient('no response within the deadline');
    using limit = deadline(this.#clock, Math.min(this.#times.renewMs / 2, this.#leftMs), this.#ending.signal, late);
    try {
      const gone = await unlessAborted(this.#leases.renew([this.#lease], limit.signal), limit.signal);
      if (gone.length > 0) this.#lose('taken over');
      else this.#renewedAt = begun;
      return true;
    } catch (error) {
      if (!this.#ending.signal.aborted)
        this.#log.warn({ err: messageOf(error) }, 'the leader lease could not be renewed');
      return false;
    }
  }

  #lose(how: string): void {
    this.#log.warn({ how }, 'leadership lost');
    this.#lost.abort(aborted(`leadership of ${this.#lease.name} lost: ${how}`));
  }

  async #release(): Promise<void> {
    this.#onEnd();
    this.#ending.abort();
    await this.#keeping;
    using limit = deadline(this.#clock, RELEASE_MS, undefined, () => transient('no response within the deadline'));
    try {
      await unlessAborted(this.#leases.release(this.#lease, limit.signal), limit.signal);
    } catch (error) {
      this.#log.warn({ err: messageOf(error) }, 'the leader lease could not be released; it will expire');
    }
  }
}
