// The documents in which the handler service describes itself and its jobs (docs/contract/handler.md#options), with schemas.

import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { HANDLER_ORIGINS, HANDLER_STATUS, isRunning } from '../../engine/model/handler-job.ts';
import type { HandlerCounts, HandlerJob, HandlerPlaces } from '../../engine/ports/handler-jobs.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { type ErrorWord, HttpError } from '../kernel/pipeline/errors.ts';
import { findProgram, Health, type HealthCheck, type HealthReport } from '../kernel/pipeline/ops.ts';
import { MAX_UPLOAD_BYTES } from './upload-body.ts';

export interface HandlerOptions {
  readonly serviceName: string;
  readonly port: number;
  readonly configPath: string;
  readonly commands: readonly { readonly command: string; readonly arguments: readonly string[] }[];
}

export const optionsDocument = ({ serviceName, port, configPath, commands }: HandlerOptions): object => ({
  serviceName,
  port,
  configPath,
  commands: commands.map((one) => ({ command: one.command, arguments: one.arguments })),
  fileTypes: ['.zip', '.tar.gz', '.tgz'],
  maxUploadSize: MAX_UPLOAD_BYTES,
});

export function statusDocument(job: HandlerJob, now: Date): object {
  const { started, ended, state, message } = job;
  const until = isRunning(state) ? now : (ended ?? started);
  return {
    ...(started ? { started: started.toISOString() } : {}),
    duration: durationText(started && until ? Math.max(0, until.getTime() - started.getTime()) : 0),
    userId: job.registration.owner,
    jobId: job.jobId,
    status: HANDLER_STATUS[state],
    projects: job.registration.projects,
    size: job.size,
    ...(message === undefined ? {} : { message }),
  };
}

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const object = (required: readonly string[], properties: object): object => ({ type: 'object', required, properties });

export const OPTIONS_SCHEMA = object(['serviceName', 'port', 'configPath', 'commands'], {
  serviceName: text,
  port: { type: 'integer', minimum: 80, maximum: 65_535 },
  configPath: text,
  commands: {
    type: 'array',
    items: object(['command', 'arguments'], { command: text, arguments: { type: 'array', items: text } }),
  },
  fileTypes: { type: 'array', items: text, description: 'File name suffixes that may be uploaded' },
  maxUploadSize: { ...count, description: 'Maximum bytes of an upload' },
});

export const HEALTH_SCHEMA = object(['status', 'version', 'stats'], {
  status: { type: 'string', enum: ['healthy', 'degraded'] },
  version: text,
  stats: object(['byStatus', 'avgSize', 'avgDuration', 'largest', 'longest'], {
    byStatus: { type: 'object', additionalProperties: count },
    avgSize: count,
    avgDuration: text,
    largest: count,
    longest: text,
  }),
  // As in every other service.
  dependencies: Health.properties.dependencies,
  info: Health.properties.info,
});

export const METADATA_SCHEMA = object(['projects', 'owner', 'name'], {
  projects: { type: 'array', minItems: 1, uniqueItems: true, items: text },
  owner: { type: 'integer', minimum: 1 },
  name: { type: 'string', minLength: 3 },
  description: text,
  summary: text,
  origin: { type: 'string', enum: HANDLER_ORIGINS },
  handlerParams: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
});

export const STATUS_SCHEMA = object(['duration', 'userId', 'jobId', 'status', 'projects', 'size'], {
  started: { type: 'string', format: 'date-time' },
  duration: text,
  userId: { type: 'integer' },
  jobId: text,
  status: { type: 'string', enum: Object.values(HANDLER_STATUS) },
  projects: { type: 'array', items: text },
  size: count,
  message: text,
});

const errorSchema = (words: readonly ErrorWord[], extra: Readonly<Record<string, object>> = {}): object =>
  object(['status', 'message', ...Object.keys(extra)], {
    status: { type: 'string', enum: words },
    message: text,
    ...extra,
  });

