import t from 'tap';
import { PostgresSlimPasses } from '../../../../engine/adapters/catalog/slim-passes-postgres.ts';
import { slimPassesConformance } from '../../../conformance/slim-passes.ts';
import { FakeSlimPasses } from '../../../fakes/fake-slim-passes.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';

t.test('PostgreSQL', async (t) => {
  const db = await cacheDatabase(t);
  slimPassesConformance(t, async () => {
    await db.query('delete from slim_pass');
    return { first: new PostgresSlimPasses(db), second: new PostgresSlimPasses(db) };
  });
});

t.test('fake', async (t) => {
  slimPassesConformance(t, async () => {
    const shared = new FakeSlimPasses();
    return { first: shared, second: shared };
  });
});
