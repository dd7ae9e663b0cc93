// Approves requests whose waiting time is over.

export interface AccessApprovals {
  /** Approves each such request in its own transaction; returns how many. */
  approveWaited(now: Date, signal: AbortSignal): Promise<number>;
}
