// Samples the main numbers of this process for their history.

import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { type MetricsHistory, SAMPLE_MS } from '../../engine/runtime/metrics-history.ts';
import { MetricsSampler } from '../../engine/runtime/metrics-sampler.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';

export function metricsHistory(history: MetricsHistory, { clock, log, metrics }: TimerParts): ChildSpec {
  const sampler = new MetricsSampler(metrics);
  const runOnce = async (): Promise<void> => {
    const now = clock.now();
    history.add(now, await sampler.sample(now));
  };
  const options = { name: 'metricsHistory', clock, log, metrics, periodMs: SAMPLE_MS, jitter: 0, firstMs: 0, runOnce };
  return { name: 'metricsHistory', create: () => new Timer<void>(options) };
}
