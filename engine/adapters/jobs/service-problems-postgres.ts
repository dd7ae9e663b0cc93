// Problems of services that have their own database: failed report jobs, and mails that failed for good.

import type { ProblemOutcome, ServiceProblems } from '../../ports/problems.ts';
import { GIVEN_UP } from '../access/outbox.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { REPORT_CHANNEL } from '../report/jobs.ts';
import { PostgresProblemList } from './problem-list-postgres.ts';

/** Both statements take ids, change the rows that still count as failed and are not locked, and return their problem ids. */
interface ServiceStatements {
  readonly retry: string;
  readonly discard: string;
}

const named = (table: string, id: string, isFailed: string): string => `
  named as materialized (
    select ${id} as id from ${table} where ${id} = any($1) and ${isFailed} order by ${id} for no key update skip locked)`;

/** A job that is retried has all its attempts again. One that is discarded is `expired`: the next request computes the report. */
export const REPORT_PROBLEMS: ServiceStatements = {
  retry: `
with ${named('report_job', 'id', "status = 'failed'")},
retried as (
  update report_job j set status = 'queued', run_at = now(), ended_at = null, failure = null, stderr = null, attempts = 0,
    debris_to = attempt
  from named n where j.id = n.id returning j.id),
notified as materialized (select pg_notify('${REPORT_CHANNEL}', '') from (select from retried limit 1) one)
select 'report:' || id as id, (select count(*) from notified) as notifications from retried`,
  discard: `
with ${named('report_job', 'id', "status = 'failed'")}
update report_job j set status = 'expired', ended_at = null, failure = null, stderr = null, debris_to = attempt
from named n where j.id = n.id returning 'report:' || j.id as id`,
};

export const MAIL_PROBLEMS: ServiceStatements = {
  retry: `
with ${named('outbox', 'mail_id::text', GIVEN_UP)}
update outbox o set dead = false, attempts = 0, due = now(), failure = null
from named n where o.mail_id::text = n.id returning 'mail:' || o.mail_id as id`,
  discard: `
with ${named('outbox', 'mail_id::text', GIVEN_UP)}
delete from outbox o using named n where o.mail_id::text = n.id returning 'mail:' || o.mail_id as id`,
};

export class PostgresServiceProblems extends PostgresProblemList implements ServiceProblems {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #statements: ServiceStatements;

  /** @param db with the search path of the service's schema */
  constructor(db: Pick<Postgres, 'query'>, statements: ServiceStatements) {
    super(db);
    this.#db = db;
    this.#statements = statements;
  }

  retry: ServiceProblems['retry'] = (ids, signal) => this.#change(this.#statements.retry, ids, signal);

  discard: ServiceProblems['discard'] = (ids, signal) => this.#change(this.#statements.discard, ids, signal);

  async #change(statement: string, ids: readonly string[], signal: AbortSignal): Promise<readonly ProblemOutcome[]> {
    signal.throwIfAborted();
    const own = ids.map((id) => id.slice(id.indexOf(':') + 1));
    const rows = await this.#db.query<{ id: string }>(statement, [own]);
    const done = new Set(rows.map(({ id }) => id));
    return ids.map((id) => (done.has(id) ? 'done' : 'not-failed'));
  }
}
