// Fair share between tenants. A tenant is a user, or all guests of one address. All queues have the same rules:
//   hold   a tenant holds at most all workers but one, and nothing in memory; its other jobs stay unclaimed
//   claim  a tenant that has half of the workers gets more only when no others wait
//   begin  the next job in memory to start is the first one of the tenant whose turn it is (turns.ts)
// So while one tenant fills a lane, the job of another tenant starts at once. In a lane with a single worker it is the next to
// start. It must not have to wait for a running job, which may take as long as the server behind a user's URL.

export interface SharedPlaces<Tenant extends string> {
  readonly workers: number;
  /** Number of jobs that the lane could take now. */
  readonly room: number;
  /** Tenants of the jobs that hold a place, one entry per job. */
  readonly held: readonly Tenant[];
  /** Tenants of the jobs that have just given up their place. */
  readonly left?: readonly Tenant[];
}

export interface FairShare<Tenant extends string> {
  /** Jobs to claim now. Small enough that no tenant exceeds its share. */
  readonly limit: number;
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
  const most = Math.max(0, ...[...counts.values()].filter((count) => count < share));
  for (const tenant of places.left ?? []) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  const crowded = [...counts].filter(([, count]) => count >= Math.ceil(workers / 2)).sort(([, a], [, b]) => a - b);
  return { limit: Math.min(room, share - most), withheld, crowded: crowded.map(([tenant]) => tenant) };
}
