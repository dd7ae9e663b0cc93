// POST /admin/rpc/installs/clear-failed retries installs that failed from an internal error or that miss a dependency. GET on
// the same path: the progress of that run, and the result of the last one.

import type { Static } from 'typebox';
import { targetId } from '../../../engine/model/ids.ts';
import {
  CLEAR_SKIPS,
  type ClearOrder,
  type ClearRun,
  type FailedInstalls,
} from '../../../engine/ports/process-control.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { conflict } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { DatasetIdInput, Datetime } from '../dataset-terms.ts';
import { CLOSED, InstallTargetId } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS, CountOf, runEnded, runFailure, runsOf, shownRuns, skipsOf } from './admin-route.ts';

/** For more, send several requests. */
const MAX_PLACES = 10_000;

const ClearInput = Type.Named(
  'ClearInput',
  {
    all: Type.Optional(Type.Boolean({ description: 'All failed installs; instead of targets' })),
    targets: Type.Optional(
      Type.Array(Type.Object({ datasetId: DatasetIdInput, installTarget: InstallTargetId }, CLOSED), {
        minItems: 1,
        maxItems: MAX_PLACES,
        description: 'Only these installs; those that have not failed are skipped',
      }),
    ),
  },
  CLOSED,
);
type ClearInput = Static<typeof ClearInput>;

const ClearView = Type.Named('ClearRun', {
  started: Datetime,
  ended: runEnded,
  skipRun: Type.Boolean(),
  datasets: CountOf('Datasets looked at'),
  cleared: CountOf('Installs of metadata or data on one target that can be retried'),
  jobs: CountOf('Jobs that will try them'),
  skipped: skipsOf(CLEAR_SKIPS, 'Installs that stay as they are, by the reason'),
  failures: CountOf('Datasets that could not be dealt with'),
  failure: runFailure,
});
type ClearView = Static<typeof ClearView>;

const ClearRuns = runsOf(ClearView);
type ClearRuns = Static<typeof ClearRuns>;

const ClearStarted = Type.Named('ClearStarted', { state: Type.Enum(['started']), skipRun: Type.Boolean() });
type ClearStarted = Static<typeof ClearStarted>;

interface ClearFailedOptions {
  readonly failedInstalls: FailedInstalls;
}

const PATH = '/admin/rpc/installs/clear-failed';
/** Enough for the largest number of places at their greatest length. */
const MAX_BODY_BYTES = MAX_PLACES * 200;

export function clearFailedRoutes({ failedInstalls }: ClearFailedOptions): readonly Route[] {
  const read = checkedJsonBody(ClearInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  return [
    {
      method: 'POST',
      servedWhenFull: true,
      path: PATH,
      access: 'admin',
      operationId: 'clearFailedInstalls',
      summary: 'Retries installs that failed with an internal error or a missing dependency',
      query: {
        'skip-run': {
          description: 'Only marks them as ready for reinstall; the next full run of the reconciler installs them',
          schema: { type: 'boolean', default: false },
        },
      },
      body: {
        description: 'Either `all` is true, or `targets` lists installs',
        content: { 'application/json': { ...ClearInput } },
      },
      responses: {
        202: answer('The run has begun', ClearStarted),
        ...refusals({
          ...ADMIN_REFUSALS,
          400: 'A query parameter is invalid, or the body is not JSON or too large',
          409: 'A run is under way',
          415: 'The body is not JSON',
          422: 'The body names no installs',
          503: 'The process starts or stops',
        }),
      },
      handler: async (context) => {
        const places = placesOf(await read(context.request));
        const skipRun = context.query['skip-run'] === true;
        if (failedInstalls.clear({ places, run: !skipRun }) === 'running')
          throw conflict('failed installs are being cleared; how far it is, is at GET on the same path');
        const about = { installs: places === 'all' ? places : places.length, skipRun };
        context.log.info(about, 'failed installs are cleared for an administrator');
        const started: ClearStarted = { state: 'started', skipRun };
        await context.json(202, started);
      },
    },
    {
      method: 'GET',
      path: PATH,
      access: 'admin',
      operationId: 'reportClearedInstalls',
      summary: 'Shows the current and the last run that cleared failed installs',
      responses: { 200: answer('Runs of the process that answers', ClearRuns), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const runs: ClearRuns = shownRuns(failedInstalls, runView);
        await context.json(200, runs);
      },
    },
  ];
}

function placesOf({ all = false, targets }: ClearInput): ClearOrder['places'] {
  if (all !== (targets === undefined)) {
    const faults = new Faults();
    faults.add([], "either 'all' is true, or 'targets' names the installs");
    throw faults.refusal();
  }
  return (
    targets?.map(({ datasetId: dataset, installTarget }) => ({ dataset, target: targetId(installTarget) })) ?? 'all'
  );
}

const runView = ({ startedAt, run, skipped, failure, ...counts }: ClearRun): ClearView => ({
  started: startedAt.toISOString(),
  skipRun: !run,
  datasets: counts.datasets,
  cleared: counts.cleared,
  jobs: counts.jobs,
  skipped: { ...skipped },
  failures: counts.failures,
  ...(failure === undefined ? {} : { failure }),
});
