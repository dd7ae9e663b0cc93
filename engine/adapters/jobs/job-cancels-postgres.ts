// Orders to cancel jobs, as notifications of the cache database. Each names the process that it is meant for.

import { isObject, parseJson } from '../../model/json.ts';
import type { CancelAnswer, CancelOrder, CancelRequest, JobCancels } from '../../ports/job-cancels.ts';
import type { Postgres } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { storableText } from '../postgres/sql-parameters.ts';

const CANCEL_CHANNEL = 'longshore_cancel';

/** A job whose process died does not count as running: another process is about to claim it. */
const ASK = `
with found as materialized (
  select id, holder, token, state = 'running' and instance_alive(holder) as running from job where id = $1),
asked as materialized (
  select pg_notify('${CANCEL_CHANNEL}', json_build_object('instance', holder, 'job', id, 'token', token, 'by', $2::text,
    'reason', $3::text, 'hard', $4::boolean)::text)
  from found where running)
select f.running, (select count(*) from asked) as notifications from found f`;

export class PostgresJobCancels implements JobCancels {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #instance: Pick<PostgresInstance, 'id' | 'listen'>;

  constructor(db: Pick<Postgres, 'query'>, instance: Pick<PostgresInstance, 'id' | 'listen'>) {
    this.#db = db;
    this.#instance = instance;
  }

  async ask({ job, by, reason, hard }: CancelOrder, signal: AbortSignal): Promise<CancelAnswer> {
    signal.throwIfAborted();
    const text = reason === undefined ? null : storableText(reason);
    const [found] = await this.#db.query<{ running: boolean }>(ASK, [job, storableText(by), text, hard]);
    if (!found) return 'not-found';
    return found.running ? 'asked' : 'not-running';
  }

  watch(cancel: (request: CancelRequest) => void): () => void {
    return this.#instance.listen(CANCEL_CHANNEL, (payload) => {
      if (payload === undefined) return;
      const { instance, ...request } = requestOf(payload);
      if (instance === this.#instance.id) cancel(request);
    });
  }
}

/** Only {@link PostgresJobCancels.ask} writes to the channel. Any other content is a defect, which the listener reports. */
function requestOf(payload: string): CancelRequest & { readonly instance: number } {
  const sent = parseJson(payload);
  if (!isObject(sent)) throw new TypeError(`a cancel order is ${typeof sent}, not an object`);
  const { instance, job, token, by, reason, hard } = sent;
  return {
    ...{ instance: Number(instance), job: Number(job), token: Number(token), by: String(by), hard: hard === true },
    reason: typeof reason === 'string' ? reason : undefined,
  };
}
