// The install lane: one job per dataset. The job's due targets run in parallel, each as its own step; targets that share a data
// schema run one after the other. If an install may have begun before, an uninstall precedes it, so rows are never duplicated
// (install-data.ts). A revision that is installed everywhere supersedes the older ones.

import type { DataType, DataTypes } from '../../engine/model/data-types.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { type InstallStatus, isDeleted } from '../../engine/model/status.ts';
import type { Catalog, DatasetRecord, InstallAttempt, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome, Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { RetryPolicy } from '../../engine/runtime/retry.ts';
import {
  combinedVersion,
  dataAreDue,
  isInstalled,
  metaIsCurrent,
  sameVersion,
  versionOf,
} from '../dataset/dataset-versions.ts';
import { type Neighbour, neighboursOf, onEachGroup } from '../dataset/shared-data.ts';
import {
  dropAttempt,
  type InstallTargets,
  mirror,
  propertyFiles,
  requestSharing,
  targetsOf,
} from '../dataset/site-targets.ts';
import { flagOlder } from '../dataset/stored-dataset.ts';
import { readManifest } from '../dataset/stored-documents.ts';
import { DONE, type FailedOutcome, type JobHandler } from '../jobs/job-handler.ts';
import { ensureRegistered } from '../reconciliation/reconcile-registration.ts';
import type { TaskRunner } from '../tasks/task-map.ts';
import { installData } from './install-data.ts';
import { nextTry, reportInstalls, runStep, type Step, type StepPorts, type StepResult } from './install-step.ts';

interface InstallLanePorts extends StepPorts {
  readonly catalog: Catalog;
  readonly jobs: Jobs;
  readonly store: ObjectStore;
  readonly tasks: TaskRunner;
  readonly targets: InstallTargets;
  readonly log: Logger;
}

/** What all targets of one attempt share. */
interface Work {
  readonly job: ClaimedJob;
  readonly record: DatasetRecord;
  readonly type: DataType;
  readonly payload: ObjectInfo;
  readonly version: ObjectVersion;
  readonly manifest: string;
  readonly properties: readonly ObjectInfo[];
  readonly attempts: readonly InstallAttempt[];
}

export class InstallLane implements JobHandler {
  readonly lane = 'install';
  readonly #ports: InstallLanePorts;
  readonly #types: DataTypes;
  readonly #retry: RetryPolicy;

  constructor(ports: InstallLanePorts, types: DataTypes, retry: RetryPolicy) {
    this.#ports = ports;
    this.#types = types;
    this.#retry = retry;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const work = await this.#gather(job, signal);
    if (!work) return DONE;
    const targets = targetsOf(work.record, work.type, this.#types, this.#ports.targets);
    const results = await onEachGroup(targets, (target) => this.#installOn(work, target, signal));
    await this.#supersede(work, results, signal);
    return nextTry(results, this.#ports.clock.now());
  }

  /** Steps report their own failures; this reports failures outside of them. */
  report(job: ClaimedJob, outcome: FailedOutcome, signal: AbortSignal): Promise<void> {
    return reportInstalls(this.#ports.catalog, job, 'data', outcome, signal);
  }

  async #gather(job: ClaimedJob, signal: AbortSignal): Promise<Work | undefined> {
    const { catalog, store } = this.#ports;
    const record = await ensureRegistered(catalog, store, job, signal);
    if (!record || isDeleted(record.state) || record.state === 'superseded') return undefined;
    if (record.import?.status !== 'complete') return undefined;
    const type = this.#types.find(record.metadata.type);
    const payload = await store.head(objectKey(record, 'install-ready.zip'), signal);
    const manifest = await readManifest(store, record, signal);
    if (!type || !payload || !manifest) return undefined;
    const version = versionOf(payload);
    // An import that had lost its lease may have replaced the archive without being able to update the cache.
    if (!sameVersion(record.sync.data, version))
      await catalog.write(job.dataset, job.lease, [{ set: 'sync', part: 'data', version }], signal);
    return {
      job,
      record,
      type,
      payload,
      version,
      manifest: manifest.text,
      properties: await propertyFiles(store, record, signal),
      attempts: await catalog.attempts(job.dataset, signal),
    };
  }

  async #installOn(work: Work, target: InstallTarget, signal: AbortSignal): Promise<StepResult | undefined> {
    const { job, record, type } = work;
    const attempt = work.attempts.find((one) => one.target === target.id && one.kind === 'data');
    const step: Omit<Step, 'begun' | 'prepare' | 'call'> = {
      target,
      kind: 'data',
      plugin: type.plugin,
      version: work.version,
      attempt,
      conclude: (status) => this.#requestMeta(job, status, signal),
    };
    // If a target does not answer, its own step waits and the others go on.
    const wait = (error: unknown): Promise<StepResult> => {
      const fail = async (): Promise<never> => Promise.reject(error);
      const waiting = { ...step, begun: attempt?.started ? true : undefined, prepare: fail, call: fail };
      return runStep(job, waiting, this.#retry, this.#ports, signal);
    };
    let state: ControlState;
    try {
      state = await target.state(job.dataset, signal);
    } catch (error) {
      return wait(error);
    }
    // Before the rows exist, so that a crash in between cannot lose the request.
    if (state.deletedStatus === 0)
      await requestSharing(this.#ports.jobs, job, record, state, 'install-data-lane', signal);
    if (state.deletedStatus !== 0 || !dataAreDue(state, work.version)) {
      if (metaAreStale(work, state)) await this.#requestMeta(job, 'complete', signal);
      await mirror(this.#ports.catalog, job, record, target.id, state, signal);
      await dropAttempt(this.#ports.catalog, job, attempt, signal);
      const status = state.deletedStatus === 0 ? state.messages.data?.status : undefined;
      return status && { kind: 'over', status };
    }
    let neighbours: readonly Neighbour[];
    try {
      neighbours = await neighboursOf(target, this.#ports.targets, job.dataset, signal);
    } catch (error) {
      return wait(error);
    }
    const begun = attempt?.started === true || state.messages.data !== undefined;
    const place = { target, begun, neighbours };
    const due: Step = {
      ...step,
      begun,
      prepare: () => this.#prepare(work, target, state, signal),
      call: () => installData({ ...work, plugin: type.plugin, metadata: record.metadata }, place, this.#ports, signal),
    };
    return runStep(job, due, this.#retry, this.#ports, signal);
  }

  /** Older revisions stay installed until this one is installed on every enabled target that its type applies to. */
  async #supersede(
    { job, record }: Work,
    results: readonly (StepResult | undefined)[],
    signal: AbortSignal,
  ): Promise<void> {
    const installed = results.every((result) => result?.kind === 'over' && result.status === 'complete');
    if (!installed || results.length === 0) return;
    const older = await flagOlder(this.#ports.store, record, 'revised-flag', signal);
    if (older.length === 0) return;
    this.#ports.log.info({ dataset: job.dataset, event: job.eventId, older }, 'older revisions superseded');
  }

  async #prepare(work: Work, target: InstallTarget, state: ControlState, signal: AbortSignal): Promise<void> {
    const { job, record, type } = work;
    const { owner, dataset, metadata } = record;
    if (!state.present)
      await target.writeDataset(
        { owner, dataset, metadata, category: type.category, showVisibility: false },
        job.lease.token,
        signal,
      );
    const meta = state.messages.meta?.status;
    if (meta === undefined || meta === 'queued') return;
    // With the data, the plugin removes installed metadata, so the metadata must be installed again afterwards.
    await target.writeMessage(dataset, 'meta', { status: 'queued' }, job.lease.token, signal);
    const queued = { set: 'install', target: target.id, kind: 'meta', status: 'queued', messages: [] } as const;
    await this.#ports.catalog.write(dataset, job.lease, [queued], signal);
  }

  /** Before the status says that the data are installed, so that a crash in between cannot lose the request. */
  async #requestMeta(job: ClaimedJob, status: InstallStatus, signal: AbortSignal): Promise<void> {
    if (status !== 'complete') return;
    const { owner, dataset, eventId } = job;
    const request = { lane: 'updateMeta', owner, dataset, eventId, source: 'install-data-lane' } as const;
    await this.#ports.jobs.enqueue([request], signal);
  }
}

/**
 * The update-meta lane skips an unavailable target while the cache does not know that the data are installed there. That
 * happens when the attempt that installed them crashed before it recorded this, or when a later one could not ask the target.
 */
function metaAreStale({ record: { sync }, properties }: Work, state: ControlState): boolean {
  if (!isInstalled(state)) return false;
  return sync.meta === undefined || !metaIsCurrent(state, combinedVersion(sync.meta, properties));
}
