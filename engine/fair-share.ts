// Fair share between tenants: those who can fill a queue, each a user or all guests of one address. One rule for all queues:
//   hold   a tenant holds at most all workers and less than half of the queue in memory; the rest of its jobs stay where they are
//   claim  where little waits in memory, jobs of a tenant that has half of the workers are claimed when no others wait
//   spare  in a lane whose jobs somebody else may draw out, a tenant holds at most all workers but one, and nothing in memory
//   begin  of the jobs in memory, the first of the tenant whose turn it is begins (turns.ts)
// So while one tenant fills a lane, the job of another always finds a place, and is the next to begin.

export interface SharedPlaces<Tenant extends string> {
  readonly workers: number;
  /** Jobs that may wait in memory. */
  readonly capacity: number;
  /** Jobs that would find a place now. */
  readonly room: number;
  /** Tenants of the jobs that hold a place, one entry per job. */
  readonly held: readonly Tenant[];
  /** One worker is left to others, whoever comes first: for jobs that may last as long as somebody wants. */
  readonly spare?: boolean;
  /** Tenants of the jobs that have just left theirs. */
  readonly left?: readonly Tenant[];
}

export interface FairShare<Tenant extends string> {
  /** Jobs to claim now: with so many, no tenant comes to hold more than its share. */
  readonly limit: number;
  /** Tenants that hold their share. */
  readonly withheld: readonly Tenant[];
  /** Those of whom jobs are claimed only when no others wait: they have, or just had, half of the workers. */
  readonly crowded: readonly Tenant[];
}

export function fairShare<Tenant extends string>(places: SharedPlaces<Tenant>): FairShare<Tenant> {
  const { workers, capacity, room, held } = places;
  // Less than half of the mailbox: a lane claims while its mailbox is less than half full.
  const share = places.spare ? Math.max(1, workers - 1) : workers + Math.max(0, Math.ceil(capacity / 2) - 1);
  const counts = new Map<Tenant, number>();
  for (const tenant of held) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  const withheld = [...counts].flatMap(([tenant, count]) => (count >= share ? [tenant] : []));
  const most = Math.max(0, ...[...counts.values()].filter((count) => count < share));
  for (const tenant of places.left ?? []) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  const crowded = [...counts].filter(([, count]) => count >= Math.ceil(workers / 2)).sort(([, a], [, b]) => a - b);
  return { limit: Math.min(room, share - most), withheld, crowded: crowded.map(([tenant]) => tenant) };
}
