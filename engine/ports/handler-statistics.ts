// Totals of the handler service, over all its processes and their restarts (docs/contract/handler.md#health).

export interface HandlerCounts {
  /** Responses by HTTP status. */
  readonly byStatus: Readonly<Record<number, number>>;
  /** Uploads received completely. */
  readonly uploads: number;
  readonly uploadedBytes: number;
  /** Bytes of the largest upload. */
  readonly largest: number;
  /** Runs that ended, successfully or not. */
  readonly runs: number;
  readonly runMs: number;
  readonly longestMs: number;
}

export const NO_COUNTS: HandlerCounts = {
  byStatus: {},
  uploads: 0,
  uploadedBytes: 0,
  largest: 0,
  runs: 0,
  runMs: 0,
  longestMs: 0,
};

export interface HandlerStatistics {
  /** Adds counts and sums, keeps the larger of two maxima; all or nothing. */
  add(counts: HandlerCounts, signal: AbortSignal): Promise<void>;
  read(signal: AbortSignal): Promise<HandlerCounts>;
}

export function sumOf(a: HandlerCounts, b: HandlerCounts): HandlerCounts {
  const byStatus: Record<number, number> = { ...a.byStatus };
  for (const [status, count] of Object.entries(b.byStatus))
    byStatus[Number(status)] = (byStatus[Number(status)] ?? 0) + count;
  return {
    byStatus,
    uploads: a.uploads + b.uploads,
    uploadedBytes: a.uploadedBytes + b.uploadedBytes,
    largest: Math.max(a.largest, b.largest),
    runs: a.runs + b.runs,
    runMs: a.runMs + b.runMs,
    longestMs: Math.max(a.longestMs, b.longestMs),
  };
}
