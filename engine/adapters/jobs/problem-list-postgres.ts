// Lists problems from the view `problem` of a schema (engine/adapters/migrations/).

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import type {
  Problem,
  ProblemCause,
  ProblemFilter,
  ProblemLane,
  ProblemList,
  ProblemPlace,
  ProblemState,
} from '../../ports/problems.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, cutPage, type PageRow } from '../postgres/row-pages.ts';
import { SqlParameters, storableText } from '../postgres/sql-parameters.ts';

/** Longest message in a listing, in characters. */
const SHOWN = 2_000;

interface ProblemRow extends PageRow {
  readonly id: string;
  readonly lane: ProblemLane;
  readonly dataset_id: DatasetId | null;
  readonly target_id: TargetId | null;
  readonly owner: UserId | null;
  readonly type: string | null;
  readonly name: string | null;
  readonly state: ProblemState;
  readonly message: string;
  readonly cause: string;
  readonly since: Date;
  readonly position: string;
  readonly until: string;
}

interface CauseRow extends Pick<ProblemRow, 'cause' | 'lane' | 'state' | 'id' | 'message'> {
  readonly problems: number;
  readonly oldest: Date;
  readonly newest: Date;
}

export class PostgresProblemList implements ProblemList {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #name: string;

  /** @param name an expression for the name of the dataset `p.dataset_id`, in a schema that knows datasets */
  constructor(db: Pick<Postgres, 'query'>, name = 'null::text') {
    this.#db = db;
    this.#name = name;
  }

  page: ProblemList['page'] = async (filter, { limit, after }, signal) => {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const until = after ? momentAt(after.until, values) : 'now()';
    const conditions = [...conditionsOf(filter, values), `since <= ${until}`, ...beyond(after, values)];
    const rows = await this.#db.query<ProblemRow>(
      boundedPage(`
        select id, lane, dataset_id, target_id, owner_id::text as owner, type, ${this.#name} as name, state,
          left(message, ${SHOWN}) as message, cause, since, ${microsOf('since')} as position, ${microsOf(until)} as until
        from (
          select * from problem where ${conditions.join(' and ')} order by since, id limit ${values.add(limit + 1, 'bigint')}) p
        order by since, id`),
      values.values,
    );
    const { page, hasMore } = cutPage(rows, limit);
    const last = page.at(-1);
    return { problems: page.map(problemOf), next: last && hasMore ? placeOf(last) : undefined };
  };

  causes: ProblemList['causes'] = async (filter, limit, signal) => {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const conditions = conditionsOf(filter, values);
    const rows = await this.#db.query<CauseRow>(
      `select cause, lane, state, count(*) as problems, min(since) as oldest, max(since) as newest,
         (array_agg(id order by since desc, id))[1] as id,
         left((array_agg(message order by since desc, id))[1], ${SHOWN}) as message
       from problem where ${conditions.join(' and ')} group by cause, lane, state
       order by problems desc, cause, lane, state limit ${values.add(limit, 'bigint')}`,
      values.values,
    );
    return rows.map(
      ({ id, message, problems, ...row }): ProblemCause => ({ ...row, count: problems, example: { id, message } }),
    );
  };

  counts: ProblemList['counts'] = async (filter, signal) => {
    signal.throwIfAborted();
    const values = new SqlParameters();
    const rows = await this.#db.query<{ lane: ProblemLane; problems: number }>(
      `select lane, count(*) as problems from problem where ${conditionsOf(filter, values).join(' and ')} group by lane`,
      values.values,
    );
    return new Map(rows.map(({ lane, problems }) => [lane, problems]));
  };
}

function conditionsOf(filter: ProblemFilter, values: SqlParameters): readonly string[] {
  const { ids, lane, state, types, target, owner, dataset, contains, cause, from, before } = filter;
  return [
    ...(ids ? [`id = any(${values.add(ids, 'text[]')})`] : []),
    ...(lane ? [`lane = ${values.add(lane, 'text')}`] : []),
    ...(state ? [`state = ${values.add(state, 'text')}`] : ids ? ['true'] : [`state <> 'delayed'`]),
    ...(types ? [typeIs(values.add(types, 'text[]'))] : []),
    ...(target === undefined ? [] : [`target_id = ${values.add(storableText(target), 'text')}`]),
    ...(owner === undefined ? [] : [`owner_id = ${values.add(owner, 'numeric')}`]),
    ...(dataset === undefined ? [] : [`dataset_id = ${values.add(dataset, 'text')}`]),
    ...(contains === undefined
      ? []
      : [`position(lower(${values.add(storableText(contains), 'text')}) in lower(message)) > 0`]),
    ...(cause === undefined ? [] : [`cause = ${values.add(storableText(cause), 'text')}`]),
    ...(from ? [`since >= ${values.add(from, 'timestamptz')}`] : []),
    ...(before ? [`since < ${values.add(before, 'timestamptz')}`] : []),
  ];
}

/** A name without a version stands for all of them. */
const typeIs = (types: string): string => `(type = any(${types}) or split_part(type, ':', 1) = any(${types}))`;

const beyond = (after: ProblemPlace | undefined, values: SqlParameters): readonly string[] =>
  after ? [`(since, id) > (${momentAt(after.since, values)}, ${values.add(after.id, 'text')})`] : [];

/** As text, because the driver reads large integers as text anyway. */
const microsOf = (moment: string): string => `(extract(epoch from ${moment}) * 1000000)::bigint::text`;
const momentAt = (micros: string, values: SqlParameters): string =>
  `(timestamptz 'epoch' + ${values.add(micros, 'bigint')} * interval '1 microsecond')`;

const placeOf = ({ until, position, id }: ProblemRow): ProblemPlace => ({ until, since: position, id });

const problemOf = (row: ProblemRow): Problem => ({
  ...{ id: row.id, lane: row.lane, dataset: row.dataset_id ?? undefined, target: row.target_id ?? undefined },
  ...{ owner: row.owner ?? undefined, type: row.type ?? undefined, name: row.name ?? undefined },
  ...{ state: row.state, message: row.message, cause: row.cause, since: row.since },
});
