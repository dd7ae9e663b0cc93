// A run of the product's reconciler, on the cache and a store, with its own adapters.

import { Reconciler } from '../../actors/reconciler/reconciler.ts';
import { PostgresDatasetIndex } from '../../engine/adapters/catalog/dataset-index-postgres.ts';
import { PostgresSlimPasses } from '../../engine/adapters/catalog/slim-passes-postgres.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresTargetIndex } from '../../engine/adapters/sites/target-index-postgres.ts';
import { DataTypes } from '../../engine/model/data-types.ts';
import { targetId } from '../../engine/model/ids.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { ReconcileOrder } from './p10-reconcile.ts';
import { tellOf } from './side-process.ts';
import { openStore } from './store-at.ts';

void tellOf(async ({ kind, pace, database, store: at, targets }: ReconcileOrder) => {
  const log = silentLogger();
  const db = new Postgres(database satisfies PostgresOptions, log);
  const store = await openStore(at);
  const asked: string[] = [];
  let events = 0;
  const reconciler = new Reconciler({
    ...{ store, log, clock: systemClock, metrics: new Metrics(), types: new DataTypes([], []) },
    index: new PostgresDatasetIndex(db),
    slimPasses: new PostgresSlimPasses(db),
    targetIndexes:
      targets.length > 0 ? [new PostgresTargetIndex(db, { targets: targets.map(targetId), schema: 'control' })] : [],
    jobs: { enqueue: async (jobs) => void asked.push(...jobs.map(({ dataset }) => dataset)) },
    events: { nextEventId: async () => ++events },
  });
  const order = { kind, performDeletes: false, allowDeletes: false, ...(pace && { pace }) } as const;
  const { listed, wouldDelete } = await reconciler.runOnce(order, new AbortController().signal);
  await db[Symbol.asyncDispose]();
  return { listed, changed: asked, absent: wouldDelete.cache ?? 0 };
});
