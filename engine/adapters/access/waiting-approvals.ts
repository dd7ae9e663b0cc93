// Approves requests whose waiting time is over, each in a transaction of its own: one that cannot be approved does not
// keep the others waiting, and several processes may do it at once.

import { kindOf, messageOf } from '../../failure.ts';
import type { Logger } from '../../log.ts';
import { decisionMails } from '../../model/access-mail.ts';
import { type AccessRequest, isWaitOver, settleTerms } from '../../model/access-request.ts';
import type { AccessApprovals } from '../../ports/access-approvals.ts';
import type { EndUsers, RequestChange, WaitedRequest } from '../../ports/end-users.ts';

export class WaitingApprovals implements AccessApprovals {
  readonly #endUsers: Pick<EndUsers, 'waited' | 'change'>;
  readonly #log: Logger;

  constructor(endUsers: Pick<EndUsers, 'waited' | 'change'>, log: Logger) {
    this.#endUsers = endUsers;
    this.#log = log.child({ actor: 'accessApproval' });
  }

  async approveWaited(now: Date, signal: AbortSignal): Promise<number> {
    let approved = 0;
    for (let after: WaitedRequest | undefined; ; ) {
      const page = await this.#endUsers.waited(now, after, signal);
      for (const request of page) if (await this.#approve(request, now, signal)) approved++;
      after = page.at(-1);
      if (!after) return approved;
    }
  }

  async #approve(request: WaitedRequest, now: Date, signal: AbortSignal): Promise<boolean> {
    const about = { user: request.userId, dataset: request.datasetId };
    let changed = false;
    const decide = (current: AccessRequest): RequestChange | undefined => {
      // It may have been decided, withdrawn or made anew meanwhile.
      changed = current.approvalStatus === 'requested' && isWaitOver(current.requestedAt, request.daysForApproval, now);
      return changed ? approval(current, now) : undefined;
    };
    try {
      await this.#endUsers.change(request, { user: '0', at: now }, decide, signal);
    } catch (error) {
      if (kindOf(error) !== 'defect') throw error;
      this.#log.error({ ...about, err: messageOf(error) }, 'a request could not be approved');
      return false;
    }
    if (changed) this.#log.info(about, 'a request was approved by waiting');
    return changed;
  }
}

function approval(current: AccessRequest, now: Date): RequestChange {
  const terms = settleTerms(current, { ...current, approvalStatus: 'approved' }, now);
  return { terms, mails: decisionMails(current, { ...current, ...terms }) };
}
