// Keeps a running server from changing what is copied. Two steps, each of which ends by itself if this process dies:
//
//   quiet   the lanes that write to sites are paused, and their jobs have ended. Everything else goes on
//   held    the object store does not change either: requests that would change it wait
//
// The pauses are short, and renewed until they are ended.

import type { LANES, LaneName } from '../../../engine/model/event.ts';
import { BACKUP_REASON } from '../../../engine/ports/pauses.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { AdminClient } from '../client/admin-client.ts';
import { ApiError } from '../command.ts';

/** Those that write to control databases, run scripts of plugins on sites, or order either. */
const SITE_LANES = ['install', 'updateMeta', 'sharing', 'softDelete', 'hardDelete'] as const satisfies LaneName[];
const PAUSE_MS = 20_000;
const RENEW_MS = 5_000;
const LOOK_MS = 100;
const HOLD_SECONDS = 15;
const END_MS = 10_000;
/** Named when they do not end. */
const MOST_NAMED = 5;

type Client = Pick<AdminClient, 'pauses' | 'pause' | 'resume' | 'pausedLanes' | 'jobs' | 'holdStore' | 'releaseStore'>;

export class QuietServer implements AsyncDisposable {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #lanes: readonly LaneName[];
  #cancelRenewal: (() => void) | undefined;
  #renewing = Promise.resolve();
  #fault: { readonly error: unknown } | undefined;
  #held = false;
  #ended = false;

  private constructor(client: Client, lanes: readonly LaneName[], clock: Clock) {
    this.#client = client;
    this.#lanes = lanes;
    this.#clock = clock;
    this.#renewLater();
  }

  /** Pauses the lanes, and waits until their jobs have ended. Lanes that an operator has paused stay paused afterwards. */
  static async quiet(client: Client, timeoutMs: number, clock: Clock, signal: AbortSignal): Promise<QuietServer> {
    const before = await client.pauses(signal);
    const others = before
      .filter(({ kind, reason }) => kind === 'lane' && reason !== BACKUP_REASON)
      .map(({ name }) => name);
    const server = new QuietServer(
      client,
      SITE_LANES.filter((lane) => !others.includes(lane)),
      clock,
    );
    try {
      await server.#pause(signal);
      await server.#waitForJobs(timeoutMs, signal);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  async hold(signal: AbortSignal): Promise<void> {
    this.#held = true;
    try {
      await this.#client.holdStore(HOLD_SECONDS, signal);
    } catch (error) {
      // Another's hold is not ours to end. Whether a call without an answer holds is not known.
      if (error instanceof ApiError) this.#held = false;
      if (!(error instanceof ApiError) || error.status !== 503) throw error;
      throw transient('the object store cannot be held: another backup holds it, or its changes do not end', {
        cause: error,
      });
    }
  }

  /** Throws if the store was not held all the time. */
  async release(signal: AbortSignal): Promise<void> {
    const { held } = await this.#client.releaseStore(signal);
    this.#held = false;
    if (!held) throw transient(`copying the state of the object store took longer than ${HOLD_SECONDS} s`);
  }

  /** Ends the pauses. Throws if lanes may have worked meanwhile. */
  async end(signal: AbortSignal): Promise<void> {
    await this.#renewing;
    if (this.#fault) throw this.#fault.error;
    const paused = await this.#client.pausedLanes(signal);
    if (!SITE_LANES.every((lane) => paused.includes(lane))) throw transient('somebody has resumed a lane meanwhile');
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelRenewal?.();
    await this.#renewing;
    // Also after Ctrl-C. If the server does not answer, everything ends by itself.
    const signal = AbortSignal.timeout(END_MS);
    if (this.#held) await this.#client.releaseStore(signal).catch(() => undefined);
    for (const name of this.#lanes) await this.#client.resume({ kind: 'lane', name }, signal).catch(() => undefined);
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const until = new Date(this.#clock.now() + PAUSE_MS).toISOString();
    for (const name of this.#lanes)
      await this.#client.pause({ kind: 'lane', name }, { reason: BACKUP_REASON, until }, signal);
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#clock.after(RENEW_MS, () => {
      this.#renewing = this.#pause(AbortSignal.timeout(END_MS)).then(
        () => {
          if (!this.#ended) this.#renewLater();
        },
        (error: unknown) => {
          this.#fault = { error };
        },
      );
    });
  }

  /** Twice in a row no job: one that was being claimed when the pause began has begun by then. */
  async #waitForJobs(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const until = this.#clock.now() + timeoutMs;
    for (let quiet = 0; quiet < 2; ) {
      const paused = await this.#client.pausedLanes(signal);
      const { lanes } = await this.#client.jobs({ limit: 1 }, signal);
      const busy = lanes.filter(({ lane, running }) => isSiteLane(lane) && running > 0).map(({ lane }) => lane);
      const isQuiet = busy.length === 0 && SITE_LANES.every((lane) => paused.includes(lane));
      quiet = isQuiet ? quiet + 1 : 0;
      if (!isQuiet && this.#clock.now() >= until) throw await this.#stillBusy(busy, timeoutMs, signal);
      if (quiet < 2) await this.#clock.sleep(LOOK_MS, signal);
    }
  }

  async #stillBusy(busy: readonly LaneName[], timeoutMs: number, signal: AbortSignal): Promise<Error> {
    const { results } = await this.#client.jobs({ state: 'running', limit: 1_000 }, signal);
    const jobs = results.filter(({ lane }) => busy.includes(lane));
    const named = jobs.slice(0, MOST_NAMED).map(({ id, lane, datasetId }) => `${id} (${lane}, dataset ${datasetId})`);
    const more = jobs.length > MOST_NAMED ? ` and ${jobs.length - MOST_NAMED} more` : '';
    const what = named.length > 0 ? `these jobs still run: ${named.join(', ')}${more}` : 'the pauses are not in force';
    return transient(`no backup was made: after ${timeoutMs / 1_000} s ${what}`);
  }
}

const isSiteLane = (lane: (typeof LANES)[number]): boolean => (SITE_LANES as readonly LaneName[]).includes(lane);
