// What a front end tells about its requests. Labelled by the route's pattern, so that the number of series is bounded.

import type { Metrics } from '../engine/metrics.ts';

export interface HttpMetrics {
  begun(): void;
  ended(route: string, method: string, status: number, seconds: number): void;
}

export function httpMetrics(metrics: Metrics, frontEnd: string): HttpMetrics {
  const names = ['front_end', 'route', 'method', 'status'] as const;
  const requests = metrics.counter('http_requests_total', 'Requests answered.', names);
  const duration = metrics.histogram('http_request_duration_seconds', 'Time from head to end of the answer.', [
    'front_end',
    'route',
    'method',
  ]);
  const inFlight = metrics.gauge('http_requests_in_flight', 'Requests being answered.', ['front_end']);
  let now = 0;
  return {
    begun() {
      now++;
      inFlight.set({ front_end: frontEnd }, now);
    },
    ended(route, method, status, seconds) {
      now--;
      inFlight.set({ front_end: frontEnd }, now);
      requests.inc({ front_end: frontEnd, route, method, status: String(status) });
      duration.observe({ front_end: frontEnd, route, method }, seconds);
    },
  };
}
