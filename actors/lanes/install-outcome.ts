// The outcome of a job whose work is install steps: whether it is retried, and what the owner reads when it failed as a whole.

import type { InstallKind } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import { outcomeText } from '../../engine/runtime/owner-text.ts';
import { linesOf } from '../dataset/site-targets.ts';
import { DONE, type FailedOutcome } from '../jobs/job-handler.ts';
import type { StepResult } from './install-step.ts';

/**
 * The outcome of the job: that of its steps once all are over, otherwise a retry when the first waiting step is due. Steps count
 * their own attempts.
 */
export function nextTry(results: readonly (StepResult | undefined)[], nowMs: number): JobOutcome {
  const waiting = results.filter((result) => result?.kind === 'waiting');
  if (waiting.length === 0) return outcomeOf(results);
  const delayMs = Math.max(0, Math.min(...waiting.map(({ untilMs }) => untilMs)) - nowMs);
  const reasons = new Set(waiting.flatMap(({ why }) => why ?? []));
  const message = reasons.size > 0 ? [...reasons].join('; ') : 'waiting for install targets';
  return { kind: 'retry', delayMs, message, countsAttempt: false };
}

/** Steps that failed in this attempt decide. `failed` takes precedence over `invalid`. */
function outcomeOf(results: readonly (StepResult | undefined)[]): JobOutcome {
  const faults = results.flatMap((result) => (result?.kind === 'over' && result.fault) || []);
  const worst = faults.find(({ kind }) => kind === 'failed') ?? faults[0];
  return worst ? { ...worst, message: faults.map(({ message }) => message).join('; ') } : DONE;
}

/**
 * What the owner reads when an install or update-meta job failed as a whole, for example because the store is unavailable. Only
 * the mirror is written. The targets' own statuses stay as they are, so the next attempt finds the same work.
 */
export async function reportInstalls(
  catalog: Catalog,
  job: ClaimedJob,
  kind: InstallKind,
  outcome: FailedOutcome,
  signal: AbortSignal,
): Promise<void> {
  const record = await catalog.find(job.dataset, signal);
  if (record?.import?.status !== 'complete') return;
  const status = outcome.kind === 'retry' ? 'queued' : 'failed-installation';
  const messages = linesOf([outcomeText(outcome)]);
  const changes = record.metadata.installTargets
    .filter((target) => isOpen(record, target, kind))
    .map((target): CatalogChange => ({ set: 'install', target, kind, status, messages }));
  if (changes.length > 0) await catalog.write(job.dataset, job.lease, changes, signal);
}

/** The target has no final status yet. Metadata are due only where the data are installed. */
function isOpen(
  record: DatasetRecord,
  target: DatasetRecord['installs'][number]['target'],
  kind: InstallKind,
): boolean {
  const statusOf = (of: InstallKind): string | undefined =>
    record.installs.find((install) => install.target === target && install.kind === of)?.status;
  if (kind === 'meta' && statusOf('data') !== 'complete') return false;
  return [undefined, 'queued', 'running'].includes(statusOf(kind));
}
