// What the owner reads when an install or update-meta job failed as a whole, for example because the store is unavailable. Only
// the mirror is written. The targets' own statuses stay as they are, so the next attempt finds the same work.

import type { InstallKind } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import { publicOutcome } from '../../engine/runtime/public-message.ts';
import { linesOf } from '../dataset/site-targets.ts';

export async function reportInstalls(
  catalog: Catalog,
  job: ClaimedJob,
  kind: InstallKind,
  outcome: JobOutcome & { readonly kind: 'retry' | 'dead' },
  signal: AbortSignal,
): Promise<void> {
  const record = await catalog.find(job.dataset, signal);
  if (record?.import?.status !== 'complete') return;
  const status = outcome.kind === 'retry' ? 'queued' : 'failed-installation';
  const messages = linesOf([publicOutcome(outcome)]);
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
