// POST /admin/rpc/datasets/reconcile: a full run of the reconciler now; GET: how far it is, and what the last run found.

import type { ReconcilerControl, ReconcilerRun } from '../../../engine/ports/daemon-orders.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { type ReconcileReport, ReconcileRuns, ReconcileStarted } from '../schema/daemon-report.ts';
import { ORDER_REFUSALS, requireStarted } from './daemon-order.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface ReconcileOptions {
  readonly reconciler: ReconcilerControl;
}

const PATH = '/admin/rpc/datasets/reconcile';

export function reconcileRoutes({ reconciler }: ReconcileOptions): readonly Route[] {
  return [
    {
      method: 'POST',
      needsNoRoom: true,
      path: PATH,
      access: 'admin',
      operationId: 'reconcileDatasets',
      summary: 'Compares all datasets of the object store with the cache and every install target now',
      query: {
        'allow-deletes': {
          description:
            'Deletes what the object store does not have, however much it is; never what is forbidden by the configuration',
          schema: { type: 'boolean', default: false },
        },
      },
      responses: { 202: answer('The run has begun', ReconcileStarted), ...refusals(ORDER_REFUSALS) },
      handler: async (context) => {
        const allowDeletes = context.query['allow-deletes'] === true;
        requireStarted('reconciler', await reconciler.order('full', { allowDeletes }, context.signal));
        context.log.info({ allowDeletes }, 'full run of the reconciler ordered by an administrator');
        const started: ReconcileStarted = { state: 'started', kind: 'full', allowDeletes };
        await context.json(202, started);
      },
    },
    {
      method: 'GET',
      path: PATH,
      access: 'admin',
      operationId: 'reportReconciliation',
      summary: 'What the reconciler has found: its run under way, and its last',
      responses: { 200: answer('Runs of the process that answers', ReconcileRuns), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const { current, lastReport } = reconciler;
        const runs: ReconcileRuns = {
          ...(current ? { current: runView(current) } : {}),
          ...(lastReport ? { last: { ...runView(lastReport), ended: lastReport.endedAt.toISOString() } } : {}),
        };
        await context.json(200, runs);
      },
    },
  ];
}

function runView(report: ReconcilerRun): ReconcileReport {
  const { startedAt, wouldDelete, leftOut, braked, failure } = report;
  return {
    kind: report.kind,
    started: startedAt.toISOString(),
    listed: report.listed,
    malformed: report.malformed,
    reconciled: report.reconciled,
    absent: { ...wouldDelete },
    deleted: report.deleted,
    spared: report.spared,
    leftOut: leftOut.map(({ target, reason }) => ({ installTarget: target, reason })),
    ...(braked === undefined ? {} : { braked }),
    ...(failure === undefined ? {} : { failure }),
  };
}
