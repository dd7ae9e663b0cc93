// POST /admin/rpc/installs/clear-failed: installs that failed for no fault of the user's, or that miss a dependency, are
// tried again; GET: how far that is, and what the last run did.

import { targetId } from '../../../engine/model/ids.ts';
import type { ClearOrder, ClearRun, FailedInstalls } from '../../../engine/ports/failed-installs.ts';
import { soundJsonBody } from '../../kernel/bodies/body.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { conflict } from '../../kernel/pipeline/errors.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { ClearInput, ClearRuns, ClearStarted, type ClearView, MAX_PLACES } from '../schema/clear-report.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface ClearFailedOptions {
  readonly failedInstalls: FailedInstalls;
}

const PATH = '/admin/rpc/installs/clear-failed';
/** Enough for every place, written as long as it may be. */
const MAX_BODY_BYTES = MAX_PLACES * 200;

export function clearFailedRoutes({ failedInstalls }: ClearFailedOptions): readonly Route[] {
  const read = soundJsonBody(ClearInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  return [
    {
      method: 'POST',
      needsNoRoom: true,
      path: PATH,
      access: 'admin',
      operationId: 'clearFailedInstalls',
      summary: 'Has installs tried again that failed from an internal error or miss a dependency',
      query: {
        'skip-run': {
          description: 'Only marks them as ready for a reinstall; the next full run of the reconciler tries them',
          schema: { type: 'boolean', default: false },
        },
      },
      body: {
        description: 'Either `all` is true, or `targets` names installs',
        content: { 'application/json': { ...ClearInput } },
      },
      responses: {
        202: answer('The run has begun', ClearStarted),
        ...refusals({
          ...ADMIN_REFUSALS,
          400: 'A query parameter is wrong, or the body is no JSON or too large',
          409: 'A run is under way',
          415: 'The body is no JSON',
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
      summary: 'What clearing failed installs has done: the run under way, and the last',
      responses: { 200: answer('Runs of the process that answers', ClearRuns), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const { current, lastReport } = failedInstalls;
        const runs: ClearRuns = {
          ...(current ? { current: runView(current) } : {}),
          ...(lastReport ? { last: { ...runView(lastReport), ended: lastReport.endedAt.toISOString() } } : {}),
        };
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
