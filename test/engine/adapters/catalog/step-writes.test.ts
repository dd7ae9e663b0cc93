// Writes of install steps that wait at the same time. What each of them writes is tested with the catalog (catalog.test.ts).

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

async function setup(datasets: number) {
  const statements: (string | undefined)[] = [];
  const query: typeof db.query = (text, values, name) => {
    statements.push(name);
    return db.query(text, values, name);
  };
  const catalog = new PostgresCatalog({ query, transaction: (...args) => db.transaction(...args) });
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
  statements.length = 0;
  return { statements, catalog, held, write, statusOf };
}

const installed = (status: 'running' | 'complete', target = PLASMO): CatalogChange => ({
  ...{ set: 'install', target, kind: 'data', status, messages: ['said', 'e\0nd'] },
});
const attempt = (attempts: number): CatalogChange => ({
  ...{ set: 'attempt', target: PLASMO, kind: 'data', attempts, notBefore: new Date('2026-01-02T03:04:05.678Z') },
  started: true,
});

t.test('those that wait while one is under way go together, whatever they write', async (t) => {
  const { statements, catalog, held, write, statusOf } = await setup(6);
  await Promise.all(held.map((one, n) => write(one, installed('running'), attempt(n))));
  t.strictSame(statements, ['catalog-step-writes', 'catalog-step-writes'], 'the first, and the other five');
  for (const [n, one] of held.entries()) {
    t.strictSame(await statusOf(one), [`${PLASMO} data running`]);
    const { set: _set, ...row } = attempt(n) as Extract<CatalogChange, { set: 'attempt' }>;
    t.strictSame(await catalog.attempts(one.at.dataset, signal), [row]);
  }
  const [first] = held as [Held];
  t.match(await catalog.find(first.at.dataset, signal), { installs: [{ messages: ['said', 'e\ufffdnd'] }] });
  await Promise.all(
    held.map((one) => write(one, installed('complete'), { set: 'attemptOver', target: PLASMO, kind: 'data' })),
  );
  t.strictSame(
    await Promise.all(held.map(({ at }) => catalog.attempts(at.dataset, signal))),
    held.map(() => []),
  );
});

t.test('of one dataset, two targets go together, and two writes of one row in their order', async (t) => {
  const { statements, held, write, statusOf } = await setup(1);
  const [one] = held as [Held];
  await Promise.all([
    write(one, installed('running')),
    write(one, installed('running', TOXO)),
    write(one, installed('complete')),
    write(one, installed('running')),
    write(one, installed('running'), installed('complete')),
  ]);
  t.strictSame(await statusOf(one), [`${PLASMO} data complete`, `${TOXO} data running`]);
  t.equal(statements.filter((name) => name === 'catalog-step-writes').length, 4);
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
  const { catalog, held, write, statusOf } = await setup(3);
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
