// The import lane has the plugin validate and convert an upload. Order of effects: manifest, install-ready.zip, then one
// transaction with status, messages, files, version and install job. Until that transaction the status is in-progress, and after
// a crash the import runs again.

import { type DataType, type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import type { Manifest } from '../../engine/model/metadata.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { isDeleted } from '../../engine/model/status.ts';
import { type Catalog, type DatasetRecord, importIsDue } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobFault, JobOutcome } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore, StoredObject } from '../../engine/ports/object-store.ts';
import { defect, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import { outcomeText, scriptText } from '../../engine/runtime/owner-text.ts';
import { versionOf } from '../dataset/dataset-versions.ts';
import { archiveChange, HANDED_OVER, manifestObject, readManifest, settled } from '../dataset/stored-documents.ts';
import { DONE, type FailedOutcome, type JobHandler } from '../jobs/job-handler.ts';
import type { Scratch } from '../jobs/scratch.ts';
import { pluginServerError } from '../plugins/plugin-breakers.ts';
import { ensureRegistered } from '../reconciliation/reconcile-registration.ts';
import type { ImportDatasetOutput } from '../tasks/import-dataset.ts';
import { allMessages, objectFile, type TaskRunner } from '../tasks/task-map.ts';

interface ImportLanePorts {
  readonly catalog: Catalog;
  readonly store: ObjectStore;
  readonly tasks: TaskRunner;
}

export class ImportLane implements JobHandler {
  readonly lane = 'import';
  readonly #ports: ImportLanePorts;
  readonly #types: DataTypes;
  readonly #scratch: Scratch;

  constructor(ports: ImportLanePorts, types: DataTypes, scratch: Scratch) {
    this.#ports = ports;
    this.#types = types;
    this.#scratch = scratch;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    const payload = await store.head(objectKey({ owner: job.owner, dataset: job.dataset }, 'import-ready.zip'), signal);
    if (!payload) return DONE;
    const begin = () => catalog.beginImport(job.dataset, job.lease, signal);
    const record = await ensureRegistered(catalog, store, job, signal, begin);
    if (!record || isDeleted(record.state) || record.state === 'superseded') return DONE;
    const begun = importIsDue(record);
    if (!begun && !mayHaveGivenUp(record, job)) return DONE;

    const type = this.#types.find(record.metadata.type);
    if (!type) {
      const message = `no plugin is configured for data type ${typeKey(record.metadata.type)}`;
      return this.#end(job, { kind: 'failed', message }, [message], signal);
    }
    if (!begun)
      await catalog.write(job.dataset, job.lease, [{ set: 'import', status: 'in-progress', messages: [] }], signal);
    return this.#scratch.using(job, (folder) => this.#import(job, record, type, payload, folder, signal));
  }

  async report(job: ClaimedJob, outcome: FailedOutcome, signal: AbortSignal): Promise<void> {
    const record = await this.#ports.catalog.find(job.dataset, signal);
    // A repeated event that fails must not change the status of an import that has ended.
    if (!record || !importIsDue(record)) return;
    const retrying = outcome.kind === 'retry';
    await this.#ports.catalog.write(
      job.dataset,
      job.lease,
      [{ set: 'import', status: retrying ? 'queued' : 'failed', messages: [outcomeText(outcome)] }],
      signal,
    );
  }

  async #import(
    job: ClaimedJob,
    record: DatasetRecord,
    type: DataType,
    payload: ObjectInfo,
    scratchDir: string,
    signal: AbortSignal,
  ): Promise<JobOutcome> {
    const { tasks } = this.#ports;
    const reply = await tasks.run(
      'import-dataset',
      {
        plugin: type.plugin,
        eventId: job.eventId,
        dataset: job.dataset,
        traceparent: job.traceparent,
        metadata: record.metadata,
        payload: objectFile(payload, 'import-ready.zip'),
        scratchDir,
      },
      { signal, alone: job.alone, owner: job.owner },
    );
    switch (reply.kind) {
      case 'success':
        return this.#complete(job, record, reply, signal);
      case 'invalid': {
        const messages = allMessages(reply.validation);
        const message = messages.length > 0 ? messages.join('; ') : 'the plugin refused the data without a message';
        return this.#end(job, { kind: 'invalid', message }, messages, signal);
      }
      case 'script-error': {
        const { message, exitCode, output } = reply;
        return this.#end(job, { kind: 'failed', message, exitCode, output }, [scriptText(reply, 'import')], signal);
      }
      case 'server-error':
        throw pluginServerError(type.plugin, reply.message);
      default:
        return reply satisfies never;
    }
  }

  /** @param messages for the owner */
  async #end(job: ClaimedJob, fault: JobFault, messages: readonly string[], signal: AbortSignal): Promise<JobFault> {
    const { dataset, lease } = job;
    await this.#ports.catalog.write(dataset, lease, [{ set: 'import', status: fault.kind, messages }], signal);
    return fault;
  }

  async #complete(
    job: ClaimedJob,
    record: DatasetRecord,
    reply: Extract<ImportDatasetOutput, { readonly kind: 'success' }>,
    signal: AbortSignal,
  ): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    const before = await readManifest(store, record, signal);
    // The upload lane recorded what the user sent. If that record is lost, the plugin's list of its input is the best
    // available.
    const { rawUploads } = before?.document ?? reply.manifest;
    const archives = { ...before?.document.archives, ...(reply.data && { 'install-ready.zip': reply.data }) };
    const manifest = { rawUploads, installReady: reply.manifest.installReady, archives };
    const stored = await this.#put(record, manifest, reply.dataFile, signal);
    if (typeof stored === 'string') return this.#end(job, { kind: 'invalid', message: stored }, [stored], signal);
    const data = stored.find(({ key }) => key === objectKey(record, 'install-ready.zip'));
    if (!data) throw defect('the store does not say what it stored as install-ready.zip');
    await catalog.write(
      job.dataset,
      job.lease,
      [
        settled(record, stored),
        { set: 'import', status: 'complete', messages: allMessages(reply.validation) },
        { set: 'installFiles', files: manifest.installReady },
        ...archiveChange(record, 'install-ready.zip', archives, stored),
        { set: 'sync', part: 'data', version: versionOf(data) },
        { set: 'next', lane: 'install', eventId: job.eventId, source: 'import-lane' },
      ],
      signal,
    );
    return DONE;
  }

  /** The stored objects, or the reason why they exceed the owner's quota; then none is stored. */
  async #put(
    record: DatasetRecord,
    manifest: Manifest,
    file: string,
    signal: AbortSignal,
  ): Promise<readonly StoredObject[] | string> {
    const data = { key: objectKey(record, 'install-ready.zip'), source: { file }, options: HANDED_OVER };
    try {
      return await this.#ports.store.putAll([manifestObject(record, manifest), data], { settle: 'by caller' }, signal);
    } catch (error) {
      if (kindOf(error) !== 'rejected') throw error;
      return messageOf(error);
    }
  }
}

/**
 * A crash may have come between the status that says that this job failed for good and the end of the job itself. An
 * administrator needs the job's end to retry it.
 */
const mayHaveGivenUp = ({ upload, import: imported }: DatasetRecord, { attempts, crashes }: ClaimedJob): boolean =>
  upload.status === 'success' && imported?.status === 'failed' && attempts + crashes > 0;
