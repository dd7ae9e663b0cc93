// Approves requests whose waiting time is over, each in its own transaction. So a request that cannot be approved does not
// block the others, and several processes may do this concurrently.

import { decisionMails } from '../../model/access-mail.ts';
import { type AccessRequest, type CuratedId, isWaitOver, settleTerms } from '../../model/access-request.ts';
import { parseDatasetId } from '../../model/ids.ts';
import type { EnteredDatasets, UserDatasets } from '../../ports/access-datasets.ts';
import type { AccessApprovals, EndUsers, RequestChange, WaitedRequest } from '../../ports/access-requests.ts';
import { kindOf, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';

/** Where users' datasets are stored, and which of them are entered. */
interface ApprovedDatasets {
  readonly userDatasets: UserDatasets;
  readonly entered: EnteredDatasets;
}

export class WaitingApprovals implements AccessApprovals {
  readonly #datasets: ApprovedDatasets;
  readonly #endUsers: Pick<EndUsers, 'waited' | 'change'>;
  readonly #log: Logger;

  constructor(endUsers: Pick<EndUsers, 'waited' | 'change'>, datasets: ApprovedDatasets, log: Logger) {
    this.#datasets = datasets;
    this.#endUsers = endUsers;
    this.#log = log.child({ actor: 'accessApproval' });
  }

  async approveWaited(now: Date, signal: AbortSignal): Promise<number> {
    await this.#refresh(now, signal);
    let approved = 0;
    for (let after: WaitedRequest | undefined; ; ) {
      const page = await this.#endUsers.waited(now, after, signal);
      for (const request of page) if (await this.#approve(request, now, signal)) approved++;
      after = page.at(-1);
      if (!after) return approved;
    }
  }

  /**
   * Applies what owners have changed in the meantime: the days for approval, and whether their datasets are still protected.
   */
  async #refresh(now: Date, signal: AbortSignal): Promise<void> {
    const { userDatasets, entered } = this.#datasets;
    for (let after: CuratedId | undefined; ; ) {
      const page = await entered.undecided(after, signal);
      for (const id of page) {
        const datasetId = parseDatasetId(id);
        const found = datasetId && (await userDatasets.find(datasetId, signal));
        if (found) await entered.enter(found, { user: '0', at: now }, signal);
        else await entered.close(id, signal);
      }
      after = page.at(-1);
      if (!after) return;
    }
  }

  async #approve(request: WaitedRequest, now: Date, signal: AbortSignal): Promise<boolean> {
    const about = { user: request.userId, dataset: request.datasetId };
    let changed = false;
    const decide = (current: AccessRequest): RequestChange | undefined => {
      // The request may have been decided, withdrawn or repeated in the meantime.
      changed = current.approvalStatus === 'requested' && isWaitOver(current.requestedAt, request.daysForApproval, now);
      return changed ? approval(current, now) : undefined;
    };
    try {
      await this.#endUsers.change(request, { user: '0', at: now }, decide, signal);
    } catch (error) {
      if (kindOf(error) !== 'defect') throw error;
      this.#log.error({ ...about, err: messageOf(error) }, 'an access request could not be approved');
      return false;
    }
    if (changed) this.#log.info(about, 'an access request was approved after its waiting time');
    return changed;
  }
}

function approval(current: AccessRequest, now: Date): RequestChange {
  const terms = settleTerms(current, { ...current, approvalStatus: 'approved' }, now);
  return { terms, mails: decisionMails(current, { ...current, ...terms }) };
}
