// The sharing lane: brings what owner and recipients said about shares from the object store into the cache, and then
// into every install target that has rows of the dataset. Each database keeps the version of all share documents that
// it reflects, so an event without a change writes nothing.
//
//   the recipient sees it       while the offer says grant and the receipt accept
//   the share is open           granted, no receipt: the cache lists it, no target shows it
//   not seen                    revoked, rejected, or a document is gone or malformed
//
// A target without rows yet is passed over: update-meta and install make them, and ask for this lane again (see
// requestSharing). A superseded dataset is uninstalled everywhere, so it is shared in the cache alone.

import { isDeleted } from '../../engine/model/status.ts';
import type { Catalog, DatasetRecord, ObjectVersion, ShareWords } from '../../engine/ports/catalog.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { sharesInSync, sharesVersion } from '../dataset/dataset-versions.ts';
import { ensureRegistered } from '../dataset/ensure-registered.ts';
import type { InstallTargets } from '../dataset/site-targets.ts';
import { readShares, recipientsOf, storedShares } from '../dataset/stored-shares.ts';
import { DONE, type JobHandler } from '../jobs/job-handler.ts';
import { onEachTarget } from './uninstall.ts';

export interface SharingLanePorts {
  readonly catalog: Catalog;
  readonly store: ObjectStore;
  readonly targets: InstallTargets;
  readonly log: Logger;
}

/** What the store says, in which version; the documents are read when a database needs them, once. */
interface Shares {
  readonly version: ObjectVersion;
  words(): Promise<readonly ShareWords[]>;
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
    if (!sharesInSync(record.sync.shares, shares.version))
      await catalog.write(
        job.dataset,
        job.lease,
        [
          { set: 'shares', shares: await shares.words() },
          { set: 'sync', part: 'shares', version: shares.version },
        ],
        signal,
      );
    if (record.state === 'superseded') return DONE;

    await onEachTarget(this.#targetsOf(record), (target) => this.#shareOn(job, target, shares, signal));
    return DONE;
  }

  /**
   * Sharing has no status that an owner could read: the cache was written first, and what they see there is what the
   * store says. A target that is behind is the operator's business, in the log and in the job table.
   */
  async report(): Promise<void> {}

  /**
   * All that are enabled, whether or not the data type applies to them (any more): whoever was shown a dataset loses
   * sight of it by a revocation, also when its plugin has been taken away.
   */
  #targetsOf(record: DatasetRecord): readonly InstallTarget[] {
    return record.metadata.installTargets.flatMap((id) => this.#ports.targets.get(id) ?? []);
  }

  async #shareOn(job: ClaimedJob, target: InstallTarget, shares: Shares, signal: AbortSignal): Promise<void> {
    const state = await target.state(job.dataset, signal);
    if (!state.present || state.deletedStatus !== 0 || sharesInSync(state.sync.shares, shares.version)) return;
    const recipients = recipientsOf(await shares.words());
    await target.writeVisibility(job.dataset, recipients, shares.version, job.lease.token, signal);
  }

  #shares(job: ClaimedJob, documents: readonly ObjectInfo[], signal: AbortSignal): Shares {
    const { store, log } = this.#ports;
    const about = { lane: this.lane, dataset: job.dataset, owner: job.owner, event: job.eventId };
    const onMalformed = (_key: string, why: unknown): void =>
      log.warn({ ...about, err: messageOf(why) }, 'a share document was passed over');
    let reading: Promise<readonly ShareWords[]> | undefined;
    return {
      version: sharesVersion(documents),
      words: () => {
        reading ??= readShares(store, documents, onMalformed, signal);
        return reading;
      },
    };
  }
}
