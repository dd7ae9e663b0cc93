// The install lane: one job per dataset. The job's due targets run in parallel, each with two steps of its own: the data, then
// the metadata. Targets that share a data schema run one after the other, with the data of all of them first. If an install
// may have begun before, an uninstall precedes it, so rows are never duplicated (install-data.ts). A revision that is installed
// everywhere supersedes the older ones.
//
// Metadata that cannot be installed here and now are requested from the update-meta lane, which retries them. A crash does not
// lose the request: the job runs again until it ends, finds the data installed and the metadata not, and requests them.

import type { DataType, DataTypes } from '../../engine/model/data-types.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { type InstallKind, isDeleted } from '../../engine/model/status.ts';
import type { Catalog, DatasetWithAttempts, ObjectVersion } from '../../engine/ports/catalog.ts';
import { ABSENT, type ControlState, type InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome, Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { RetryPolicy } from '../../engine/runtime/retry.ts';
import {
  combinedVersion,
  dataAreDue,
  isInstalled,
  metaIsCurrent,
  NO_SHARES,
  sameVersion,
  sharesInSync,
  versionOf,
} from '../dataset/dataset-versions.ts';
import { hasOwnData, type Neighbour, neighboursOf, onEachGroup } from '../dataset/shared-data.ts';
import { type InstallTargets, mirror, propertyFiles, requestSharing, targetsOf } from '../dataset/site-targets.ts';
import { flagOlder } from '../dataset/stored-dataset.ts';
import { readManifest, sentManifest } from '../dataset/stored-documents.ts';
import { DONE, type FailedOutcome, type JobHandler } from '../jobs/job-handler.ts';
import { ensureRegistered } from '../reconciliation/reconcile-registration.ts';
import type { TaskRunner } from '../tasks/task-map.ts';
import { type InstallPlace, installData } from './install-data.ts';
import { controlDocument, metaStep } from './install-meta.ts';
import { nextTry, reportInstalls } from './install-outcome.ts';
import { failStep, marksOf, runStep, type Step, type StepPorts, type StepResult } from './install-step.ts';

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
  readonly record: DatasetWithAttempts;
  readonly type: DataType;
  readonly payload: ObjectInfo;
  readonly version: ObjectVersion;
  readonly manifest: string;
  readonly properties: readonly ObjectInfo[];
  /** Targets on which nothing seems to have been installed yet: marked in the cache as begun. */
  readonly fresh: ReadonlySet<InstallTarget>;
}

/** How it stands on one target after the step of the data. */
interface TargetResult {
  readonly data: StepResult | undefined;
  /** The step that follows. `marked`: it began with the end of the data. */
  readonly meta?: { readonly step: Step; readonly marked: boolean };
}

export class InstallLane implements JobHandler {
  readonly lane = 'install';
  readonly #ports: InstallLanePorts;
  readonly #types: DataTypes;
  readonly #retry: Readonly<Record<InstallKind, RetryPolicy>>;

