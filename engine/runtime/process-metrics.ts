// The standard metrics of a process under their standard names, so that stock dashboards work: CPU, memory, file descriptors,
// start time, event-loop delay. We do not use the client library's own set, because three of its gauges end in `_total`, which
// promtool refuses.

import { readdirSync } from 'node:fs';
import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import * as prometheus from 'prom-client';
import type { Metrics } from './metrics.ts';
import type { Clock } from './time.ts';

const RESOLUTION_MS = 10;
/** A second scraper within this time gets the same delays, not those of a short interval. */
const WINDOW_MS = 10_000;

/** Adds the metrics to `metrics`; dispose the result to stop sampling. */
export function observeProcess(metrics: Metrics, clock: Clock): Disposable {
  const registers = [metrics.registry];
  const gauge = (name: string, help: string): prometheus.Gauge => new prometheus.Gauge({ name, help, registers });
  const cpu = new prometheus.Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time spent, threads included.',
    registers,
  });
  const resident = gauge('process_resident_memory_bytes', 'Resident memory.');
  const heap = gauge('nodejs_heap_size_used_bytes', 'JavaScript heap of the main thread in use.');
  const openFds = gauge('process_open_fds', 'Open file descriptors.');
  const start = gauge('process_start_time_seconds', 'Start of the process, seconds since 1970.');
  start.set(Math.round(clock.now() / 1000 - process.uptime()));

  const delays = new LoopDelays(clock);
  const p50 = gauge('nodejs_eventloop_lag_p50_seconds', 'Median event-loop delay of the last 10 s or more.');
  const p99 = gauge('nodejs_eventloop_lag_p99_seconds', '99th percentile of the event-loop delay of that time.');
  let cpuSeen = 0;
  const stop = metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const cpuNow = (user + system) / 1e6;
    cpu.inc(Math.max(0, cpuNow - cpuSeen));
    cpuSeen = cpuNow;
    const memory = process.memoryUsage();
    resident.set(memory.rss);
    heap.set(memory.heapUsed);
    const open = countOpenFds();
    if (open !== undefined) openFds.set(open);
    const delay = delays.read();
    p50.set(delay.p50);
    p99.set(delay.p99);
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      delays.stop();
    },
  };
}

interface Delays {
  readonly p50: number;
  readonly p99: number;
}

class LoopDelays {
  readonly #clock: Clock;
  readonly #histogram: ELDHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since: number;
  #last: Delays | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
    this.#histogram.enable();
  }

  /** In seconds. During the first window the delays so far, then those of the last complete window. */
  read(): Delays {
    const whole = this.#clock.now() - this.#since >= WINDOW_MS;
    if (this.#last !== undefined && !whole) return this.#last;
    const delays = { p50: this.#seconds(50), p99: this.#seconds(99) };
    if (!whole) return delays;
    this.#histogram.reset();
    this.#since = this.#clock.now();
    this.#last = delays;
    return delays;
  }

  stop(): void {
    this.#histogram.disable();
  }

  #seconds(percentile: number): number {
    if (this.#histogram.count === 0) return 0;
    // The histogram records the time between two samples: the delay plus the resolution.
    return Math.max(0, this.#histogram.percentile(percentile) / 1e9 - RESOLUTION_MS / 1000);
  }
}

function countOpenFds(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined; // Available on Linux only.
  }
}
