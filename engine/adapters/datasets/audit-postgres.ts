// The audit trail in the cache database, with one partition per week. A page begins where the last one ended, using the index
// of its filter, so the last page of a year costs as much as the first.

import type { AuditEntry, AuditPlace, AuditRow } from '../../model/audit.ts';
import type { AuditFilter, AuditLog, AuditPage, AuditPageOptions } from '../../ports/audit-log.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { boundedPage, cutPage, type PageRow } from '../postgres/row-pages.ts';
import { SqlParameters, storableJson } from '../postgres/sql-parameters.ts';

const WEEK_MS = 7 * 86_400_000;
/** A Monday, UTC. */
const SOME_MONDAY = Date.UTC(2024, 0, 1);
/** Limit on how long a drop waits for readers, because inserts queue behind it. */
const DROP_WAIT = '2s';

const APPEND = `
  insert into audit (at, kind, actor_kind, actor, address, service, method, route, dataset, records, outcome, status, count, request)
  select timestamptz 'epoch' + at * interval '1 millisecond', kind, actor_kind, actor, address, service, method, route, dataset, records, outcome, status, count, request
  from jsonb_to_recordset($1::jsonb) as r(at bigint, kind text, actor_kind text, actor text, address text, service text,
    method text, route text, dataset text, records jsonb, outcome text, status integer, count integer, request uuid)`;

interface EntryRow extends PageRow {
  readonly ms: number;
  readonly number: number;
  readonly kind: AuditRow['kind'];
  readonly actor_kind: AuditRow['actor']['kind'];
  readonly actor: string | null;
  readonly address: string;
  readonly service: string;
  readonly method: string;
  readonly route: string;
  readonly dataset: string | null;
  readonly records: Readonly<Record<string, string>>;
  readonly outcome: AuditRow['outcome'];
  readonly status: number | null;
  readonly count: number;
  readonly request: string;
}

export class PostgresAuditLog implements AuditLog {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  readonly #frequent: Sql;
  /** Weeks whose partitions are known to exist, by number. */
  readonly #weeks = new Set<number>();

  /** @param frequent to append rows; default `db` */
  constructor(db: Pick<Postgres, 'query' | 'transaction'>, frequent: Sql = db) {
    this.#db = db;
    this.#frequent = frequent;
  }

  async append(rows: readonly AuditRow[], signal: AbortSignal): Promise<void> {
    if (rows.length === 0) return;
    const weeks = [...new Set(rows.map(({ at }) => weekOf(at)))].filter((week) => !this.#weeks.has(week));
    const values = [storableJson(JSON.stringify(rows.map(columns)))];
    if (weeks.length === 0) {
      signal.throwIfAborted();
      await this.#frequent.query(APPEND, values, 'audit-append');
      return;
    }
    await this.#db.transaction(async (sql) => {
      for (const week of weeks)
        await sql.query('select audit_week($1::timestamptz)', [new Date(SOME_MONDAY + week * WEEK_MS)]);
      await sql.query(APPEND, values, 'audit-append');
    }, signal);
    for (const week of weeks) this.#weeks.add(week);
  }

  async page(filter: AuditFilter, { limit, order, after }: AuditPageOptions, signal: AbortSignal): Promise<AuditPage> {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const isNewestFirst = order === 'newest-first';
    const conditions = [...boundsOf(filter, isNewestFirst, after, values), ...conditionsOf(filter, values)];
    const direction = isNewestFirst ? 'desc' : 'asc';
    const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
    const rows = await this.#db.query<EntryRow>(
      boundedPage(`
        select (extract(epoch from at) * 1000)::bigint as ms, number, kind, actor_kind, actor, address, service, method, route,
          dataset, records, outcome, status, count, request
        from audit ${where} order by at ${direction}, number ${direction} limit ${values.add(limit + 1, 'bigint')}`),
      values.values,
    );
    const { page, hasMore } = cutPage(rows, limit);
    const entries = page.map(entry);
    const last = entries.at(-1);
    return { entries, ...(last && hasMore ? { next: placeOf(last) } : {}) };
  }

  async dropBefore(at: number, signal: AbortSignal): Promise<number> {
    return this.#db.transaction(async (sql) => {
      await sql.query("select set_config('lock_timeout', $1, true)", [DROP_WAIT]);
      const [row] = await sql.query<{ dropped: number }>('select audit_drop($1::timestamptz) as dropped', [
        new Date(at),
      ]);
      this.#weeks.clear();
      return row?.dropped ?? 0;
    }, signal);
  }
}

const weekOf = (at: number): number => Math.floor((at - SOME_MONDAY) / WEEK_MS);

const placeOf = ({ at, number }: AuditEntry): AuditPlace => ({ at, number });

/**
 * One bound per end. With two bounds at the end where a page begins, the server may start the scan at the farther one. It would
 * then skip everything that was read before.
 */
function boundsOf(
  { from, to }: AuditFilter,
  isNewestFirst: boolean,
  after: AuditPlace | undefined,
  values: SqlParameters,
): string[] {
  const start = isNewestFirst ? to : from;
  const isBehind = after && (start === undefined || (isNewestFirst ? after.at < start : after.at >= start));
  const bounds: string[] = [];
  if (from !== undefined && (isNewestFirst || !isBehind)) bounds.push(`at >= ${time(from, values)}`);
  if (to !== undefined && !(isNewestFirst && isBehind)) bounds.push(`at < ${time(to, values)}`);
  if (isBehind) {
    const at = time(after.at, values);
    const side = isNewestFirst ? '<' : '>';
    // The first condition excludes the weeks that were read already.
    bounds.push(`at ${side}= ${at} and (at, number) ${side} (${at}, ${values.add(after.number, 'bigint')})`);
  }
  return bounds;
}

const time = (ms: number, values: SqlParameters): string => values.add(new Date(ms), 'timestamptz');

function conditionsOf({ kind, actor, dataset, route, outcome }: AuditFilter, values: SqlParameters): string[] {
  return [
    ...(kind === undefined ? [] : [`kind = ${values.add(kind, 'text')}`]),
    ...(actor === undefined ? [] : [`actor = ${values.add(actor, 'text')}`]),
    ...(dataset === undefined ? [] : [`dataset = ${values.add(dataset, 'text')}`]),
    ...(route === undefined ? [] : [`route = ${values.add(route, 'text')}`]),
    ...(outcome === undefined ? [] : [`outcome = ${values.add(outcome, 'text')}`]),
  ];
}

const columns = ({ actor, ...row }: AuditRow): Readonly<Record<string, unknown>> => ({
  ...row,
  actor_kind: actor.kind,
  actor: actor.id,
});

const entry = (row: EntryRow): AuditEntry => ({
  at: row.ms,
  number: row.number,
  kind: row.kind,
  actor: { kind: row.actor_kind, ...(row.actor === null ? {} : { id: row.actor }) },
  address: row.address,
  service: row.service,
  method: row.method,
  route: row.route,
  ...(row.dataset === null ? {} : { dataset: row.dataset }),
  records: row.records,
  outcome: row.outcome,
  ...(row.status === null ? {} : { status: row.status }),
  count: row.count,
  request: row.request,
});
