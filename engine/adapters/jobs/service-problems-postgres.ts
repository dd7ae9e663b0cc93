// What failed for good in a service with a database of its own: failed report jobs, and mails that were given up.

import type { ProblemOutcome, ServiceProblems } from '../../ports/problems.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { REPORT_CHANNEL } from '../report/jobs.ts';
import { PostgresProblemList } from './problem-list-postgres.ts';

/** Both statements take ids of problems, change what is still failed and not locked, and return those ids. */
interface ServiceStatements {
  readonly retry: string;
  readonly discard: string;
}

const named = (table: string, id: string, isFailed: string): string => `
  named as materialized (
    select ${id} as id from ${table} where ${id} = any($1) and ${isFailed} order by ${id} for no key update skip locked)`;

/** With all its attempts. A job that is discarded is `expired`: whoever asks for that report again gets it computed anew. */
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
with ${named('outbox', 'mail_id::text', 'dead')}
update outbox o set dead = false, attempts = 0, due = now(), failure = null
from named n where o.mail_id::text = n.id returning 'mail:' || o.mail_id as id`,
  discard: `
with ${named('outbox', 'mail_id::text', 'dead')}
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
