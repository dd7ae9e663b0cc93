// Whose turn it is: the tenant with the fewest running jobs; among equals, the one that started a job longest ago.

/** Tenants remembered; a forgotten tenant counts as one that never started a job. */
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

  /** The tenant with the lowest rank has its turn. */
  rankOf(tenant: string, running: number): number {
    return running * FIRST + (this.#lastBegun.get(tenant) ?? 0);
  }
}
