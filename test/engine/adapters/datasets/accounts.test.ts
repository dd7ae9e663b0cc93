import t from 'tap';
import { PostgresAccounts } from '../../../../engine/adapters/datasets/accounts-postgres.ts';
import { accountsConformance } from '../../../conformance/accounts.ts';
import { FakeAccounts } from '../../../fakes/fake-accounts.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { newUser } from '../../../support/dataset-samples.ts';

const db = await cacheDatabase(t);

t.test('PostgreSQL', async (t) => {
  accountsConformance(t, async () => new PostgresAccounts(db));
});

t.test('fake', async (t) => {
  accountsConformance(t, async () => new FakeAccounts());
});

t.test('claims that did not change are not written', async (t) => {
  const accounts = new PostgresAccounts(db);
  const profile = { userId: newUser(), firstName: 'A', lastName: 'B\0', email: 'c', affiliation: 'd' };
  const signal = new AbortController().signal;
  const row = () =>
    db.query('select xmin::text, xmax::text, ctid::text from account where user_id = $1', [profile.userId]);
  await accounts.remember(profile, signal);
  const before = await row();
  await accounts.remember(profile, signal);
  t.strictSame(await row(), before);
  await accounts.remember({ ...profile, firstName: 'Z' }, signal);
  t.notSame(await row(), before);
});
