// Orders to cancel a running job, sent from any process to the one that runs it. Orders are not stored: if that process dies
// before it receives one, the job runs again.

export interface CancelOrder {
  readonly job: number;
  /** Who cancels it, for operators. */
  readonly by: string;
  readonly reason: string | undefined;
  /** No grace period: the thread or script is killed at once. */
  readonly hard: boolean;
}

/** The order as the process that runs the job receives it. */
export interface CancelRequest extends CancelOrder {
  /** Of the lease under which the job ran when it was cancelled; it may have ended and run again since. */
  readonly token: number;
}

/** `asked`: the order was sent to the process that runs the job. If the job ends first, its own outcome counts. */
export type CancelAnswer = 'asked' | 'not-found' | 'not-running';

export interface JobCancels {
  ask(order: CancelOrder, signal: AbortSignal): Promise<CancelAnswer>;
  /** Calls `cancel` for each order about a job of this process. The returned function unsubscribes. */
  watch(cancel: (request: CancelRequest) => void): () => void;
}
