// The figures of a run, as JSON.

import type { Calls } from './calls.ts';
import type { Model } from './model.ts';
import type { Lifetime } from './samples.ts';

interface Run {
  readonly options: object;
  readonly model: Model;
  readonly calls: Calls;
  readonly suffered: Readonly<Record<string, number>>;
  readonly lifetimes: readonly Lifetime[];
  readonly connections: number;
}

export function figuresOf({ options, model, calls, suffered, lifetimes, connections }: Run): object {
  const datasets = [...model.datasets.values()];
  const states = Object.groupBy(datasets, ({ state }) => state);
  return {
    options,
    datasets: Object.fromEntries(Object.entries(states).map(([state, all]) => [state, all.length])),
    revisions: datasets.filter(({ older }) => older.length > 0).length,
    largeFiles: datasets.filter(({ digest }) => digest !== undefined).length,
    shares: datasets.reduce((sum, { shares }) => sum + shares.size, 0),
    reports: model.reports.size,
    accessRequests: model.access.size,
    streamConnections: connections,
    faults: suffered,
    answers: calls.answers,
    answerMs: Object.fromEntries(Object.entries(calls.times).map(([kind, all]) => [kind, spread(all)])),
    lifetimes,
  };
}

function spread(times: readonly number[]): Readonly<Record<string, number>> {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
