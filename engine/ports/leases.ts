// Leases: who may work on a dataset or run a daemon, with a fencing token (docs/design/decisions.md#from-a-change-to-a-job).

/**
 * Held until released, expired (30 s without renewal) or its holder process died. Tokens of one name only grow: by one from
 * lease to lease, and beyond all that were given before when the cache DB was lost and built anew.
 */
export interface Lease {
  /** A dataset id, or `daemon:{name}`. */
  readonly name: string;
  readonly token: number;
}

export interface Leases {
  /** The lease, or undefined while somebody else (or this process already) holds it. */
  acquire(name: string, signal: AbortSignal): Promise<Lease | undefined>;
  /** Extends all; returns those that are no longer ours. Call every 10 s. */
  renew(leases: readonly Lease[], signal: AbortSignal): Promise<readonly Lease[]>;
  release(lease: Lease, signal: AbortSignal): Promise<void>;
}
