import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import { typeKey } from '../../../../engine/model/data-types.ts';
import { nextJobsConformance } from '../../../conformance/next-jobs.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../../fakes/fake-leases.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

t.test('PostgreSQL', async (t) => {
  nextJobsConformance(t, async (t) => {
    await emptyCache(at);
    const { db, instance } = await engineProcess(t, at);
    return {
      catalog: new PostgresCatalog(db),
      uploads: new PostgresUploads(db, { instance: instance.id }),
      jobs: new PostgresJobs(db, instance, new VirtualClock()),
    };
  });
});

t.test('fake', async (t) => {
  nextJobsConformance(t, async () => {
    const clock = new VirtualClock();
    const leases = new LeaseTable(clock);
    const catalog: FakeCatalog = new FakeCatalog((lease) => leases.holds(lease, 1));
    const table = new JobTable(
      clock,
      leases,
      (dataset) => {
        const known = catalog.datasets.get(dataset);
        return known && typeKey(known.metadata.type);
      },
      (dataset) => catalog.traces.get(dataset),
    );
    catalog.onNext = (request) => table.enqueue(request);
    const enqueueJobs = async (requests: readonly Parameters<typeof table.enqueue>[0][]): Promise<void> => {
      for (const request of requests) table.enqueue(request);
    };
    const uploads = new FakeUploads(catalog, { holds: (lease) => leases.holds(lease, 1), enqueueJobs });
    return { catalog, uploads, jobs: new FakeJobs(table, 1) };
  });
});
