// Approves requests by waiting time.

export interface AccessApprovals {
  /** Approves every request whose waiting time is over, each by itself; returns how many. */
  approveWaited(now: Date, signal: AbortSignal): Promise<number>;
}
