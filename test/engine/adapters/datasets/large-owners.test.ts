// What a page of an owner's datasets costs, and the view of one of them, must not grow with what the owner has.

import t from 'tap';
import { PostgresDatasetQueries } from '../../../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { PostgresUserStudies } from '../../../../engine/adapters/datasets/user-studies-postgres.ts';
import type { DatasetId } from '../../../../engine/model/ids.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { metadataOf, newUser, PLASMO } from '../../../support/dataset-samples.ts';
import { recordingSql } from '../../../support/statement-plans.ts';

const signal = new AbortController().signal;
const HAS = 20_000;
const PAGE = 100;
const MOST_RELATED = 1_000;
/** Microseconds: three quarters of the datasets are newer. */
const LATE = { keys: [`${(HAS / 4) * 1_000_000}`], dataset: `large${HAS / 4}` as DatasetId };

const db = await cacheDatabase(t);
const owner = newUser();
await db.query(
  `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
     created, upload_status, import_status, project_name, program_name)
   select 'large' || n, $1::numeric, 'large' || n, 0, 'live', 't', '1', $2::jsonb, 'private', 'n' || n,
     'epoch'::timestamptz + n * interval '1 second', 'success', 'complete', 'project', 'program'
   from generate_series(1, $3::integer) n`,
  [owner, JSON.stringify(metadataOf(owner)), HAS],
);
await db.query(
  `insert into install_status (dataset_id, target_id, kind, status)
   select dataset_id, $1, k, 'complete' from dataset, unnest('{meta,data}'::text[]) k`,
  [PLASMO],
);
await db.query(
  `insert into dataset_publication (dataset_id, type, identifier) select dataset_id, 'pmid', '1' from dataset`,
);
await db.query('vacuum (analyze)');

interface Node {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
}

/** The most rows that a step of a plan reads or returns. */
const mostRows = (node: Node): number =>
  Math.max(
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    ...(node.Plans ?? []).map(mostRows),
  );

const recorded = recordingSql(db);
const queries = new PostgresDatasetQueries(recorded);
const studies = new PostgresUserStudies(recorded);
const order = { sort: 'created', descending: true } as const;
const all = { viewer: owner, ownership: 'any' } as const;

const related = metadataOf(owner, {
  ...{ projectName: 'project', programName: 'program' },
  publications: [{ identifier: '1', type: 'pmid', isPrimary: true }],
});
const relatives = () => queries.related(`large${HAS}` as DatasetId, related, owner, signal);

for (const [what, page, read] of [
  ['the first datasets of the list', PAGE, () => Array.fromAsync(queries.list({ ...all, limit: PAGE }, signal))],
  [
    'a first page',
    PAGE,
    async () => Array.fromAsync((await queries.page(all, order, { limit: PAGE }, signal)).datasets),
  ],
  [
    'a late page',
    PAGE,
    async () => Array.fromAsync((await queries.page(all, order, { limit: PAGE, after: LATE }, signal)).datasets),
  ],
  ['the first studies', PAGE, async () => (await studies.own(owner, signal).next()).value],
  ['related datasets', MOST_RELATED, relatives],
] as const)
  t.test(`${what}: no statement reads more than a page of rows`, async (t) => {
    recorded.statements.length = 0;
    t.ok(((await read()) ?? []).length > 0);
    for (const { text, values } of recorded.statements) {
      const rows = await db.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Node }] }>(
        `explain (analyze, format json) ${text}`,
        values,
      );
      const most = mostRows(rows[0]?.['QUERY PLAN'][0].Plan as Node);
      t.ok(most <= 3 * page, `${most} rows: ${text}`);
    }
  });

t.test('of many related datasets, the newest are shown', async (t) => {
  const shown = new Set((await relatives()).map(({ dataset }) => dataset));
  t.ok(shown.size >= MOST_RELATED / 3);
  for (let n = HAS - 1; n >= HAS - shown.size; n--) t.ok(shown.has(`large${n}` as DatasetId), `large${n}`);
});
