// Formats an overview as the lines that `longshore top` draws.

import { bytes, digits, duration } from '../terminal/amounts.ts';
import { displayWidth } from '../terminal/display-width.ts';
import { oneLine } from '../terminal/plain-text.ts';
import type { ScreenLine } from '../terminal/screen.ts';
import { type Column, tableLines } from '../terminal/table.ts';
import type { Overview } from './overview.ts';

/** Since when the server has not responded, and why. */
export interface Away {
  readonly since: Date;
  readonly reason: string;
}

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
    part(LANES, overview.lanes.map(laneRow)),
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

const agoOf = (seconds: number | undefined): string => (seconds === undefined ? '' : `${duration(seconds)} ago`);

const daemonRow = (one: Overview['daemons'][number]): readonly (string | number)[] => [
  ...[one.daemon, one.leads ? 'yes' : 'no', one.runs, one.failed],
  ...[agoOf(one.lastRunAgo), agoOf(one.lastSuccessAgo)],
];

const jobRow = (job: NonNullable<Overview['oldestJobs']>[number], now: number): readonly (string | number)[] => [
  ...[job.id, job.lane, job.state, job.datasetId, duration(Math.max(0, now - Date.parse(job.created)) / 1_000)],
  ...[job.attempts, job.message ?? ''],
];
