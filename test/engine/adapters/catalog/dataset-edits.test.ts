import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetEdits } from '../../../../engine/adapters/datasets/dataset-edits-postgres.ts';
import { datasetEditsConformance } from '../../../conformance/dataset-edits.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeDatasetEdits } from '../../../fakes/fake-dataset-edits.ts';
import { FakeLeaseTable } from '../../../fakes/fake-lease-table.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { metadataOf, newAddress } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const edits = new PostgresDatasetEdits(db);
const grant = (name: string) => grantLease(db, name);

t.test('PostgreSQL', async (t) => {
  datasetEditsConformance(t, async () => ({ edits, catalog, grant }));
});

t.test('fake', async (t) => {
  datasetEditsConformance(t, async () => {
    const leases = new FakeLeaseTable();
    const fake = new FakeCatalog(leases.holds);
    return { edits: new FakeDatasetEdits(fake), catalog: fake, grant: leases.grant };
  });
});

t.test('a lane that writes to the dataset waits for the edit, and neither loses the other', async (t) => {
  const at = newAddress();
  const lease = await grant(at.dataset);
  await catalog.register(at, metadataOf(at.owner), [], lease, signal);
  const deciding = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const edited = edits.edit(
    at.dataset,
    async () => {
      deciding.resolve();
      await goOn.promise;
      return { changes: [{ set: 'metadata', metadata: metadataOf(at.owner, { name: 'Edited' }) }], result: undefined };
    },
    signal,
  );
  await deciding.promise;
  const written = catalog.write(at.dataset, lease, [{ set: 'import', status: 'complete', messages: ['fine'] }], signal);
  goOn.resolve();
  await Promise.all([edited, written]);
  const record = await catalog.find(at.dataset, signal);
  t.same([record?.metadata.name, record?.import?.status], ['Edited', 'complete']);
});
