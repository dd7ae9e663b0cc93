// Datasets whose upload is done, put where a service that starts finds them: in its object store and its cache
// database, without a change event. Their imports are left to be enqueued.

import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { PostgresCatalog } from '../../engine/adapters/catalog/catalog-postgres.ts';
import { openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import { PostgresJobs } from '../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresLeases } from '../../engine/adapters/postgres/leases-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import { type DatasetType, serialiseManifest } from '../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { FakeChangeJournal } from '../fakes/fake-change-journal.ts';
import { zipOf } from '../fixtures/archives.ts';
import type { TestDatabase } from './database.ts';
import { metadataOf, newDataset } from './dataset-samples.ts';

const signal = new AbortController().signal;
const AT_ONCE = 8;

export interface Seeding extends AsyncDisposable {
  readonly db: Postgres;
  add(types: readonly DatasetType[], owner: UserId): Promise<readonly DatasetId[]>;
  /** Queues the imports; those of one call are of one age. */
  enqueueImports(datasets: readonly DatasetId[], owner: UserId): Promise<void>;
}

/** The database is migrated; the service that works on both does not run yet. */
export async function seeding(at: TestDatabase, storePath: string): Promise<Seeding> {
  const parts = { clock: systemClock, log: silentLogger() };
  const options = { schema: CACHE_SCHEMA, poolSize: 4, idleTimeoutMs: 10_000, applicationName: 'longshore-test' };
  const db = new Postgres({ ...at, ...options }, parts.log);
  const instance = await PostgresInstance.open(db, { onGap: () => undefined }, parts.clock, parts.log, signal);
  const store = await openDirectoryStore({ path: storePath, journal: new FakeChangeJournal(), ...parts }, signal);
  const leases = new PostgresLeases(db, instance);
  const catalog = new PostgresCatalog(db);
  const jobs = new PostgresJobs(db, instance, parts.clock);
  const upload = await zipOf({ 'genes.txt': 'PF3D7_0100100\n' });
  const manifest = serialiseManifest({ rawUploads: [{ name: 'genes.txt', size: 14 }], installReady: [] });

  async function addOne(at: DatasetAddress, type: DatasetType): Promise<void> {
    const lease = await leases.acquire(at.dataset, signal);
    if (!lease) throw new Error(`the lease of ${at.dataset} is not free`);
    await store.put(objectKey(at, 'vdi-manifest.json'), Buffer.from(manifest), {}, signal);
    await store.put(objectKey(at, 'import-ready.zip'), upload, {}, signal);
    await catalog.register(at, metadataOf(at.owner, { type }), [], lease, signal);
    await leases.release(lease, signal);
  }

  return {
    db,
    async add(types, owner) {
      const added = types.map((type) => ({ type, dataset: newDataset() }));
      const queue = added.values();
      const worker = async (): Promise<void> => {
        for (const { type, dataset } of queue) await addOne({ owner, dataset }, type);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      return added.map(({ dataset }) => dataset);
    },
    async enqueueImports(datasets, owner) {
      const request = { lane: 'import', owner, source: 'object-store' } as const;
      const requests = datasets.map((dataset, i) => ({ ...request, dataset, eventId: i + 1 }));
      await jobs.enqueue(requests, signal);
    },
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
    },
  };
}
