// The request metrics of a front end. They are labeled with the route's pattern, so that the number of series is bounded.

import type { Metrics } from '../../../engine/runtime/metrics.ts';
import type { CutReason } from '../server/connections.ts';

export interface HttpMetrics {
  begun(): void;
  /** @param seconds undefined for responses that may last as long as the client listens */
  ended(route: string, method: string, status: number, seconds: number | undefined): void;
  /** A connection was closed to keep a limit. */
  cut(reason: CutReason): void;
}

export function httpMetrics(metrics: Metrics, frontEnd: string): HttpMetrics {
  const names = ['front_end', 'route', 'method', 'status'] as const;
  const requests = metrics.counter('http_requests_total', 'Requests answered.', names);
  const duration = metrics.histogram(
    'http_request_duration_seconds',
    'Time from head to end of the answer. Streams of events are not measured.',
    ['front_end', 'route', 'method'],
  );
  const inFlight = metrics.gauge('http_requests_in_flight', 'Requests being answered.', ['front_end']);
  const cut = metrics.counter('http_connections_cut_total', 'Connections closed to keep a bound.', [
    'front_end',
    'reason',
  ]);
  let now = 0;
  metrics.onScrape(() => inFlight.set({ front_end: frontEnd }, now));
  return {
    begun() {
      now++;
    },
    ended(route, method, status, seconds) {
      now--;
      requests.inc({ front_end: frontEnd, route, method, status: String(status) });
      if (seconds !== undefined) duration.observe({ front_end: frontEnd, route, method }, seconds);
    },
    cut(reason) {
      cut.inc({ front_end: frontEnd, reason });
    },
  };
}
