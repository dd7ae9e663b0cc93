// How much a page of a large trail reads. Times are printed; what is asserted is what the statements read.

import t from 'tap';
import { PostgresAuditLog } from '../../../../engine/adapters/datasets/audit-postgres.ts';
import { auditRow } from '../../../conformance/audit-log.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { plansOf, recordStatements } from '../../../support/statement-plans.ts';

const db = await cacheDatabase(t);
/** Not seen by the recording below. */
const unrecorded = { query: db.query.bind(db) };
const statements = recordStatements(db);
const log = new PostgresAuditLog(db);
type Statement = (typeof statements)[number];
/** The shortest of them is printed. */
const TIMES = 5;
const signal = new AbortController().signal;
/** Of a year; all but one of them have one row. */
const WEEKS = 53;

t.test(
  'a day of 1,000,000 rows is read by page: each page reads its own rows by an index, first and last alike',
  async (t) => {
    const day = Date.UTC(2026, 10, 25);
    // Attached when it is full: its indexes are made at once then.
    await db.query('create table audit_20261123 (like audit including defaults including constraints)');
    await db.query(
      `insert into audit_20261123 (at, kind, actor_kind, actor, address, service, method, route, dataset, records, outcome, status, count, request)
     select $1::timestamptz + i * interval '86.4 milliseconds', 'change', 'user', (i % 5000)::text, '192.0.2.' || i % 256, 'installer',
       'PATCH', '/datasets/:id', 'set' || i % 20000, jsonb_build_object('id', 'set' || i % 20000),
       case i % 1000 when 0 then 'refused' else 'done' end, 204, 1, gen_random_uuid()
     from generate_series(0, 999999) i`,
      [new Date(day)],
    );
    await db.query(
      `alter table audit attach partition audit_20261123 for values from ('2026-11-23 00:00+00') to ('2026-11-30 00:00+00')`,
    );
    for (let week = 1; week < WEEKS; week++)
      await log.append([auditRow({ at: day - week * 7 * 86_400_000, actor: { kind: 'user', id: '17' } })], signal);
    await db.query('analyze audit');
    const filters = {
      'the day': { from: day, to: day + 86_400_000 },
      'an actor': { from: day, to: day + 86_400_000, actor: '17' },
      'a dataset': { from: day, to: day + 86_400_000, dataset: 'set17' },
      'an outcome': { from: day, to: day + 86_400_000, outcome: 'refused' as const },
      'an actor at any time': { actor: '17' },
    };
    const middle = { at: day + 43_200_000, number: Number.MAX_SAFE_INTEGER };
    const late = { at: day + 60_000, number: 0 };
    for (const [name, filter] of Object.entries(filters))
      for (const [where, after] of Object.entries({ first: undefined, middle, late })) {
        const options = { limit: 100, order: 'newest-first' as const, ...(after ? { after } : {}) };
        let rows = 0;
        let tookMs = Number.POSITIVE_INFINITY;
        for (let time = 0; time < TIMES; time++) {
          const begun = performance.now();
          rows = (await log.page(filter, options, signal)).entries.length;
          tookMs = Math.min(tookMs, performance.now() - begun);
        }
        const statement = statements.at(-1);
        if (!statement) throw new Error('no statement');
        const [plan = ''] = await plansOf(unrecorded, [statement]);
        t.notMatch(plan, /Seq Scan on audit_20261123/, `${name}, ${where}: the large week is read by an index`);
        const read = await readFor(statement);
        t.ok(read.rows <= options.limit + WEEKS, `${name}, ${where}: ${read.rows} rows were read for ${rows}`);
        // What an index skips is in no count of rows. A row of a caller or dataset lies in a block of its own.
        const most = 2 * options.limit + 10 * WEEKS;
        t.ok(read.blocks <= most, `${name}, ${where}: ${read.blocks} blocks were read, at most ${most}`);
        t.comment(
          `${name}, ${where} page: ${rows} rows in ${tookMs.toFixed(1)} ms, of ${read.rows} in ${read.blocks} blocks`,
        );
      }
  },
);

/** Rows that its scans took from tables and indexes, and the blocks where they lie. */
async function readFor({ text, values }: Statement): Promise<{ readonly rows: number; readonly blocks: number }> {
  const [row] = await unrecorded.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, buffers, timing off, format json) ${text}`,
    values,
  );
  const count = (node: PlanNode): number => {
    const below = (node.Plans ?? []).reduce((sum, child) => sum + count(child), 0);
    const own = node['Node Type'].includes('Scan') && !node.Plans ? node['Actual Rows'] * node['Actual Loops'] : 0;
    return below + own + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  };
  const plan = row?.['QUERY PLAN'][0]?.Plan;
  if (!plan) throw new Error('no plan');
  return { rows: count(plan), blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] };
}

interface PlanNode {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}
