// Metrics of the report runs; the lane has its own.

import type { FormatType } from '../../engine/model/report/format-types.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';

export interface ReportMetrics {
  /** The formatter ended, successfully or not. */
  ran(type: FormatType, ms: number): void;
  /** A report was stored; `bytes` is its size without its archive. */
  kept(bytes: number): void;
}

const MIB = 1_048_576;
const SIZE_BUCKETS = [0.01, 0.1, 1, 10, 100, 1_000, 10_000].map((mib) => mib * MIB);

export function reportMetrics(metrics: Metrics): ReportMetrics {
  const seconds = metrics.histogram('report_formatter_seconds', 'Duration of formatter runs.', ['format_type']);
  const sizes = metrics.histogram('report_bytes', 'Sizes of reports, excluding their archives.', [], SIZE_BUCKETS);
  return {
    ran: (type, ms) => seconds.observe({ format_type: type }, ms / 1000),
    kept: (bytes) => sizes.observe({}, bytes),
  };
}
