// Leases: who may work on a dataset or run a daemon, with a fencing token (docs/design/decisions.md#from-a-change-to-a-job).

/**
 * Held until released, expired (30 s without renewal), or its holder process died. Tokens of one name only grow: by one from
 * lease to lease, and above all earlier ones when the cache DB was lost and rebuilt.
 */
export interface Lease {
  /** A dataset id, or `daemon:{name}`. */
  readonly name: string;
  readonly token: number;
}

export interface Leases {
  /** The lease, or undefined while another process (or this one) holds it. */
  acquire(name: string, signal: AbortSignal): Promise<Lease | undefined>;
  /** Extends all leases; returns those that we no longer hold. Call every 10 s. */
  renew(leases: readonly Lease[], signal: AbortSignal): Promise<readonly Lease[]>;
  release(lease: Lease, signal: AbortSignal): Promise<void>;
}
