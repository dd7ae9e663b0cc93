// POST /approve-eligible-access-requests: approves now what has waited long enough; a timer does the same.

import type { AccessApprovals } from '../../engine/ports/access-approvals.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { refusals } from '../kernel/pipeline/responses.ts';
import type { Route } from '../kernel/pipeline/route.ts';

export interface ApprovalsOptions {
  readonly approvals: AccessApprovals;
  readonly clock: Clock;
}

export function approvalsRoute({ approvals, clock }: ApprovalsOptions): Route {
  return {
    method: 'POST',
    needsNoRoom: true,
    path: '/approve-eligible-access-requests',
    access: 'admin',
    operationId: 'approveEligibleAccessRequests',
    summary: 'Approves requests whose waiting time is over',
    responses: { 204: { description: 'Done' }, ...refusals({ 403: 'The Admin-Token is wrong' }) },
    handler: async (context) => {
      const approved = await approvals.approveWaited(new Date(clock.now()), context.signal);
      context.log.info({ approved }, 'requests were approved by waiting, on demand');
      context.empty(204);
    },
  };
}