  constructor(ports: InstallLanePorts, types: DataTypes, retry: Readonly<Record<InstallKind, RetryPolicy>>) {
    this.#ports = ports;
    this.#types = types;
    this.#retry = retry;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const gathered = await this.#gather(job, signal);
    if (!gathered) return DONE;
    const targets = targetsOf(gathered.record, gathered.type, this.#types, this.#ports.targets);
    const work: Work = { ...gathered, fresh: await this.#markFresh(gathered, targets, signal) };
    const meta: StepResult[] = [];
    const results = await onEachGroup(
      targets,
      (target, alone) => this.#installOn(work, target, alone, signal),
      async (result) => void meta.push(...(await this.#installMeta(job, result.meta, signal))),
    );
    const data = results.map((result) => result.data);
    await this.#supersede(work, data, signal);
    return nextTry([...data, ...meta], this.#ports.clock.now());
  }

  /** Steps report their own failures; this reports failures outside of them. */
  report(job: ClaimedJob, outcome: FailedOutcome, signal: AbortSignal): Promise<void> {
    return reportInstalls(this.#ports.catalog, job, 'data', outcome, signal);
  }

  async #gather(job: ClaimedJob, signal: AbortSignal): Promise<Omit<Work, 'fresh'> | undefined> {
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
      manifest: sentManifest(manifest),
      properties: await propertyFiles(store, record, signal),
    };
  }

  /** One write for all of them, before any of them has rows. Shares are requested before there are rows, so without this. */
  async #markFresh(
    { job, record }: Omit<Work, 'fresh'>,
    targets: readonly InstallTarget[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<InstallTarget>> {
    const shared = !sharesInSync(undefined, record.sync.shares ?? NO_SHARES);
    const isKnown = ({ id }: InstallTarget): boolean =>
      [...record.installs, ...record.attempts].some((one) => one.target === id);
    const fresh = targets.filter((target) => !shared && !isKnown(target) && hasOwnData(target, this.#ports.targets));
    const marks = fresh.flatMap((target) => marksOf({ target, kind: 'data', attempt: undefined }));
    await this.#ports.catalog.write(job.dataset, job.lease, marks, signal);
    return new Set(fresh);
  }

  /** @param alone no other target of the job shares its data schema, so that its metadata follow at once */
  async #installOn(work: Work, target: InstallTarget, alone: boolean, signal: AbortSignal): Promise<TargetResult> {
    const { job, record, type } = work;
    const attempt = record.attempts.find((one) => one.target === target.id && one.kind === 'data');
    const step: Omit<Step, 'begun' | 'call'> = {
      target,
      kind: 'data',
      plugin: type.plugin,
      version: work.version,
      attempt,
    };
    // If a target does not answer, its own step waits and the others go on.
    const wait = async (error: unknown): Promise<TargetResult> => {
      const waiting = { ...step, begun: attempt?.started ? true : undefined, call: () => Promise.reject(error) };
      return { data: await failStep(job, waiting, error, this.#retry.data, this.#ports, signal) };
    };
    const isFresh = work.fresh.has(target);
    let state: ControlState | 'begun';
    try {
      state = (isFresh && (await this.#begins(work, target, signal))) || (await target.state(job.dataset, signal));
    } catch (error) {
      return wait(error);
    }
    if (state === 'begun')
      return this.#install(work, step, { target, begun: false, neighbours: [], alone }, ABSENT, signal, true);
    // Before the rows exist, so that a crash in between cannot lose the request.
    if (state.deletedStatus === 0)
      await requestSharing(this.#ports.jobs, job, record, state, 'install-data-lane', signal);
    if (state.deletedStatus !== 0 || !dataAreDue(state, work.version)) {
      const stale = metaAreStale(work, state);
      if (stale) await this.#requestMeta(job, signal);
      const over = record.attempts.filter((one) => one.target === target.id && !(stale && one.kind === 'meta'));
      const marked = isFresh ? [{ target: target.id, kind: 'data' } as const] : [];
      // It is deleted there, and waits until reconciliation reopens it.
      if (isFresh && !state.messages.data) await this.#unmark(job, target, signal);
      await mirror(this.#ports.catalog, job, record, target.id, state, [...over, ...marked], signal);
      const status = state.deletedStatus === 0 ? state.messages.data?.status : undefined;
      return { data: status && { kind: 'over', status } };
    }
    let neighbours: readonly Neighbour[];
    try {
      neighbours = await neighboursOf(target, this.#ports.targets, job.dataset, signal);
    } catch (error) {
      return wait(error);
    }
    const begun = attempt?.started === true || state.messages.data !== undefined;
    return this.#install(work, step, { target, begun, neighbours, alone }, state, signal);
  }

  /** The target has nothing of the dataset. The rows and the mark that say that the install has begun are written with that look. */
  async #begins(work: Work, target: InstallTarget, signal: AbortSignal): Promise<'begun' | undefined> {
    const { dataset, lease } = work.job;
    const change = { document: controlDocument(work, false), messages: { data: { status: 'running' } } } as const;
    return (await target.begin(dataset, change, lease.token, signal)) ? 'begun' : undefined;
  }

  async #unmark(job: ClaimedJob, { id }: InstallTarget, signal: AbortSignal): Promise<void> {
    const queued = { set: 'install', target: id, kind: 'data', status: 'queued', messages: [] } as const;
    await this.#ports.catalog.write(job.dataset, job.lease, [queued], signal);
  }

  /** @param begun both sides already say that it has begun */
  async #install(
    work: Work,
    step: Omit<Step, 'begun' | 'call'>,
    place: InstallPlace & { readonly alone: boolean },
    state: ControlState,
    signal: AbortSignal,
    begun = false,
  ): Promise<TargetResult> {
    const { job } = work;
    const meta = this.#metaAfter(work, place.target, !state.present, signal);
    const marked = meta !== undefined && place.alone;
    const due: Step = {
      ...step,
      begun: place.begun,
      begin: {
        ...(state.present ? {} : { document: controlDocument(work, false) }),
        // With the data, the plugin removes installed metadata, so the metadata must be installed again afterwards.
        ...(isSaid(state) ? { other: 'queued' } : {}),
      },
      call: () => installData(work, place, this.#ports, signal),
      ...(marked ? { next: meta } : {}),
    };
    const data = await runStep(job, due, this.#retry.data, this.#ports, signal, begun);
    if (data.kind !== 'over' || data.status !== 'complete') return { data };
    if (meta) return { data, meta: { step: meta, marked } };
    await this.#requestMeta(job, signal);
    return { data };
  }

  /** Undefined when the version of the metadata is unknown, or when their step already has attempts and a next time. */
  #metaAfter(work: Work, target: InstallTarget, written: boolean, signal: AbortSignal): Step | undefined {
    const { sync } = work.record;
    if (!sync.meta) return undefined;
    const version = combinedVersion(sync.meta, work.properties);
    const step = metaStep(work, version, target, this.#ports.tasks, signal, written);
    return step.attempt ? undefined : step;
  }

  /** The result, once the step is over. A step that waits is left to the update-meta lane. */
  async #installMeta(job: ClaimedJob, meta: TargetResult['meta'], signal: AbortSignal): Promise<readonly StepResult[]> {
    if (!meta) return [];
    const result = await runStep(job, meta.step, this.#retry.meta, this.#ports, signal, meta.marked);
    if (result.kind === 'over') return [result];
    await this.#requestMeta(job, signal);
    return [];
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

  async #requestMeta({ owner, dataset, eventId }: ClaimedJob, signal: AbortSignal): Promise<void> {
    const request = { lane: 'updateMeta', owner, dataset, eventId, source: 'install-data-lane' } as const;
    await this.#ports.jobs.enqueue([request], signal);
  }
}

/** The target has a status of metadata that an install of the data makes out of date. */
const isSaid = ({ messages: { meta } }: ControlState): boolean => meta !== undefined && meta.status !== 'queued';

/**
 * The step of the metadata did not end: the attempt that installed the data crashed, or it could not install the metadata. The
 * update-meta lane may also have skipped the target while it was unavailable.
 */
function metaAreStale({ record: { sync }, properties }: Work, state: ControlState): boolean {
  if (!isInstalled(state)) return false;
  return sync.meta === undefined || !metaIsCurrent(state, combinedVersion(sync.meta, properties));
}
