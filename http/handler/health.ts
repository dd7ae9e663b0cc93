// GET /health of the handler service: the contract's statistics, and checks of everything that a job needs.

import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import type { HandlerCounts } from '../../engine/ports/handler-jobs.ts';
import type { HandlerPlaces } from '../../engine/ports/handler-runs.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { HttpError } from '../kernel/pipeline/errors.ts';
import { findProgram } from '../kernel/pipeline/find-program.ts';
import type { HealthCheck, HealthReport } from '../kernel/pipeline/ops.ts';
import { durationText } from './documents.ts';
import { MAX_UPLOAD_BYTES } from './upload-body.ts';

export interface HealthParts {
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
