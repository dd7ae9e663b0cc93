// The hard-delete lane removes what is left of a dataset whose metadata are gone from the store or whose deletion can no longer
// be undone. It also trims a superseded revision to what its history needs. The first row that applies decides:
//   pruning                           everything is removed
//   metadata exist, superseded        trimmed, if the pruner requested the job
//   metadata exist                    nothing: the event is outdated
//   metadata gone, from a reconciler  nothing while any object exists: the dataset is malformed, not absent
//   metadata gone                     everything is removed
// "Everything" means targets, then objects, then the cache's rows. Each step is idempotent, and the evidence that something
// must be removed goes last, so after a crash anywhere the job resumes.

import type { DataTypes } from '../../engine/model/data-types.ts';
import type { EventSource } from '../../engine/model/event.ts';
import { datasetPrefix, type ObjectKey, objectKey } from '../../engine/model/object-key.ts';
import { isDeleted } from '../../engine/model/status.ts';
import type { Catalog, DatasetRecord, DatasetWithAttempts } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { removeObjects } from '../dataset/remove-objects.ts';
import type { InstallTargets } from '../dataset/site-targets.ts';
import { DONE, type JobHandler } from '../jobs/job-handler.ts';
import type { TaskRunner } from '../tasks/task-map.ts';
import { onEachTarget, uninstallFrom } from './uninstall.ts';

interface HardDeleteLanePorts {
  readonly catalog: Catalog;
  readonly store: ObjectStore;
  readonly tasks: TaskRunner;
  readonly targets: InstallTargets;
  readonly log: Logger;
}

const RECONCILERS: readonly EventSource[] = ['full-reconciler', 'slim-reconciler'];
/** What a superseded revision keeps until the newest one is pruned, besides its properties and shares. */
const HISTORY = ['vdi-meta.json', 'vdi-manifest.json', 'import-ready.zip', 'revised-flag', 'delete-flag'];

export class HardDeleteLane implements JobHandler {
  readonly lane = 'hardDelete';
  readonly #ports: HardDeleteLanePorts;
  readonly #types: DataTypes;

  constructor(ports: HardDeleteLanePorts, types: DataTypes) {
    this.#ports = ports;
    this.#types = types;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    // A store that does not answer would look empty.
    await store.probe(signal);
    const record = await catalog.findWithAttempts(job.dataset, signal);
    if (record?.state === 'pruning') return this.#remove(job, record, signal);
    if (await store.head(objectKey(job, 'vdi-meta.json'), signal))
      return record && (await this.#isToTrim(job, record, signal)) ? this.#trim(job, record, signal) : DONE;
    if (!RECONCILERS.includes(job.source) || !(await this.#hasObjects(job, signal)))
      return this.#remove(job, record, signal);
    this.#log('warn', job, 'dataset without metadata not deleted: it still has objects');
    return DONE;
  }

  /** For its owner the dataset is gone already. Operators find the failure in the job table. */
  async report(): Promise<void> {}

  /**
   * Also for a dataset that the cache does not know. It cannot be an upload in progress: an upload writes the metadata last,
   * and they are removed only when the upload is abandoned.
   */
  async #remove(job: ClaimedJob, record: DatasetWithAttempts | undefined, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    // From here on other lanes skip the dataset, in case the removal takes long.
    if (record && !isDeleted(record.state))
      await catalog.write(job.dataset, job.lease, [{ set: 'state', state: 'deleting' }], signal);
    await this.#purge(job, record, signal);
    // Nothing follows from it but this job.
    const last = ['vdi-meta.json', 'revised-flag', 'delete-flag'] as const;
    // For a dataset without a record no row is removed, so the bytes are uncounted with the objects.
    await removeObjects(store, job, { last, handedOver: true, ...(record ? { forgotten: true } : {}) }, signal);
    await catalog.remove(job.dataset, job.lease, signal);
    this.#log('info', job, 'dataset removed');
    return { kind: 'done', did: 'dataset removed' };
  }

  async #trim(job: ClaimedJob, record: DatasetWithAttempts, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    await this.#purge(job, record, signal);
    const files = (['installFiles', 'documentFiles'] as const).map((set) => ({ set, files: [] }));
    await catalog.write(job.dataset, job.lease, [...files, { set: 'trimmed' }], signal);
    // As long as this object exists, the revision counts as not trimmed.
    await removeObjects(store, job, { last: ['install-ready.zip'], keeps: isHistory }, signal);
    this.#log('info', job, 'superseded revision trimmed');
    return { kind: 'done', did: 'superseded revision trimmed' };
  }

  /** From every enabled target, because the metadata that list the targets may be gone. */
  async #purge(job: ClaimedJob, record: DatasetWithAttempts | undefined, signal: AbortSignal): Promise<void> {
    const { targets } = this.#ports;
    const removal = { job, record, attempts: record?.attempts ?? [], types: this.#types };
    await onEachTarget([...targets.values()], async (target) => {
      const present = await uninstallFrom(target, removal, this.#ports, signal);
      if (present) await target.purge(job.dataset, job.lease.token, signal);
    });
  }

  /** Only the pruner has checked how long ago the revision was superseded. */
  async #isToTrim(job: ClaimedJob, { state }: DatasetRecord, signal: AbortSignal): Promise<boolean> {
    if (state !== 'superseded' || job.source !== 'pruner') return false;
    return (await this.#ports.store.head(objectKey(job, 'revised-flag'), signal)) !== undefined;
  }

  async #hasObjects(job: ClaimedJob, signal: AbortSignal): Promise<boolean> {
    for await (const _object of this.#ports.store.list(datasetPrefix(job), {}, signal)) return true;
    return false;
  }

  #log(level: 'info' | 'warn', { dataset, owner, eventId, source }: ClaimedJob, message: string): void {
    this.#ports.log[level]({ dataset, owner, event: eventId, source }, message);
  }
}

function isHistory(key: ObjectKey): boolean {
  if (key.kind === 'object') return HISTORY.includes(key.object);
  return key.kind === 'share' || (key.kind === 'file' && key.folder === 'datasetProperties');
}
