// What a front end tells about its requests. Labelled by the route's pattern, so that the number of series is bounded.

import type { Metrics } from '../engine/metrics.ts';

export interface HttpMetrics {
  begun(): void;
  ended(route: string, method: string, status: number, seconds: number): void;
}

interface Answers {
  readonly labels: {
    readonly front_end: string;
    readonly route: string;
    readonly method: string;
    readonly status: string;
  };
  count: number;
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
  const answers = new Map<string, Answers>();
  let now = 0;
  metrics.onScrape(() => {
    inFlight.set({ front_end: frontEnd }, now);
    for (const { labels, count } of answers.values()) requests.inc(labels, count);
    answers.clear();
  });
  return {
    begun() {
      now++;
    },
    ended(route, method, status, seconds) {
      now--;
      const key = `${status} ${method} ${route}`;
      const known = answers.get(key);
      if (known) known.count++;
      else answers.set(key, { labels: { front_end: frontEnd, route, method, status: String(status) }, count: 1 });
      duration.observe({ front_end: frontEnd, route, method }, seconds);
    },
  };
}
