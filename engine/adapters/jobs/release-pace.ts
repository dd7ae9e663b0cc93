// How often a lane looks for jobs because leases are released. A release may be of any dataset, so where many are under way
// nearly all of these looks find nothing, and each costs what a claim costs. Few in a row are for nothing: a dataset that is
// alone goes from lane to lane without a wait. Many are spread, and then one look finds what several releases made claimable.

/** Looks at once, however long none was. */
const BURST = 10;
/** Between looks when there are more. */
const EVERY_MS = 100;

export class ReleasePace {
  /** No look is put off for longer. */
  static readonly longestMs = EVERY_MS;
  /** When all looks that were taken are paid for, at one each {@link EVERY_MS}. */
  #paidAt = Number.NEGATIVE_INFINITY;

  /** Milliseconds until the look that is hereby taken; 0 = now. Not before the one taken last was made. */
  take(now: number): number {
    const paidAt = Math.max(this.#paidAt, now) + EVERY_MS;
    const waitMs = Math.max(0, paidAt - now - BURST * EVERY_MS);
    this.#paidAt = paidAt;
    return waitMs;
  }
}
