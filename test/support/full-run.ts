// A full run of the reconciler over a world of lanes, and what these make of it.

import { Reconciler, type ReconcilerOrder } from '../../actors/reconciler/reconciler.ts';
import type { ReconcilerReport } from '../../engine/ports/process-control.ts';
import { FakeDatasetIndex, FakeTargetIndex } from '../fakes/fake-dataset-index.ts';
import { EventLogTable, FakeEventLog } from '../fakes/fake-event-log.ts';
import { FakeJobs } from '../fakes/fake-jobs.ts';
import { FakeSlimPasses } from '../fakes/fake-slim-passes.ts';
import type { LaneWorld } from './lane-world.ts';

const never = new AbortController().signal;
const FULL: ReconcilerOrder = { kind: 'full', performDeletes: true, allowDeletes: false };

/** One full run, and whatever it sets off, to the end. */
export async function fullRun(world: LaneWorld, order: Partial<ReconcilerOrder> = {}): Promise<ReconcilerReport> {
  const { id } = world.process();
  const { clock, log, metrics, types } = world.settings;
  const reconciler = new Reconciler({
    store: world.store,
    index: new FakeDatasetIndex(world.catalog, () => world.jobs.rows),
    slimPasses: new FakeSlimPasses(),
    targetIndexes: [new FakeTargetIndex(world.targets.keys(), world.schema)],
    jobs: new FakeJobs(world.jobs, id),
    events: new FakeEventLog(new EventLogTable(clock), id),
    ...{ clock, log, metrics, types },
  });
  const report = await reconciler.runOnce({ ...FULL, ...order }, never);
  await world.finish();
  return report;
}
