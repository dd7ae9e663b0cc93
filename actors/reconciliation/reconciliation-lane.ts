// The reconciliation lane updates the cache from the object store and the install targets for one dataset. It enqueues the
// work that it finds missing on the other lanes. reconcile-decision.ts decides what to do; this file does it. Every action is
// idempotent, and after a crash anywhere the next attempt has less left to do.

import type { DataTypes } from '../../engine/model/data-types.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { FILE_FOLDERS } from '../../engine/model/object-key.ts';
import { INSTALL_KINDS, type InstallKind, type InstallStatus } from '../../engine/model/status.ts';
import type { CatalogChange } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobOutcome, Jobs } from '../../engine/ports/jobs.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import { linesOf } from '../dataset/site-targets.ts';
import { flagOlder, keptObjects, objectsOf, storedDataset } from '../dataset/stored-dataset.ts';
import { DONE, type JobHandler } from '../jobs/job-handler.ts';
import { mostRetryable } from '../lanes/uninstall.ts';
import { decideReconciliation } from './reconcile-decision.ts';
import { fileEntries } from './reconcile-registration.ts';
import { readSnapshot, type Snapshot, type SnapshotPorts } from './reconcile-snapshot.ts';
import type { Action } from './reconcile-targets.ts';

interface ReconciliationLanePorts extends SnapshotPorts {
  readonly jobs: Jobs;
}

export class ReconciliationLane implements JobHandler {
  readonly lane = 'reconciliation';
  readonly #ports: ReconciliationLanePorts;
  readonly #types: DataTypes;

  constructor(ports: ReconciliationLanePorts, types: DataTypes) {
    this.#ports = ports;
    this.#types = types;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const log = this.#ports.log.child({ lane: this.lane, dataset: job.dataset, owner: job.owner, event: job.eventId });
    const reading = await readSnapshot(this.#ports, this.#types, job, signal);
    if ('why' in reading) {
      // What is being received writes its own rows when it is accepted.
      if (reading.why === 'receiving') return DONE;
      // Not decided here: a malformed dataset must never be treated as absent, and an absent one is another lane's.
      if (reading.why === 'absent') log.info('dataset is not in the object store');
      else log.warn({ why: reading.why, err: reading.reason }, 'dataset cannot be reconciled');
      return DONE;
    }
    const { snapshot } = reading;
    const failures = [...reading.failures];
    const actions = decideReconciliation(snapshot);
    const words = actions.map((action) => ('lanes' in action ? `enqueue ${action.lanes.join(' ')}` : action.do));
    if (actions.length > 0) log.info({ actions: words }, 'reconciling dataset');
    for (const action of actions)
      try {
        await this.#perform(action, snapshot, job, signal);
      } catch (error) {
        // A target's failure affects only its own actions.
        if (!('target' in action) || kindOf(error) === 'aborted' || signal.aborted) throw error;
        failures.push(error);
      }
    // Everything else was decided all the same; the next attempt decides for the targets that did not answer.
    if (failures.length > 0) throw mostRetryable(failures);
    return actions.length > 0 ? { kind: 'done', did: words.join(', ') } : DONE;
  }

  /**
   * Nothing to report: reconciliation has no status of its own, and the lanes for upload, import and installs report theirs.
   * Administrators find its failures in the log and on the job's row.
   */
  async report(): Promise<void> {}

  async #perform(action: Action, snapshot: Snapshot, job: ClaimedJob, signal: AbortSignal): Promise<void> {
    const { catalog, jobs, store } = this.#ports;
    switch (action.do) {
      case 'register':
        // Does nothing for an upload that is being received: accepting it writes its rows.
        return catalog.register(
          snapshot,
          snapshot.metadata,
          [...action.changes, ...keptChanges(snapshot)],
          job.lease,
          signal,
        );
      case 'resumeUpload':
        return this.#resumeUpload(snapshot, job, signal);
      case 'write':
        return catalog.write(job.dataset, job.lease, action.changes, signal);
      case 'flagOlder':
        await flagOlder(store, snapshot, action.flag, signal);
        return;
      case 'remove':
        return store.remove(action.keys, signal);
      case 'reopen':
        return this.#reopen(action.target, job, signal);
      case 'reinstall':
        return this.#say(
          action.target,
          'data',
          { status: 'ready-for-reinstall', message: action.message },
          job,
          signal,
        );
      case 'enqueue': {
        const { owner, dataset, eventId, source } = job;
        const requests = action.lanes.map((lane) => ({ lane, owner, dataset, eventId, source }));
        return jobs.enqueue(requests, signal);
      }
      default:
        return action satisfies never;
    }
  }

  /**
   * The old install is gone. Marks it due again before the dataset counts as live, so that no crash makes it look installed.
   */
  async #reopen(target: TargetId, job: ClaimedJob, signal: AbortSignal): Promise<void> {
    for (const kind of INSTALL_KINDS)
      await this.#say(target, kind, { status: 'queued', message: undefined }, job, signal);
    await this.#ports.targets.get(target)?.setDeleted(job.dataset, 0, job.lease.token, signal);
  }

  /** Writes to the control DB first, then to its mirror. */
  async #say(
    target: TargetId,
    kind: InstallKind,
    { status, message }: { readonly status: InstallStatus; readonly message: string | undefined },
    job: ClaimedJob,
    signal: AbortSignal,
  ): Promise<void> {
    const said = message === undefined ? {} : { message };
    await this.#ports.targets
      .get(target)
      ?.write(job.dataset, { messages: { [kind]: { status, ...said } } }, job.lease.token, signal);
    const messages = linesOf(message === undefined ? [] : [message]);
    const copy = { set: 'install', target, kind, status, messages } as const;
    await this.#ports.catalog.write(job.dataset, job.lease, [copy], signal);
  }

  async #resumeUpload(snapshot: Snapshot, job: ClaimedJob, signal: AbortSignal): Promise<void> {
    const { owner, dataset, metadata, metaVersion, stored, shares } = snapshot;
    const kept = keptObjects(stored);
    const accepted = {
      owner,
      dataset,
      metadata,
      metaVersion,
      source: { kind: 'files', files: fileEntries(stored.raw).map(({ name, size }) => ({ name, size })) },
      documents: fileEntries(stored.documents),
      properties: fileEntries(stored.properties),
      shares,
      ...(kept ? { others: kept.filter(({ name }) => !isFile(name)) } : {}),
      eventId: job.eventId,
    } as const;
    const { uploads, store } = this.#ports;
    // The snapshot is slightly old, and a sweep may have removed its objects since.
    const isWhole = async (): Promise<boolean> => {
      const now = await storedDataset(store, { owner, dataset }, signal);
      const there = new Set(now ? objectsOf(now).map(({ key, etag }) => `${key} ${etag}`) : []);
      return objectsOf(stored).every(({ key, etag }) => there.has(`${key} ${etag}`));
    };
    await uploads.resume(accepted, isWhole, signal);
  }
}

function keptChanges({ stored }: Snapshot): readonly CatalogChange[] {
  const objects = keptObjects(stored);
  return objects ? [{ set: 'kept', objects }] : [];
}

/** Documents and property files have their own lists. */
const isFile = (name: string): boolean => FILE_FOLDERS.some((folder) => name.startsWith(`${folder}/`));
