// POST /admin/rpc/datasets/reconcile and /admin/rpc/datasets/prune start a full run of the reconciler and a run of the pruner.
// GET on the same path: the progress of that run, and the result of the last one.

import type { Static } from 'typebox';
import {
  type OrderAnswer,
  PRUNER_SKIPS,
  type PrunerControl,
  type PrunerRun,
  type ReconcilerControl,
  type ReconcilerRun,
} from '../../../engine/ports/process-control.ts';
import { parseDuration } from '../../../engine/runtime/duration.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { badRequest, conflict } from '../../kernel/pipeline/errors.ts';
import type { QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime } from '../dataset-terms.ts';
import { ADMIN_REFUSALS, CountOf, momentOf, runEnded, runFailure, runsOf, shownRuns, skipsOf } from './admin-route.ts';

const ReconcileReport = Type.Named('ReconcileReport', {
  kind: Type.Enum(['full', 'slim']),
  started: Datetime,
  ended: runEnded,
  listed: CountOf('Datasets with at least one object in the store; a slim run lists a part of it'),
  malformed: CountOf('Of these, such without readable metadata: left as they are'),
  reconciled: CountOf('Handed to the reconciliation lane'),
  absent: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description:
      'Datasets that are missing from the object store, by the database that has them: cache, or an install target',
  }),
  deleted: CountOf('Handed to the hardDelete lane'),
  spared: CountOf('Absent from the listing, but there when looked for by themselves: not deleted'),
  leftOut: Type.Array(Type.Object({ installTarget: Type.String(), reason: Type.String() }), {
    description: 'Install targets that did not respond',
  }),
  braked: Type.Optional(Type.String({ description: 'Why nothing was deleted although datasets are missing' })),
  failure: runFailure,
});
type ReconcileReport = Static<typeof ReconcileReport>;

const PruneReport = Type.Named('PruneReport', {
  started: Datetime,
  ended: runEnded,
  cutoff: Type.String({ format: 'date-time', description: 'Datasets deleted or superseded before this time were due' }),
  pruned: CountOf('Handed to the hardDelete lane to be removed'),
  trimmed: CountOf('Superseded revisions handed to the hardDelete lane to be trimmed'),
  skipped: skipsOf(PRUNER_SKIPS, 'Those that stay for now, by the reason'),
  failures: CountOf('Datasets that could not be processed'),
  failure: runFailure,
});
type PruneReport = Static<typeof PruneReport>;

const ReconcileRuns = runsOf(ReconcileReport);
type ReconcileRuns = Static<typeof ReconcileRuns>;
const PruneRuns = runsOf(PruneReport);
type PruneRuns = Static<typeof PruneRuns>;

const ReconcileStarted = Type.Named('ReconcileStarted', {
  state: Type.Enum(['started']),
  kind: Type.Enum(['full']),
  allowDeletes: Type.Boolean(),
});
type ReconcileStarted = Static<typeof ReconcileStarted>;

const PruneStarted = Type.Named('PruneStarted', {
  state: Type.Enum(['started']),
  ageCutoff: Type.Optional(Type.String({ description: 'Absent: the configured retention was used' })),
});
type PruneStarted = Static<typeof PruneStarted>;

const ORDER_REFUSALS = {
  ...ADMIN_REFUSALS,
  400: 'A query parameter is invalid',
  409: 'A run is under way, or another process runs this daemon',
  503: 'The daemon does not run yet',
} as const;

/** Throws 409 unless the run has begun. */
function requireStarted(daemon: string, answer: OrderAnswer): void {
  switch (answer) {
    case 'started':
      return;
    case 'running':
      throw conflict(`a run of the ${daemon} is under way; its report is at GET on the same path`);
    case 'elsewhere':
      throw conflict(`another process of this installation runs the ${daemon}; ask that one`);
    default:
      throw answer satisfies never;
  }
}

interface ReconcileOptions {
  readonly reconciler: ReconcilerControl;
}

const RECONCILE_PATH = '/admin/rpc/datasets/reconcile';

