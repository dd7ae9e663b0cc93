// One reading of a running server: its metrics, its health and, for administrators, the oldest jobs.

import type { Clock } from '../../../engine/runtime/time.ts';
import type { DependencyHealth } from '../../../http/kernel/pipeline/ops.ts';
import { AdminClient } from '../client/admin-client.ts';
import type { ReportedHistory, ReportedJob } from '../client/admin-reports.ts';
import { bodyOf, callApi, withDeadline } from '../client/api-call.ts';
import { ApiError } from '../command.ts';

export interface Dependency {
  readonly name: string;
  readonly status: string;
  readonly message?: string | undefined;
}

/** What operators have paused, as /health shows it. */
export interface PausedPart {
  readonly kind: string;
  readonly name: string;
  readonly since: string;
  readonly until?: string;
}

/** Jobs that wait or run, oldest first; or why they are not available. */
type OldestJobs =
  | { readonly at: number; readonly jobs: readonly ReportedJob[] }
  | { readonly at: number; readonly hidden: string };

export interface Reading {
  /** Milliseconds of the clock. */
  readonly at: number;
  readonly samples: MetricSamples;
  readonly status: string;
  readonly version: string;
  readonly dependencies: readonly Dependency[];
  readonly paused: readonly PausedPart[];
  readonly oldest: OldestJobs;
  /** The last hour of each lane; absent without an administrator's token, or right after the start. */
  readonly history?: { readonly at: number; readonly series: ReportedHistory['series'] };
}

export interface ReadingSource {
  readonly server: string;
  readonly adminToken: string | undefined;
}

/** Longer than the server's own probes take. */
const CALL_MS = 5_000;
/** Listing jobs costs the database more than a scrape does. */
const JOBS_EVERY_MS = 5_000;
const JOBS = 5;
/** The server samples every 15 s. */
const HISTORY_EVERY_MS = 15_000;
/** Seconds: 20 values in the hour that the server shows by default. */
const HISTORY_STEP = 180;

/** Rejects like {@link callApi} when there is no response within 5 s. */
export async function read(
  source: ReadingSource,
  before: Reading | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<Reading> {
  const { server } = source;
  const limit = withDeadline(signal, CALL_MS);
  const fresh = before !== undefined && clock.now() - before.oldest.at < JOBS_EVERY_MS;
  const [samples, health, oldest, history] = await Promise.all([
    callApi({ server, path: '/metrics', headers: {} }, limit).then(
      async (answer) => new MetricSamples(await answer.text()),
    ),
    callApi({ server, path: '/health', headers: {} }, limit).then(bodyOf),
    fresh ? before.oldest : oldestJobs(source, clock, limit),
    lanesHistory(source, before, clock, limit),
  ]);
  return { at: clock.now(), samples, oldest, ...(history ? { history } : {}), ...healthOf(health) };
}

/** The curves are an extra: without a history, they are left out. */
async function lanesHistory(
  { server, adminToken }: ReadingSource,
  before: Reading | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<Reading['history']> {
  const at = clock.now();
  if (before?.history && at - before.history.at < HISTORY_EVERY_MS) return before.history;
  if (adminToken === undefined) return undefined;
  try {
    const { series } = await new AdminClient({ server, adminToken }).history('lane.', HISTORY_STEP, signal);
    return { at, series };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  }
}

async function oldestJobs(
  { server, adminToken }: ReadingSource,
  clock: Clock,
  signal: AbortSignal,
): Promise<OldestJobs> {
  const at = clock.now();
  if (adminToken === undefined) return { at, hidden: '--admin-token T shows them' };
  const client = new AdminClient({ server, adminToken });
  const states = ['running', 'queued', 'delayed'];
  try {
    const reports = await Promise.all(states.map((state) => client.jobs({ state, limit: JOBS }, signal)));
    const jobs = reports.flatMap(({ results }) => results);
    return { at, jobs: jobs.sort((a, b) => (a.created < b.created ? -1 : 1)).slice(0, JOBS) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { at, hidden: error.message };
  }
}

function healthOf(body: unknown): Pick<Reading, 'status' | 'version' | 'dependencies' | 'paused'> {
  const { status, version, dependencies, paused } = body as {
    status?: string;
    version?: string;
    dependencies?: readonly DependencyHealth[];
    paused?: readonly PausedPart[];
  };
  return {
    status: String(status ?? 'unknown'),
    version: String(version ?? 'unknown'),
    paused: paused ?? [],
    dependencies: (dependencies ?? []).map(({ name, online, message }) => ({
      name,
      status: online === 'yes' ? 'healthy' : 'unhealthy',
      ...(message === undefined ? {} : { message }),
    })),
  };
}

// Parses a server's /metrics, in the Prometheus text format (version 0.0.4), into values by name and labels.

export type SampleLabels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: SampleLabels;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export class MetricSamples {
  readonly #samples = new Map<string, Sample[]>();

  /** Lines that are not samples are skipped. */
  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
      if (name === undefined || value === undefined) continue;
      const samples = this.#samples.get(name) ?? [];
      samples.push({ labels: labelsOf(labels), value: numberOf(value) });
      this.#samples.set(name, samples);
    }
  }

  /** The sum over all samples that have these labels. Undefined when there are none. */
  value(name: string, labels: SampleLabels = {}): number | undefined {
    const found = (this.#samples.get(name) ?? []).filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** The distinct values of a label in the samples of a name, in the order of the text. */
  values(name: string, label: string): readonly string[] {
    const found = (this.#samples.get(name) ?? []).flatMap(({ labels }) => labels[label] ?? []);
    return [...new Set(found)];
  }
}

const labelsOf = (text: string): SampleLabels =>
  Object.fromEntries([...text.matchAll(LABEL)].map(([, key = '', value = '']) => [key, unescaped(value)]));

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
