// The step that installs a dataset's metadata on one target, for the install lane and for the update-meta lane. Only when the
// plugin has installed them the target shows the dataset to others.

import type { DataType } from '../../engine/model/data-types.ts';
import type { DatasetWithAttempts, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlDocument, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { fileName } from '../dataset/site-targets.ts';
import { objectFile, type TaskRunner } from '../tasks/task-map.ts';
import type { Step } from './install-step.ts';

/** The same for all targets of a job. */
interface MetaWork {
  readonly job: ClaimedJob;
  readonly record: DatasetWithAttempts;
  readonly type: DataType;
  readonly properties: readonly ObjectInfo[];
}

/**
 * @param version of the record's metadata together with the properties
 * @param written this job has written the rows on the target
 */
export function metaStep(
  work: MetaWork,
  version: ObjectVersion,
  target: InstallTarget,
  tasks: TaskRunner,
  signal: AbortSignal,
  written = false,
): Step {
  const { job, record, type } = work;
  return {
    target,
    kind: 'meta',
    plugin: type.plugin,
    version,
    attempt: record.attempts.find((one) => one.target === target.id && one.kind === 'meta'),
    // They are stored with the data and removed with them, so their marks never make an uninstall due.
    begun: true,
    call: () =>
      tasks.run(
        'install-meta',
        {
          plugin: type.plugin,
          eventId: job.eventId,
          dataset: job.dataset,
          traceparent: job.traceparent,
          target: target.id,
          metadata: record.metadata,
          properties: work.properties.map((info) => objectFile(info, fileName(info.key))),
        },
        { signal, alone: job.alone, owner: job.owner },
      ),
    end: (status) => ({ document: { ...controlDocument(work, status === 'complete'), written } }),
  };
}

export const controlDocument = (
  { record: { owner, metadata }, type: { category } }: Pick<MetaWork, 'record' | 'type'>,
  showVisibility: boolean,
): ControlDocument => ({ owner, metadata, category, showVisibility });
