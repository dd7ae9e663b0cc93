// The sharing lane copies share offers and receipts from the object store into the cache, and then into every install target
// that has rows of the dataset. Each database keeps the version of all share documents that it reflects, so an event without a
// change writes nothing.
//
//   the recipient sees the dataset   while the offer says grant and the receipt says accept
//   the share is open                granted, no receipt: the cache lists it, no target shows it
//   not seen                         revoked, rejected, or a document is gone or malformed
//
// A target without rows is skipped: update-meta and install create the rows and enqueue this lane again (see requestSharing). A
// superseded dataset is uninstalled everywhere, so its shares go to the cache alone.

import { isDeleted } from '../../engine/model/status.ts';
import type { Catalog, DatasetRecord, ObjectVersion, StoredShare } from '../../engine/ports/catalog.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { sharesInSync, sharesVersion } from '../dataset/dataset-versions.ts';
import type { InstallTargets } from '../dataset/site-targets.ts';
import { readShares, recipientsOf, storedShares } from '../dataset/stored-documents.ts';
import { DONE, type JobHandler } from '../jobs/job-handler.ts';
import { ensureRegistered } from '../reconciliation/reconcile-registration.ts';
import { onEachTarget } from './uninstall.ts';

interface SharingLanePorts {
  readonly catalog: Catalog;
  readonly store: ObjectStore;
  readonly targets: InstallTargets;
  readonly log: Logger;
}

/** The shares in the store and their version. The documents are read once, when a database needs them. */
interface Shares {
  readonly version: ObjectVersion;
  words(): Promise<readonly StoredShare[]>;
}

export class SharingLane implements JobHandler {
  readonly lane = 'sharing';
  readonly #ports: SharingLanePorts;

  constructor(ports: SharingLanePorts) {
    this.#ports = ports;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, store } = this.#ports;
    const record = await ensureRegistered(catalog, store, job, signal);
    if (!record || isDeleted(record.state)) return DONE;
    const shares = this.#shares(job, await storedShares(store, record, signal), signal);
    const isNew = !sharesInSync(record.sync.shares, shares.version);
    if (isNew)
      await catalog.write(
        job.dataset,
        job.lease,
        [
          { set: 'shares', shares: await shares.words() },
          { set: 'sync', part: 'shares', version: shares.version },
        ],
        signal,
      );
    const written: string[] = isNew ? ['cache'] : [];
    if (record.state !== 'superseded')
      await onEachTarget(this.#targetsOf(record), async (target) => {
        if (await this.#shareOn(job, target, shares, signal)) written.push(target.id);
      });
    return written.length > 0 ? { kind: 'done', did: `shares written: ${written.join(', ')}` } : DONE;
  }

  /**
   * Sharing has no status that an owner could read. The cache is written first, so owners see there what the store says. A
   * target that lags behind concerns the operator, who finds it in the log and in the job table.
   */
  async report(): Promise<void> {}

  /**
   * All enabled targets, whether or not the data type (still) applies to them: a revocation must hide the dataset even if its
   * plugin has been removed.
   */
  #targetsOf(record: DatasetRecord): readonly InstallTarget[] {
    return record.metadata.installTargets.flatMap((id) => this.#ports.targets.get(id) ?? []);
  }

  /** False when the target already has these shares, or does not have the dataset. */
  async #shareOn(job: ClaimedJob, target: InstallTarget, shares: Shares, signal: AbortSignal): Promise<boolean> {
    const state = await target.state(job.dataset, signal);
    if (!state.present || state.deletedStatus !== 0 || sharesInSync(state.sync.shares, shares.version)) return false;
    const recipients = recipientsOf(await shares.words());
    await target.writeVisibility(job.dataset, recipients, shares.version, job.lease.token, signal);
    return true;
  }

  #shares(job: ClaimedJob, documents: readonly ObjectInfo[], signal: AbortSignal): Shares {
    const { store, log } = this.#ports;
    const about = { lane: this.lane, dataset: job.dataset, owner: job.owner, event: job.eventId };
    const onMalformed = (_key: string, why: unknown): void =>
      log.warn({ ...about, err: messageOf(why) }, 'a malformed share document was skipped');
    let reading: Promise<readonly StoredShare[]> | undefined;
    return {
      version: sharesVersion(documents),
      words: () => {
        reading ??= readShares(store, documents, onMalformed, signal);
        return reading;
      },
    };
  }
}
