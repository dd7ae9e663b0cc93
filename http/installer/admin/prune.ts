// POST /admin/rpc/datasets/prune: a run of the pruner now; GET: how far it is, and what the last run found.

import type { PrunerControl, PrunerRun } from '../../../engine/ports/daemon-orders.ts';
import { parseDuration } from '../../../engine/runtime/duration.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { type PruneReport, PruneRuns, PruneStarted } from '../schema/daemon-report.ts';
import { ORDER_REFUSALS, requireStarted } from './daemon-order.ts';
import { momentOf } from './partial-datetime.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface PruneOptions {
  readonly pruner: PrunerControl;
  readonly clock: Pick<Clock, 'now'>;
}

const PATH = '/admin/rpc/datasets/prune';

export function pruneRoutes({ pruner, clock }: PruneOptions): readonly Route[] {
  return [
    {
      method: 'POST',
      needsNoRoom: true,
      path: PATH,
      access: 'admin',
      operationId: 'pruneDatasets',
      summary: 'Removes for good now what was deleted or superseded long enough ago',
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
        context.log.info({ ageCutoff }, 'run of the pruner ordered by an administrator');
        const started: PruneStarted = {
          state: 'started',
          ...(ageCutoff === undefined ? {} : { ageCutoff: String(ageCutoff) }),
        };
        await context.json(202, started);
      },
    },
    {
      method: 'GET',
      path: PATH,
      access: 'admin',
      operationId: 'reportPruning',
      summary: 'What the pruner has done: its run under way, and its last',
      responses: { 200: answer('Runs of the process that answers', PruneRuns), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const { current, lastReport } = pruner;
        const runs: PruneRuns = {
          ...(current ? { current: runView(current) } : {}),
          ...(lastReport ? { last: { ...runView(lastReport), ended: lastReport.endedAt.toISOString() } } : {}),
        };
        await context.json(200, runs);
      },
    },
  ];
}

/** In ms; undefined when none is asked for. */
function minAgeOf(value: QueryValue | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = String(value);
  const duration = parseDuration(text);
  if (duration !== undefined) return duration;
  const moment = momentOf(text.replace(/(?<=T\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z$/, ''));
  if (!moment)
    throw badRequest(
      `query parameter 'age_cutoff' is '${text}': a duration such as 30d or 1d 12h, or a date such as 2026-01-31, is needed`,
    );
  const age = nowMs - moment.getTime();
  if (age < 0) throw badRequest(`query parameter 'age_cutoff' is '${text}', which is yet to come`);
  return age;
}

function runView(report: PrunerRun): PruneReport {
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
