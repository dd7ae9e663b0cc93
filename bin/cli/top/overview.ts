// Combines two readings of a server: its state, and its rates between the readings.

import type { ReportedJob } from '../client/admin-reports.ts';
import type { ScreenLine } from '../terminal/screen.ts';
import { sparkline } from '../terminal/sparkline.ts';
import { type Column, displayWidth, tableLines } from '../terminal/table.ts';
import { bytes, digits, duration, oneLine } from '../terminal/text.ts';
import type { Dependency, MetricSamples, PausedPart, Reading, SampleLabels } from './reading.ts';

interface LaneOverview {
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
  /** Jobs done per second in the last hour, oldest first. */
  readonly doneHistory?: readonly (number | null)[] | undefined;
}

interface DaemonOverview {
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
  /** Absent when nothing is paused. */
  readonly paused?: readonly PausedPart[];
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
    lanes: lanesOf(samples).map((lane) => {
      const doneHistory = now.history?.series[`lane.${lane}.done`];
      return { ...laneOverview(lane, samples, rate), ...(doneHistory ? { doneHistory } : {}) };
    }),
    daemons: daemonsOf(samples).map((daemon) => daemonOverview(daemon, samples, seconds)),
    dependencies: now.dependencies,
    ...(now.paused.length > 0 ? { paused: now.paused } : {}),
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
  const failed = [ends('failed'), ends('dead'), rate('longshore_lane_retries_total', { lane, cause: 'failed' })];
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

// Formats an overview as the lines that `longshore top` draws.

/** Since when the server has not responded, and why. */
export interface Away {
  readonly since: Date;
  readonly reason: string;
}

/** Columns of a terminal that has room for curves. */
const WIDE = 100;

const right = (head: string): Column => ({ head, align: 'right' });
const LANES: readonly Column[] = [
  { head: 'lane', whole: true },
  ...['busy', 'claimed', 'queued', 'delayed', 'dead', 'done/s', 'failed/s', 'oldest'].map(right),
];
const DAEMONS: readonly Column[] = [
  { head: 'daemon', whole: true },
  { head: 'leads', whole: true },
  ...['runs', 'failed', 'last run', 'last success'].map(right),
];
const BROKEN: readonly Column[] = [
  { head: 'not working', whole: true },
  { head: 'status', whole: true },
  { head: 'message' },
];
const PAUSED: readonly Column[] = [
  { head: 'paused', whole: true },
  { head: 'name', whole: true },
  { head: 'for', whole: true },
  { head: 'until' },
];
const JOBS: readonly Column[] = [
  right('oldest job'),
  { head: 'lane', whole: true },
  { head: 'state', whole: true },
  { head: 'dataset', whole: true },
  right('age'),
  right('attempts'),
  { head: 'message' },
];

/** @param width available columns; undefined = unlimited */
export function frameOf(overview: Overview, away: Away | undefined, width: number | undefined): readonly ScreenLine[] {
  const part = (columns: readonly Column[], rows: readonly (readonly (string | number)[])[]): readonly ScreenLine[] =>
    tableLines(columns, rows, width).map((cells, at) => ({
      text: cells.join('').trimEnd(),
      ...(at === 0 ? ({ style: 'bold' } as const) : {}),
    }));
  const broken = overview.dependencies.filter(({ status }) => status !== 'healthy');
  const sections = [
    head(overview, away),
    lanes(overview, part, width),
    overview.paused
      ? part(
          PAUSED,
          overview.paused.map((one) => pausedRow(one, Date.parse(overview.time))),
        )
      : [],
    overview.oldestJobs
      ? part(
          JOBS,
          overview.oldestJobs.map((job) => jobRow(job, Date.parse(overview.time))),
        )
      : [{ text: `oldest jobs: ${oneLine(overview.oldestJobsHidden ?? '')}` }],
    healthy(overview, width),
    broken.length === 0
      ? []
      : part(
          BROKEN,
          broken.map(({ name, status, message }) => [name, status, message ?? '']),
        ),
    part(DAEMONS, overview.daemons.map(daemonRow)),
  ].filter((lines) => lines.length > 0);
  return sections.flatMap((lines, at) => (at === 0 ? lines : [{ text: '' }, ...lines]));
}

type Part = (columns: readonly Column[], rows: readonly (readonly (string | number)[])[]) => readonly ScreenLine[];

/** On a wide terminal with a curve of the last hour. */
function lanes({ lanes }: Overview, part: Part, width: number | undefined): readonly ScreenLine[] {
  const rows = lanes.map(laneRow);
  const hasHistory = lanes.some(({ doneHistory }) => doneHistory !== undefined);
  if (!hasHistory || (width !== undefined && width < WIDE)) return part(LANES, rows);
  const curve: Column = { head: 'done, last hour', whole: true };
  return part(
    [...LANES, curve],
    rows.map((row, at) => [...row, sparkline(lanes[at]?.doneHistory ?? [])]),
  );
}

function head(overview: Overview, away: Away | undefined): readonly ScreenLine[] {
  const { server, status, version, upSeconds, residentBytes, cpu, eventLoopP99Seconds } = overview;
  const up = upSeconds === undefined ? '' : `up ${duration(upSeconds)}`;
  const first = ['longshore top', server, `version ${version}`, status, up, overview.time.slice(11, 19)];
  const second = [
    residentBytes === undefined ? '' : `memory ${bytes(residentBytes)}`,
    cpu === undefined ? '' : `cpu ${Math.round(cpu * 100)}%`,
    eventLoopP99Seconds === undefined ? '' : `event loop p99 ${digits(eventLoopP99Seconds * 1_000)} ms`,
    `requests ${perSecond(overview.requestsPerSecond)}${overview.requestsInFlight} now`,
  ];
  const line = (parts: readonly string[]): string =>
    parts
      .filter((part) => part !== '')
      .map(oneLine)
      .join('   ');
  if (!away) return [{ text: line(first), style: 'bold' }, { text: line(second) }];
  const gone = `no answer since ${away.since.toISOString().slice(11, 19)}, retrying: ${oneLine(away.reason)}`;
  return [
    { text: line(first), style: 'bold' },
    { text: gone, style: 'inverse' },
  ];
}

/** Healthy dependencies take little space: only their names, as many per line as fit. */
function healthy({ dependencies }: Overview, width = Number.POSITIVE_INFINITY): readonly ScreenLine[] {
  const names = dependencies.filter(({ status }) => status === 'healthy').map(({ name }) => oneLine(name));
  const lines: string[] = [`${names.length} of ${dependencies.length} dependencies are healthy:`];
  for (const [at, name] of names.entries()) {
    const text = ` ${name}${at < names.length - 1 ? ',' : ''}`;
    const last = lines.at(-1) ?? '';
    if (displayWidth(last + text) <= width) lines[lines.length - 1] = last + text;
    else lines.push(` ${text}`);
  }
  return lines.map((text) => ({ text }));
}

const perSecond = (rate: number | undefined): string => (rate === undefined ? '' : `${digits(rate)}/s, `);

const rateOf = (rate: number | undefined): string => (rate === undefined ? '' : digits(rate));

const laneRow = (one: Overview['lanes'][number]): readonly (string | number)[] => [
  ...[one.lane, `${one.busy}/${one.workers}`, one.claimed, one.queued, one.delayed, one.dead],
  ...[rateOf(one.donePerSecond), rateOf(one.failedPerSecond)],
  one.oldestSeconds === 0 ? '' : duration(one.oldestSeconds),
];

const pausedRow = ({ kind, name, since, until }: PausedPart, now: number): readonly string[] => [
  ...[kind, name, duration(Math.max(0, now - Date.parse(since)) / 1_000), until ?? ''],
];

const agoOf = (seconds: number | undefined): string => (seconds === undefined ? '' : `${duration(seconds)} ago`);

const daemonRow = (one: Overview['daemons'][number]): readonly (string | number)[] => [
  ...[one.daemon, one.leads ? 'yes' : 'no', one.runs, one.failed],
  ...[agoOf(one.lastRunAgo), agoOf(one.lastSuccessAgo)],
];

const jobRow = (job: NonNullable<Overview['oldestJobs']>[number], now: number): readonly (string | number)[] => [
  ...[job.id, job.lane, job.state, job.datasetId, duration(Math.max(0, now - Date.parse(job.created)) / 1_000)],
  ...[job.attempts, job.message ?? ''],
];