export const PROBLEM_SCHEMA = errorSchema(['bad-request', 'unauthorized', 'not-found', 'bad-method', 'conflict']);
export const INVALID_SCHEMA = errorSchema(['invalid-input'], {
  errors: object(['general', 'byKey'], {
    general: { type: 'array', items: text },
    byKey: { type: 'object', additionalProperties: text },
  }),
});
export const SERVER_ERROR_SCHEMA = errorSchema(['server-error'], { requestId: text });

// Durations as this service prints them: `1m 2.345s`. engine/runtime/duration.ts can parse them.

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** @param ms 0 or more; cut to whole milliseconds */
export function durationText(ms: number): string {
  let rest = Math.trunc(ms);
  const groups: string[] = [];
  for (const [unit, length] of UNITS) {
    if (rest >= length) groups.push(`${Math.trunc(rest / length)}${unit}`);
    rest %= length;
  }
  if (rest > 0 || groups.length === 0) groups.push(`${rest / 1000}s`);
  return groups.join(' ');
}

// GET /health of the handler service: the contract's statistics, and checks of everything that a job needs.

interface HealthParts {
  readonly workDir: string;
  readonly commands: readonly string[];
  /** PATH of the commands. */
  readonly path: string;
  readonly maxUnpackedBytes: number;
  readonly lane: () => Pick<HandlerPlaces, 'taken' | 'capacity'>;
  readonly database: (signal: AbortSignal) => Promise<void>;
  readonly store: (signal: AbortSignal) => Promise<void>;
}

/** Checks are vital if no job can run without them. A service that is full or short of disk space is only degraded. */
export function handlerChecks(parts: HealthParts): readonly HealthCheck[] {
  const { workDir, commands, path, maxUnpackedBytes, lane } = parts;
  return [
    { name: 'cache-db', vital: true, probe: parts.database },
    { name: 'object-store', vital: true, probe: parts.store },
    { name: 'workspace', vital: true, probe: () => writable(workDir) },
    { name: 'disk', vital: true, probe: () => freeSpace(workDir, MAX_UPLOAD_BYTES) },
    { name: 'space', vital: false, probe: () => freeSpace(workDir, MAX_UPLOAD_BYTES + maxUnpackedBytes) },
    {
      name: 'places',
      vital: false,
      probe: async () => {
        if (lane().taken >= lane().capacity) throw transient('all places for jobs are taken');
      },
    },
    ...commands.map((command) => ({
      name: `command ${command}`,
      vital: true,
      probe: () => findProgram(command, path),
    })),
  ];
}

/** Returns the body of a 200. Throws the contract's 500 when something vital is missing. */
export function healthDocument(report: HealthReport, counts: HandlerCounts): object {
  if (report.status === 'unhealthy') {
    const failed = report.dependencies.filter(({ online }) => online !== 'yes');
    const texts = failed.map(({ name, message = 'the check failed' }) => `${name}: ${message}`);
    throw new HttpError('server-error', texts.join('; '));
  }
  const { byStatus, uploads, uploadedBytes, largest, runs, runMs, longestMs } = counts;
  return {
    status: report.status,
    version: report.version,
    stats: {
      byStatus,
      avgSize: uploads === 0 ? 0 : Math.round(uploadedBytes / uploads),
      avgDuration: durationText(runs === 0 ? 0 : runMs / runs),
      largest,
      longest: durationText(longestMs),
    },
    dependencies: report.dependencies,
    info: report.info,
  };
}

async function writable(dir: string): Promise<void> {
  await access(dir, constants.W_OK).catch((cause: unknown) => {
    throw transient('the workspace folder does not exist or is not writable', { cause });
  });
}

async function freeSpace(dir: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir).catch((cause: unknown) => {
    throw transient('the workspace folder does not exist', { cause });
  });
  if (bavail * bsize < bytes) throw transient(`${bavail * bsize} bytes are free, less than the ${bytes} of one job`);
}
