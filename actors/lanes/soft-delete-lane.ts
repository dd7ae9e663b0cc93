// The soft-delete lane uninstalls a dataset that is deleted, or superseded by a newer revision, from its install targets. Its
// objects stay, for an undelete and for the history. States in the cache, by the flags in the store:
//   delete-flag          live, superseded -> deleting -> deleted (nothing of it is installed anywhere)
//   revised-flag alone   live -> superseded
// The state is written first, so that from then on no other lane works on the dataset. It is written only if it still is the
// state that was read before the flags. An undelete removes the flag and then writes the state, so neither of its effects is
// overwritten.

import type { DataTypes } from '../../engine/model/data-types.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { type DatasetState, isDeleted } from '../../engine/model/status.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import { flagOlder, type RevisionFlag } from '../dataset/stored-dataset.ts';
import { DONE, type JobHandler } from '../jobs/job-handler.ts';
import { registration } from '../reconciliation/reconcile-registration.ts';
import { readSnapshot, type SnapshotPorts } from '../reconciliation/reconcile-snapshot.ts';
import type { TaskRunner } from '../tasks/task-map.ts';
import { onEachTarget, uninstallFrom } from './uninstall.ts';

interface SoftDeleteLanePorts extends SnapshotPorts {
  readonly tasks: TaskRunner;
}

type Flags = ReadonlySet<RevisionFlag>;

/** States in which nothing of a dataset may be installed anywhere, and which can be undone. */
const WITHDRAWN: readonly DatasetState[] = ['superseded', 'deleting', 'deleted'];

export class SoftDeleteLane implements JobHandler {
  readonly lane = 'softDelete';
  readonly #ports: SoftDeleteLanePorts;
  readonly #types: DataTypes;

  constructor(ports: SoftDeleteLanePorts, types: DataTypes) {
    this.#ports = ports;
    this.#types = types;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store, log } = this.#ports;
    const known = await catalog.find(job.dataset, signal);
    const flags = await this.#flags(job, signal);
    if (flags.size === 0) return DONE;
    const record = known ? await this.#mark(job, known, flags, signal) : await this.#register(job, signal);
    if (!record || !WITHDRAWN.includes(record.state)) return DONE;
    if (flags.has('delete-flag') && !flags.has('revised-flag')) {
      // Deleting the newest revision deletes all others too.
      const older = await flagOlder(store, record, 'delete-flag', signal);
      if (older.length > 0)
        log.info(
          { dataset: job.dataset, event: job.eventId, older },
          'older revisions marked for deletion with the newest',
        );
    }
    const attempts = await catalog.attempts(job.dataset, signal);
    const removal = { job, record, attempts, types: this.#types };
    await onEachTarget(this.#enabled(record), (target) => uninstallFrom(target, removal, this.#ports, signal));
    // A disabled target can be uninstalled from only once it is enabled again.
    const everywhere = record.metadata.installTargets.every((id) => this.#ports.targets.has(id));
    if (!flags.has('delete-flag') || record.state !== 'deleting' || !everywhere)
      return record.state === known?.state ? DONE : { kind: 'done', did: `dataset ${record.state}` };
    // Scripts may have run for long. An undelete in the meantime has written its state to the cache, which must stay.
    if (await store.head(objectKey(job, 'delete-flag'), signal))
      await catalog.write(job.dataset, job.lease, [{ set: 'state', state: 'deleted', from: 'deleting' }], signal);
    return { kind: 'done', did: 'dataset deleted' };
  }

  /** For its owner the dataset is gone already. Operators find the failure in the job table. */
  async report(): Promise<void> {}

  async #flags(job: ClaimedJob, signal: AbortSignal): Promise<Flags> {
    const flags = new Set<RevisionFlag>();
    for (const flag of ['delete-flag', 'revised-flag'] as const)
      if (await this.#ports.store.head(objectKey(job, flag), signal)) flags.add(flag);
    return flags;
  }

  /** The record in the state that the flags ask for, or in the state that its owner set in the meantime. */
  async #mark(
    job: ClaimedJob,
    known: DatasetRecord,
    flags: Flags,
    signal: AbortSignal,
  ): Promise<DatasetRecord | undefined> {
    const { catalog } = this.#ports;
    const state = stateAfter(known.state, flags);
    if (state === known.state) return known;
    await catalog.write(job.dataset, job.lease, [{ set: 'state', state, from: known.state }], signal);
    return catalog.find(job.dataset, signal);
  }

  /** Undefined when the dataset has no readable metadata. */
  async #register(job: ClaimedJob, signal: AbortSignal): Promise<DatasetRecord | undefined> {
    const { catalog, log } = this.#ports;
    const reading = await readSnapshot(this.#ports, this.#types, job, signal);
    if ('why' in reading) {
      if (reading.why === 'receiving') return undefined;
      // Reconciliation reports it.
      const about = { dataset: job.dataset, owner: job.owner, event: job.eventId };
      log.warn(
        { ...about, why: reading.why, err: reading.reason },
        'a dataset marked deleted or revised has no readable metadata',
      );
      return undefined;
    }
    const { snapshot } = reading;
    await catalog.register(job, snapshot.metadata, registration(snapshot), job.lease, signal);
    return catalog.find(job.dataset, signal);
  }

  #enabled(record: DatasetRecord): readonly InstallTarget[] {
    return [...new Set(record.metadata.installTargets)].flatMap((id) => this.#ports.targets.get(id) ?? []);
  }
}

/** An undelete is not decided here: a deleted dataset stays deleted even without its flag. */
function stateAfter(state: DatasetState, flags: Flags): DatasetState {
  if (isDeleted(state)) return state;
  return flags.has('delete-flag') ? 'deleting' : 'superseded';
}
