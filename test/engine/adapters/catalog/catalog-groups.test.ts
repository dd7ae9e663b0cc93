// Writes of several datasets in one group (group-commit.ts). What each of them writes is tested in catalog.test.ts.

import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import type { DatasetAddress } from '../../../../engine/model/object-key.ts';
import type { CatalogChange } from '../../../../engine/ports/catalog.ts';
import type { Lease } from '../../../../engine/ports/jobs.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { metadataOf, newAddress, PLASMO, TOXO } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

interface Held {
  readonly at: DatasetAddress;
  readonly lease: Lease;
}

const catalog = new PostgresCatalog(db);

async function setup(datasets: number) {
  const held: Held[] = [];
  for (let n = 0; n < datasets; n++) {
    const at = newAddress();
    const lease = await grantLease(db, at.dataset);
    await catalog.register(at, metadataOf(at.owner), [], lease, signal);
    held.push({ at, lease });
  }
  const write = ({ at, lease }: Held, ...changes: readonly CatalogChange[]) =>
    catalog.write(at.dataset, lease, changes, signal);
  const statusOf = async ({ at }: Held) =>
    (await catalog.find(at.dataset, signal))?.installs.map(({ target, kind, status }) => `${target} ${kind} ${status}`);
  return { held, write, statusOf };
}

const installed = (status: 'running' | 'complete', target = PLASMO): CatalogChange => ({
  ...{ set: 'install', target, kind: 'data', status, messages: ['said', 'e\0nd'] },
});
t.test('writes of several datasets share a transaction', async (t) => {
  const { held, write, statusOf } = await setup(6);
  await Promise.all(held.map((one) => write(one, installed('running'))));
  for (const one of held) t.strictSame(await statusOf(one), [`${PLASMO} data running`]);
  const transactions = await db.query('select distinct xmin from install_status where dataset_id = any($1::text[])', [
    held.map(({ at }) => at.dataset),
  ]);
  t.equal(transactions.length, 1);
});

t.test('a lost lease refuses its own write only, also beside one of the same dataset that is current', async (t) => {
  const { held, write, statusOf } = await setup(3);
  const [first, second, third] = held as [Held, Held, Held];
  const current = { ...second, lease: await grantLease(db, second.at.dataset) };
  const results = await Promise.allSettled([
    write(first, installed('running')),
    write(second, installed('running')),
    write(current, installed('running', TOXO)),
    write(third, installed('running')),
  ]);
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  t.match(results[1], { reason: { kind: 'aborted', message: /lease lost/ } });
  t.strictSame(await statusOf(second), [`${TOXO} data running`]);
});

t.test('a write that the database refuses, or whose dataset is gone, fails alone', async (t) => {
  const { held, write, statusOf } = await setup(3);
  const [first, second, third] = held as [Held, Held, Held];
  await catalog.remove(third.at.dataset, third.lease, signal);
  const results = await Promise.allSettled([
    write(first, installed('running')),
    write(second, installed('no-such-status' as never)),
    write(third, installed('running')),
    write(first, installed('running', TOXO)),
  ]);
  t.match(results, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'defect', message: /install_status_status_check/ } },
    { status: 'rejected', reason: { kind: 'defect', message: /is not in the catalog/ } },
    { status: 'fulfilled' },
  ]);
  t.strictSame(await statusOf(first), [`${PLASMO} data running`, `${TOXO} data running`]);
});

t.test('a dataset whose row an edit holds waits, and holds up no other', async (t) => {
  const { held, write, statusOf } = await setup(2);
  const [edited, other] = held as [Held, Held];
  let waiting: Promise<void> | undefined;
  await db.transaction(async (sql) => {
    await sql.query('select from dataset where dataset_id = $1 for update', [edited.at.dataset]);
    waiting = write(edited, installed('running'));
    await write(other, installed('running'));
    t.strictSame(await statusOf(edited), []);
  }, signal);
  await waiting;
  t.strictSame(await statusOf(edited), [`${PLASMO} data running`]);
});
