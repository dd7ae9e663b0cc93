// The line of a dataset beside a plain query of what it is made from.

import fc from 'fast-check';
import t from 'tap';
import { PostgresDatasetIndex } from '../../../../engine/adapters/catalog/dataset-index-postgres.ts';
import { DatasetLines } from '../../../../engine/adapters/catalog/dataset-line.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { SyncPart } from '../../../../engine/ports/catalog.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const index = new PostgresDatasetIndex(db);

const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom('\\', '\t', '\n', '\r', 'N', 'n', 't', 'ä', '\u{1f9ec}', '\x1f', ' '),
    maxLength: 8,
  }),
  fc.constantFrom('\\N', '\\', '', 'genelist'),
);
const version = fc.option(fc.record({ etag: text, modifiedMs: fc.integer({ min: 0, max: 4e12 }) }), { nil: null });
const row = fc.record({
  type: text,
  version: text,
  targets: fc.array(text, { maxLength: 3 }),
  meta: version,
  data: version,
  shares: version,
});

t.test('a page says what a plain query of the columns says, whatever they hold', async (t) => {
  const property = fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (rows) => {
    await db.query('delete from dataset');
    for (const [n, { type, version: typeVersion, targets, meta, data, shares }] of rows.entries())
      await db.query(
        `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata,
           visibility, name, upload_status, import_status, install_targets, meta_etag, meta_modified_ms, data_etag,
           data_modified_ms, shares_etag, shares_modified_ms)
         values ('d' || $1::int, 7, 'r', 0, 'live', $2, $3, '{}', 'private', 'n', 'success', 'queued', $4, $5, $6, $7, $8,
           $9, $10)`,
        [n, type, typeVersion, targets, ...[meta, data, shares].flatMap((one) => [one?.etag, one?.modifiedMs])],
      );
    t.strictSame([...(await index.page(undefined, 1_000, signal))], await plainly());
  });
  await fc.assert(property, { numRuns: 60, seed: 20_260_101 });
});

t.test('a line that is cut off is refused', async (t) => {
  const line = '7\td\t1\te\t\t\t\t\tlive\tt\t1\tsuccess\tqueued';
  const read = (lines: string | null, length: number) => [...new DatasetLines(lines, length)];
  t.equal(read(line, 1).length, 1);
  t.throws(() => read(line.slice(0, 8), 1), { kind: 'defect', message: /too few fields: 7\td\t1\te/ });
  t.throws(() => read(line.slice(0, -15), 1), { kind: 'defect', message: /too few fields at its end: live/ });
  t.throws(() => read(`${line}\n`, 2), { kind: 'defect', message: /too few fields/ });
  t.throws(() => read(line, 2), { kind: 'defect', message: /too few fields/ });
  t.strictSame(read(null, 0), []);
});

type Columns = Readonly<Record<`${SyncPart}_etag` | `${SyncPart}_modified_ms`, unknown>> & {
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly type_name: string;
  readonly type_version: string;
  readonly install_targets: string[];
};

async function plainly(): Promise<unknown[]> {
  const rows = await db.query<Columns>(
    `select dataset_id, owner_id::text as owner, type_name, type_version, install_targets, meta_etag, meta_modified_ms,
       data_etag, data_modified_ms, shares_etag, shares_modified_ms from dataset order by dataset_id`,
  );
  return rows.map((one) => ({
    ...{ owner: one.owner, dataset: one.dataset_id, state: 'live' },
    ...{ type: { name: one.type_name, version: one.type_version }, installTargets: one.install_targets },
    ...{ upload: 'success', import: 'queued' },
    sync: Object.fromEntries(
      (['meta', 'data', 'shares'] as const)
        .filter((part) => one[`${part}_etag`] !== null)
        .map((part) => [part, { modified: new Date(one[`${part}_modified_ms`] as number), etag: one[`${part}_etag`] }]),
    ),
  }));
}
