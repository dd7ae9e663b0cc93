// Fair share between tenants. A tenant is a user, or all guests of one address. All queues have the same rules:
//   hold   a tenant holds at most all workers but one, and nothing in memory; its other jobs stay unclaimed
//   claim  a tenant that has half of the workers gets more only when no others wait
//   begin  of the jobs in memory, the next to start is the first of the tenant whose turn it is (`Turns`)
// So while one tenant fills a lane, the job of another tenant starts at once. In a lane with a single worker it is the next to
// start. It must not have to wait for a running job, which may take as long as the server behind a user's URL.

interface SharedPlaces<Tenant extends string> {
  readonly workers: number;
  /** Number of jobs that the lane could take now. */
  readonly room: number;
  /** Tenants of the jobs that hold a place, one entry per job. */
  readonly held: readonly Tenant[];
  /** Tenants of the jobs that have just given up their place. */
  readonly left?: readonly Tenant[];
}

interface FairShare<Tenant extends string> {
  /** Jobs to claim now where the queue does not bound each tenant. Small enough that no tenant exceeds its share. */
  readonly limit: number;
  /** Most jobs that a tenant may hold, and how many each holds: for a queue that bounds each tenant, and so gives all at once. */
  readonly each: { readonly most: number; readonly held: Readonly<Partial<Record<Tenant, number>>> };
  /** Tenants that hold their share. */
  readonly withheld: readonly Tenant[];
  /** Tenants that have, or just had, half of the workers: their jobs are claimed only when no others wait. */
  readonly crowded: readonly Tenant[];
}

export function fairShare<Tenant extends string>(places: SharedPlaces<Tenant>): FairShare<Tenant> {
  const { workers, room, held } = places;
  const share = Math.max(1, workers - 1);
  const counts = new Map<Tenant, number>();
  for (const tenant of held) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  const withheld = [...counts].flatMap(([tenant, count]) => (count >= share ? [tenant] : []));
  const each = { most: share, held: Object.fromEntries(counts) as Partial<Record<Tenant, number>> };
  const most = Math.max(0, ...[...counts.values()].filter((count) => count < share));
  for (const tenant of places.left ?? []) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  const crowded = [...counts].filter(([, count]) => count >= Math.ceil(workers / 2)).sort(([, a], [, b]) => a - b);
  return { limit: Math.min(room, share - most), each, withheld, crowded: crowded.map(([tenant]) => tenant) };
}

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
    if (this.#lastBegun.size <= REMEMBERED) return;
    const [oldest = tenant] = this.#lastBegun.keys();
    this.#lastBegun.delete(oldest);
  }

  /** It is the turn of the tenant with the lowest rank. */
  rankOf(tenant: string, running: number): number {
    return running * FIRST + (this.#lastBegun.get(tenant) ?? 0);
  }
}
