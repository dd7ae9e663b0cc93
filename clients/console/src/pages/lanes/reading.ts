// What the page shows, read again and again: metrics, health, pauses. Metrics and health
// are not recorded in the audit trail.

import { useRef } from 'react';
import { type Loaded, useLoad } from '../../api/load.ts';
import { type Metrics, readMetrics } from '../../api/metrics.ts';
import { usePolled } from '../../api/polling.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';

const EVERY_MS = 4_000;
/** Rates and times are those of the last minute or so. */
const KEPT = 16;

export interface Reading {
  readonly metrics: Metrics;
  readonly health: Schemas['Health'];
  readonly pauses: readonly Schemas['Pause'][];
  /** By how much a counter has grown, and in how many seconds; undefined in the first reading and after a restart. */
  growth(
    name: string,
    labels: Readonly<Record<string, string>>,
  ): { readonly by: number; readonly in: number } | undefined;
}

export function useReading(): Loaded<Reading> {
  const kept = useRef<readonly Metrics[]>([]);
  const live = usePolled(
    'lanes',
    async (signal) => {
      const [metrics, health] = await Promise.all([readMetrics(signal), installer.GET('/health', { signal })]);
      kept.current = [...kept.current, metrics].slice(-KEPT);
      return { metrics, health: health.data as Schemas['Health'], oldest: kept.current[0] ?? metrics };
    },
    EVERY_MS,
  );
  // Who paused it and why: loaded when something else is paused, because each load is a row of the audit trail.
  const paused = JSON.stringify(live.value?.health.paused ?? []);
  const pauses = useLoad(paused, async (signal) => {
    const { data } = await installer.GET('/admin/pauses', { signal });
    return (data as Schemas['PauseReport']).results;
  });
  const last = useRef<readonly Schemas['Pause'][]>(undefined);
  last.current = pauses.value ?? last.current;
  const { value } = live;
  const shown = value && last.current;
  return {
    isLoading: live.isLoading || pauses.isLoading,
    error: pauses.error ?? live.error,
    value: shown && {
      ...value,
      pauses: last.current ?? [],
      growth: (name, labels) => growth(value.oldest, value.metrics, name, labels),
    },
    reload: () => {
      live.reload();
      pauses.reload();
    },
  };
}

function growth(
  before: Metrics,
  now: Metrics,
  name: string,
  labels: Readonly<Record<string, string>>,
): ReturnType<Reading['growth']> {
  const started = (metrics: Metrics) => metrics.value('process_start_time_seconds');
  if (before === now || started(before) !== started(now)) return undefined;
  const by = (now.value(name, labels) ?? 0) - (before.value(name, labels) ?? 0);
  return { by, in: (now.at - before.at) / 1_000 };
}

export interface Lane {
  readonly name: string;
  readonly title: string;
  readonly workers: number;
  readonly capacity: number;
  readonly busy: number;
  readonly queued: number;
  readonly delayed: number;
  readonly dead: number;
  readonly oldestSeconds: number;
  readonly donePerSecond: number | undefined;
  readonly failedPerSecond: number | undefined;
  readonly waitSeconds: number | undefined;
  readonly runSeconds: number | undefined;
}

/** The lanes of the process that answers, in the order of the titles. */
export function lanesOf(reading: Reading, titles: Readonly<Record<string, string>>): readonly Lane[] {
  const { metrics } = reading;
  const order = Object.keys(titles);
  const names = metrics.names('longshore_lane_workers', 'lane');
  return names
    .toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
    .map((lane) => {
      const value = (name: string, more = {}): number => metrics.value(name, { lane, ...more }) ?? 0;
      const jobs = (state: string): number => value('longshore_jobs', { state });
      return {
        name: lane,
        title: titles[lane] ?? lane,
        workers: value('longshore_lane_workers'),
        capacity: value('longshore_lane_capacity'),
        busy: value('longshore_lane_in_flight'),
        queued: jobs('queued'),
        delayed: jobs('delayed'),
        dead: jobs('dead'),
        oldestSeconds: value('longshore_jobs_oldest_seconds'),
        donePerSecond: rate(reading, 'longshore_lane_jobs_total', { lane, outcome: 'done' }),
        failedPerSecond: rate(reading, 'longshore_lane_retries_total', { lane, cause: 'failed' }),
        waitSeconds: mean(reading, 'longshore_lane_wait_seconds', lane),
        runSeconds: mean(reading, 'longshore_lane_run_seconds', lane),
      };
    });
}

function rate(reading: Reading, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const found = reading.growth(name, labels);
  return found && found.by / found.in;
}

function mean(reading: Reading, name: string, lane: string): number | undefined {
  const [sum, count] = [reading.growth(`${name}_sum`, { lane }), reading.growth(`${name}_count`, { lane })];
  return sum && count && count.by > 0 ? sum.by / count.by : undefined;
}