export function reconcileRoutes({ reconciler }: ReconcileOptions): readonly Route[] {
  return [
    {
      method: 'POST',
      servedWhenFull: true,
      path: RECONCILE_PATH,
      access: 'admin',
      operationId: 'reconcileDatasets',
      summary: 'Starts a run of the reconciler: compares all datasets with the cache and every install target',
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
        context.log.info({ allowDeletes }, 'full run of the reconciler requested by an administrator');
        const started: ReconcileStarted = { state: 'started', kind: 'full', allowDeletes };
        await context.json(202, started);
      },
    },
    {
      method: 'GET',
      path: RECONCILE_PATH,
      access: 'admin',
      operationId: 'reportReconciliation',
      summary: 'Shows the current and the last run of the reconciler',
      responses: { 200: answer('Runs of the process that answers', ReconcileRuns), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const runs: ReconcileRuns = shownRuns(reconciler, reconcileView);
        await context.json(200, runs);
      },
    },
  ];
}

function reconcileView(report: ReconcilerRun): ReconcileReport {
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

interface PruneOptions {
  readonly pruner: PrunerControl;
  readonly clock: Pick<Clock, 'now'>;
}

const PRUNE_PATH = '/admin/rpc/datasets/prune';

export function pruneRoutes({ pruner, clock }: PruneOptions): readonly Route[] {
  return [
    {
      method: 'POST',
      servedWhenFull: true,
      path: PRUNE_PATH,
      access: 'admin',
      operationId: 'pruneDatasets',
      summary:
        'Starts a run of the pruner: permanently removes datasets that were deleted or superseded long enough ago',
      query: {
        age_cutoff: {
          description:
            'How long ago, such as 30d or 1d 12h, or before which day or moment (UTC), such as 2026-01-31, ' +
            'instead of the retention that is configured',
          schema: { type: 'string' },
        },
      },
      responses: { 202: answer('The run has begun', PruneStarted), ...refusals(ORDER_REFUSALS) },
      handler: async (context) => {
        const { age_cutoff: ageCutoff } = context.query;
        const minAgeMs = minAgeOf(ageCutoff, clock.now());
        const options = minAgeMs === undefined ? {} : { minAgeMs };
        requireStarted('pruner', await pruner.order(options, context.signal));
        context.log.info({ ageCutoff }, 'run of the pruner requested by an administrator');
        const started: PruneStarted = {
          state: 'started',
          ...(ageCutoff === undefined ? {} : { ageCutoff: String(ageCutoff) }),
        };
        await context.json(202, started);
      },
    },
    {
      method: 'GET',
      path: PRUNE_PATH,
      access: 'admin',
      operationId: 'reportPruning',
      summary: 'Shows the current and the last run of the pruner',
      responses: { 200: answer('Runs of the process that answers', PruneRuns), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const runs: PruneRuns = shownRuns(pruner, pruneView);
        await context.json(200, runs);
      },
    },
  ];
}

/** The retention that the query asks for, in ms; undefined when it asks for none. */
function minAgeOf(value: QueryValue | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = String(value);
  const duration = parseDuration(text);
  if (duration !== undefined) return duration;
  const moment = momentOf(text.replace(/(?<=T\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z$/, ''));
  if (!moment)
    throw badRequest(
      `query parameter 'age_cutoff' is '${text}': expected a duration such as 30d or 1d 12h, or a date such as 2026-01-31`,
    );
  const age = nowMs - moment.getTime();
  if (age < 0) throw badRequest(`query parameter 'age_cutoff' is '${text}', which is yet to come`);
  return age;
}

function pruneView(report: PrunerRun): PruneReport {
  const { startedAt, cutoff, failure } = report;
  return {
    started: startedAt.toISOString(),
    cutoff: cutoff.toISOString(),
    pruned: report.pruned,
    trimmed: report.trimmed,
    skipped: { ...report.skipped },
    failures: report.failures,
    ...(failure === undefined ? {} : { failure }),
  };
}
