// Whose turn it is: the tenant that has the fewest running, and of those that have as many, the one that began longest ago.

/** Tenants remembered; who is forgotten counts as one that never began. */
const REMEMBERED = 1_000;
/** More than there are turns in the life of a process. */
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

  /** The lowest has its turn. */
  rankOf(tenant: string, running: number): number {
    return running * FIRST + (this.#lastBegun.get(tenant) ?? 0);
  }
}
