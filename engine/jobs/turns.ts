// Decides whose turn it is: the tenant with the fewest running jobs; among equals, the one whose last job started longest ago.

/** Number of tenants remembered. A forgotten tenant counts as one that never started a job. */
const REMEMBERED = 1_000;
/** More than the number of turns in the life of a process. */
const FIRST = 2 ** 40;

export class Turns {
  readonly #lastBegun = new Map<string, number>();
  #turn = 0;

  began(tenant: string): void {
    this.#lastBegun.delete(tenant);
    this.#lastBegun.set(tenant, ++this.#turn);
    const [oldest] = this.#lastBegun.keys();
    if (this.#lastBegun.size > REMEMBERED && oldest !== undefined) this.#lastBegun.delete(oldest);
  }

  /** It is the turn of the tenant with the lowest rank. */
  rankOf(tenant: string, running: number): number {
    return running * FIRST + (this.#lastBegun.get(tenant) ?? 0);
  }
}
