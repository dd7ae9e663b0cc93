// Combines two readings of a server: its state, and its rates between the readings.

import type { ReportedJob } from '../client/admin-client.ts';
import type { MetricSamples, SampleLabels } from './metric-samples.ts';
import type { Dependency, Reading } from './reading.ts';

export interface LaneOverview {
  readonly lane: string;
  /** Jobs in progress, out of `workers` at most. */
  readonly busy: number;
  readonly workers: number;
  /** Claimed by the process, not started. */
  readonly claimed: number;
  /** From the job table, as of the last success of the daemon `queueMetrics`. */
  readonly queued: number;
  readonly delayed: number;
  readonly dead: number;
  readonly oldestSeconds: number;
  readonly donePerSecond?: number | undefined;
  /** Failed attempts, whether or not they are retried. */
  readonly failedPerSecond?: number | undefined;
}

export interface DaemonOverview {
  readonly daemon: string;
  readonly leads: boolean;
  readonly runs: number;
  readonly failed: number;
  /** Seconds since the last run; undefined before the first. */
  readonly lastRunAgo?: number | undefined;
  readonly lastSuccessAgo?: number | undefined;
}

/** Rates are undefined in the first reading and after a restart of the server. */
export interface Overview {
  readonly server: string;
  /** RFC 3339. */
  readonly time: string;
  readonly status: string;
  readonly version: string;
  readonly upSeconds: number | undefined;
  readonly residentBytes: number | undefined;
  /** 1 = one core. */
  readonly cpu?: number | undefined;
  readonly eventLoopP99Seconds: number | undefined;
  readonly requestsPerSecond?: number | undefined;
  readonly requestsInFlight: number;
  readonly lanes: readonly LaneOverview[];
  readonly daemons: readonly DaemonOverview[];
  readonly dependencies: readonly Dependency[];
  /** Jobs that wait or run, oldest first. */
  readonly oldestJobs?: readonly ReportedJob[];
  /** Why the oldest jobs are missing. */
  readonly oldestJobsHidden?: string;
}

export function overviewOf(server: string, before: Reading | undefined, now: Reading): Overview {
  const { samples, oldest } = now;
  const seconds = now.at / 1_000;
  const started = samples.value('process_start_time_seconds');
  const rate = ratesBetween(before, now);
  return {
    ...{ server, time: new Date(now.at).toISOString(), status: now.status, version: now.version },
    upSeconds: started === undefined ? undefined : Math.max(0, seconds - started),
    residentBytes: samples.value('process_resident_memory_bytes'),
    cpu: rate('process_cpu_seconds_total'),
    eventLoopP99Seconds: samples.value('nodejs_eventloop_lag_p99_seconds'),
    requestsPerSecond: rate('longshore_http_requests_total'),
    requestsInFlight: samples.value('longshore_http_requests_in_flight') ?? 0,
    lanes: lanesOf(samples).map((lane) => laneOverview(lane, samples, rate)),
    daemons: daemonsOf(samples).map((daemon) => daemonOverview(daemon, samples, seconds)),
    dependencies: now.dependencies,
    ...('jobs' in oldest ? { oldestJobs: oldest.jobs } : { oldestJobsHidden: oldest.hidden }),
  };
}

type Rate = (name: string, labels?: SampleLabels) => number | undefined;

function ratesBetween(before: Reading | undefined, now: Reading): Rate {
  const seconds = before ? (now.at - before.at) / 1_000 : 0;
  const start = (reading: Reading | undefined) => reading?.samples.value('process_start_time_seconds');
  if (!before || seconds <= 0 || start(before) !== start(now)) return () => undefined;
  return (name, labels) => {
    const value = now.samples.value(name, labels);
    // A counter appears when it is first incremented; before that it was zero.
    return value === undefined ? undefined : Math.max(0, value - (before.samples.value(name, labels) ?? 0)) / seconds;
  };
}

/** Lanes with workers in this process, and lanes that only the job table knows. */
const lanesOf = (samples: MetricSamples): readonly string[] => [
  ...new Set([...samples.values('longshore_lane_workers', 'lane'), ...samples.values('longshore_jobs', 'lane')]),
];

function laneOverview(lane: string, samples: MetricSamples, rate: Rate): LaneOverview {
  const value = (name: string, labels: SampleLabels = {}): number => samples.value(name, { lane, ...labels }) ?? 0;
  const ends = (outcome: string): number | undefined => rate('longshore_lane_jobs_total', { lane, outcome });
  const failed = [ends('dead'), rate('longshore_lane_retries_total', { lane, cause: 'failed' })];
  const measured = rate('process_start_time_seconds') !== undefined;
  return {
    lane,
    busy: value('longshore_lane_in_flight'),
    workers: value('longshore_lane_workers'),
    claimed: value('longshore_lane_depth'),
    queued: value('longshore_jobs', { state: 'queued' }),
    delayed: value('longshore_jobs', { state: 'delayed' }),
    dead: value('longshore_jobs', { state: 'dead' }),
    oldestSeconds: value('longshore_jobs_oldest_seconds'),
    donePerSecond: measured ? (ends('done') ?? 0) : undefined,
    failedPerSecond: measured ? failed.reduce<number>((sum, one) => sum + (one ?? 0), 0) : undefined,
  };
}

const daemonsOf = (samples: MetricSamples): readonly string[] => [
  ...new Set([
    ...samples.values('longshore_daemon_leader', 'daemon'),
    ...samples.values('longshore_daemon_runs_total', 'daemon'),
  ]),
];

function daemonOverview(daemon: string, samples: MetricSamples, seconds: number): DaemonOverview {
  const ago = (name: string): number | undefined => {
    const at = samples.value(name, { daemon });
    return at === undefined || at === 0 ? undefined : Math.max(0, seconds - at);
  };
  return {
    daemon,
    leads: samples.value('longshore_daemon_leader', { daemon }) === 1,
    runs: samples.value('longshore_daemon_runs_total', { daemon }) ?? 0,
    failed: samples.value('longshore_daemon_runs_total', { daemon, result: 'failed' }) ?? 0,
    lastRunAgo: ago('longshore_daemon_last_run_timestamp_seconds'),
    lastSuccessAgo: ago('longshore_daemon_last_success_timestamp_seconds'),
  };
}
