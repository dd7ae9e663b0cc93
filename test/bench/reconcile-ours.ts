// A side of M18: a full run of the product's reconciler, on the cache and the listing, with its own adapters.

import { Reconciler } from '../../actors/reconciler/reconciler.ts';
import { PostgresDatasetIndex } from '../../engine/adapters/catalog/dataset-index-postgres.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { PostgresTargetIndex } from '../../engine/adapters/sites/target-index-postgres.ts';
import { DataTypes } from '../../engine/model/data-types.ts';
import { targetId } from '../../engine/model/ids.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { ReconcileOrder } from './m18-reconcile.ts';
import { tellOf } from './side-process.ts';

void tellOf(async ({ database, port, targets }: ReconcileOrder) => {
  const log = silentLogger();
  const db = new Postgres(database satisfies PostgresOptions, log);
  const keys = { accessKey: 'bench-access', secretKey: 'bench-secret' };
  const at = { host: '127.0.0.1', port, bucket: 'bucket', tls: undefined, region: 'eu', pathStyle: true, ...keys };
  using store = new S3Store(at, { log });
  const asked: string[] = [];
  let events = 0;
  const reconciler = new Reconciler({
    ...{ store, log, clock: systemClock, metrics: new Metrics(), types: new DataTypes([], []) },
    index: new PostgresDatasetIndex(db),
    targetIndexes: new Map(
      targets.map((id) => [targetId(id), new PostgresTargetIndex(db, { id: targetId(id), schema: 'control' })]),
    ),
    jobs: { enqueue: async (jobs) => void asked.push(...jobs.map(({ dataset }) => dataset)) },
    events: { nextEventId: async () => ++events },
  });
  const order = { kind: 'full', performDeletes: false, allowDeletes: false } as const;
  const { listed, wouldDelete } = await reconciler.runOnce(order, new AbortController().signal);
  await db[Symbol.asyncDispose]();
  return { listed, changed: asked, absent: wouldDelete.cache };
});
