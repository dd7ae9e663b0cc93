// Orders to cancel a running job, from any process to the one that runs it. An order is not stored: if that process dies before
// it receives the order, the job runs again.

export interface CancelOrder {
  readonly job: number;
  /** Who cancels it, for operators. */
  readonly by: string;
  readonly reason: string | undefined;
  /** Without the usual grace: its thread or script is killed at once. */
  readonly hard: boolean;
}

/** What the process that runs the job is told. */
export interface CancelRequest extends CancelOrder {
  /** Of the lease under which the job runs; the job may have ended and run again since. */
  readonly token: number;
}

/** `asked`: the process that runs the job is told; if the job ends before, its own end counts. */
export type CancelAnswer = 'asked' | 'not-found' | 'not-running';

export interface JobCancels {
  ask(order: CancelOrder, signal: AbortSignal): Promise<CancelAnswer>;
  /** Calls `cancel` for each order about a job of this process. The returned function unsubscribes. */
  watch(cancel: (request: CancelRequest) => void): () => void;
}
