// What a front end tells about its requests. Labelled by the route's pattern, so that the number of series is bounded.

import type { Metrics } from '../../../engine/runtime/metrics.ts';
import type { Series } from '../../../engine/runtime/tallied-histogram.ts';
import type { CutReason } from '../server/connections.ts';

export interface HttpMetrics {
  begun(): void;
  ended(route: string, method: string, status: number, seconds: number): void;
  /** A connection was closed before its time. */
  cut(reason: CutReason): void;
}

/** Of one method of one route. */
interface Answers {
  readonly duration: Series;
  readonly byStatus: Map<number, number>;
}

/** Counts are kept here and handed on at a scrape: a request is cheaper than looking up its labels. */
export function httpMetrics(metrics: Metrics, frontEnd: string): HttpMetrics {
  const names = ['front_end', 'route', 'method', 'status'] as const;
  const requests = metrics.counter('http_requests_total', 'Requests answered.', names);
  const duration = metrics.histogram('http_request_duration_seconds', 'Time from head to end of the answer.', [
    'front_end',
    'route',
    'method',
  ]);
  const inFlight = metrics.gauge('http_requests_in_flight', 'Requests being answered.', ['front_end']);
  const cut = metrics.counter('http_connections_cut_total', 'Connections closed to keep a bound.', [
    'front_end',
    'reason',
  ]);
  const routes = new Map<string, Map<string, Answers>>();
  let now = 0;
  metrics.onScrape(() => {
    inFlight.set({ front_end: frontEnd }, now);
    for (const [route, methods] of routes)
      for (const [method, { byStatus }] of methods) {
        for (const [status, count] of byStatus)
          requests.inc({ front_end: frontEnd, route, method, status: String(status) }, count);
        byStatus.clear();
      }
  });
  const answersOf = (route: string, method: string): Answers => {
    const methods = routes.get(route) ?? new Map<string, Answers>();
    const answers = { duration: duration.series({ front_end: frontEnd, route, method }), byStatus: new Map() };
    routes.set(route, methods.set(method, answers));
    return answers;
  };
  return {
    begun() {
      now++;
    },
    ended(route, method, status, seconds) {
      now--;
      const answers = routes.get(route)?.get(method) ?? answersOf(route, method);
      answers.byStatus.set(status, (answers.byStatus.get(status) ?? 0) + 1);
      answers.duration.observe(seconds);
    },
    cut(reason) {
      cut.inc({ front_end: frontEnd, reason });
    },
  };
}
