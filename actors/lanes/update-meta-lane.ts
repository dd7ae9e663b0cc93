// The update-meta lane copies metadata from the object store into the cache and into every install target. The plugin then
// installs them where the data are installed (install-meta.ts). The metadata of a new dataset are installed by the install
// lane, right after the data. What then has to wait comes here.

import type { DataType, DataTypes } from '../../engine/model/data-types.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import { isDeleted } from '../../engine/model/status.ts';
import type {
  Catalog,
  CatalogChange,
  DatasetRecord,
  DatasetWithAttempts,
  ObjectVersion,
} from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome, Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { RetryPolicy } from '../../engine/runtime/retry.ts';
import { combinedVersion, isInstalled, metaIsCurrent, sameVersion } from '../dataset/dataset-versions.ts';
import { onEachGroup } from '../dataset/shared-data.ts';
import {
  dropAttempt,
  type InstallTargets,
  mirror,
  propertyFiles,
  requestSharing,
  targetsOf,
} from '../dataset/site-targets.ts';
import { readMetadata, type Stored } from '../dataset/stored-documents.ts';
import { DONE, type FailedOutcome, type JobHandler } from '../jobs/job-handler.ts';
import { Paused } from '../pauses/paused-work.ts';
import { ensureRegistered, fileEntries } from '../reconciliation/reconcile-registration.ts';
import type { TaskRunner } from '../tasks/task-map.ts';
import { controlDocument, metaStep } from './install-meta.ts';
import { nextTry, reportInstalls } from './install-outcome.ts';
import { failStep, runStep, type StepPorts, type StepResult } from './install-step.ts';

interface UpdateMetaLanePorts extends StepPorts {
  readonly catalog: Catalog;
  readonly jobs: Jobs;
  readonly store: ObjectStore;
  readonly tasks: TaskRunner;
  readonly targets: InstallTargets;
}

interface Work {
  readonly job: ClaimedJob;
  readonly record: DatasetWithAttempts;
  readonly type: DataType;
  readonly version: ObjectVersion;
  readonly properties: readonly ObjectInfo[];
}

export class UpdateMetaLane implements JobHandler {
  readonly lane = 'updateMeta';
  readonly #ports: UpdateMetaLanePorts;
  readonly #types: DataTypes;
  readonly #retry: RetryPolicy;

  constructor(ports: UpdateMetaLanePorts, types: DataTypes, retry: RetryPolicy) {
    this.#ports = ports;
    this.#types = types;
    this.#retry = retry;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    const known = await ensureRegistered(catalog, store, job, signal);
    if (!known || isDeleted(known.state) || known.state === 'superseded') return DONE;
    const stored = await readMetadata(store, known, signal);
    if (!stored) return DONE;
    const record = { ...known, metadata: stored.document };
    const properties = await propertyFiles(store, record, signal);
    const isNew = await this.#writeCache(job, known, stored, properties, signal);
    const done: JobOutcome = isNew ? { kind: 'done', did: 'metadata written to the cache' } : DONE;
    const type = this.#types.find(record.metadata.type);
    if (!type || record.import?.status !== 'complete') return done;

    const version = combinedVersion(stored.version, properties);
    const work = { job, record, type, version, properties };
    const targets = targetsOf(record, type, this.#types, this.#ports.targets);
    const results = await onEachGroup(targets, (target) => this.#updateOn(work, target, signal));
    const outcome = nextTry(results, this.#ports.clock.now());
    return outcome.kind === 'done' ? done : outcome;
  }

  /** Steps report their own failures; this reports failures outside of them. */
  report(job: ClaimedJob, outcome: FailedOutcome, signal: AbortSignal): Promise<void> {
    return reportInstalls(this.#ports.catalog, job, 'meta', outcome, signal);
  }

  /**
   * Writes the list of properties in every run: it can change without the metadata, and the cache stores no version of it. Returns
   * false when the cache already has the metadata.
   */
  async #writeCache(
    job: ClaimedJob,
    known: DatasetRecord,
    stored: Stored<DatasetMetadata>,
    properties: readonly ObjectInfo[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const files = fileEntries(properties);
    const changes: CatalogChange[] = [{ set: 'propertyFiles', files }];
    const isNew = !sameVersion(known.sync.meta, stored.version);
    if (isNew)
      changes.push(
        { set: 'metadata', metadata: stored.document },
        { set: 'sync', part: 'meta', version: stored.version },
      );
    await this.#ports.catalog.write(job.dataset, job.lease, changes, signal);
    return isNew;
  }

  async #updateOn(work: Work, target: InstallTarget, signal: AbortSignal): Promise<StepResult | undefined> {
    const { job, record } = work;
    const { catalog } = this.#ports;
    const step = metaStep(work, work.version, target, this.#ports.tasks, signal);
    let state: ControlState;
    try {
      state = await target.state(job.dataset, signal);
    } catch (error) {
      if (kindOf(error) === 'aborted' || signal.aborted) throw error;
      const copy = record.installs.find((install) => install.target === target.id && install.kind === 'data');
      if (copy?.status !== 'complete') {
        this.#passOver(job, target, error);
        await dropAttempt(catalog, job, step.attempt, signal);
        return undefined;
      }
      return failStep(job, step, error, this.#retry, this.#ports, signal);
    }
    if (state.deletedStatus !== 0) return undefined;
    // Before the rows exist, so that a crash in between cannot lose the request.
    await requestSharing(this.#ports.jobs, job, record, state, 'update-meta-lane', signal);
    const installed = isInstalled(state);
    if (installed && !metaIsCurrent(state, work.version)) return runStep(job, step, this.#retry, this.#ports, signal);
    if (!installed) await this.#writeAhead(work, target, signal);
    await mirror(catalog, job, record, target.id, state, step.attempt ? [step.attempt] : [], signal);
    return undefined;
  }

  /** Nothing is installed yet: the rows are written ahead of the data, as private. */
  async #writeAhead(work: Work, target: InstallTarget, signal: AbortSignal): Promise<void> {
    try {
      const change = { document: controlDocument(work, false) };
      await target.write(work.job.dataset, change, work.job.lease.token, signal);
    } catch (error) {
      if (kindOf(error) === 'aborted' || signal.aborted) throw error;
      this.#passOver(work.job, target, error);
    }
  }

  /**
   * Without data, nobody sees the rows, and the install writes them itself. Waiting for this target would delay the dataset's
   * install on all the others, because an update runs before an install.
   */
  #passOver(job: ClaimedJob, target: InstallTarget, error: unknown): undefined {
    if (error instanceof Paused) return;
    const about = { dataset: job.dataset, event: job.eventId, target: target.id };
    this.#ports.log.warn(
      { ...about, err: messageOf(error) },
      'rows of a dataset that is not installed yet could not be written; skipped',
    );
  }
}
