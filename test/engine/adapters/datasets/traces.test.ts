import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetEdits } from '../../../../engine/adapters/datasets/dataset-edits-postgres.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import { tracesConformance } from '../../../conformance/traces.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeDatasetEdits } from '../../../fakes/fake-dataset-edits.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../../fakes/fake-leases.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);

t.test('PostgreSQL', async (t) => {
  tracesConformance(t, async (t) => {
    await emptyCache(at);
    const { db, instance } = await engineProcess(t, at);
    return {
      catalog: new PostgresCatalog(db),
      uploads: new PostgresUploads(db, { instance: instance.id }),
      edits: new PostgresDatasetEdits(db),
      jobs: new PostgresJobs(db, instance, new VirtualClock()),
    };
  });
});

t.test('fake', async (t) => {
  tracesConformance(t, async () => {
    const clock = new VirtualClock();
    const catalog = new FakeCatalog(() => true);
    const traceOf = catalog.traces.get.bind(catalog.traces);
    const jobs = new FakeJobs(new JobTable(clock, new LeaseTable(clock), () => undefined, traceOf), 1);
    const enqueue = new AbortController().signal;
    const options = {
      holds: () => true,
      enqueueJobs: (requests: Parameters<typeof jobs.enqueue>[0]) => jobs.enqueue(requests, enqueue),
    };
    return { catalog, uploads: new FakeUploads(catalog, options), edits: new FakeDatasetEdits(catalog), jobs };
  });
});
