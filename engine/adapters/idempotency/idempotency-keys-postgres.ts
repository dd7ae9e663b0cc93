// Idempotency keys in PostgreSQL: a table of the same form in the schema of each service, so that the transaction that creates
// something can store its answer (migrations/cache/0012-idempotency-keys.sql and its siblings).

import type {
  ClaimBounds,
  Claimed,
  IdempotencyKeys,
  KeyClaim,
  KeyedAnswer,
  StoredAnswer,
} from '../../ports/idempotency-keys.ts';
import { transient } from '../../runtime/failure.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { type SqlParameters, storableText } from '../postgres/sql-parameters.ts';

/** Rows that one statement of the sweep removes. */
const DROPPED_AT_ONCE = 1_000;

const AT = (parameter: string): string => `to_timestamp(${parameter}::double precision / 1000)`;

/**
 * A row that another transaction has just written is not seen here, but keeps us from claiming: then the key is under way. An
 * answered key is found whatever the number of keys.
 */
const CLAIM = `
  with counted as (
    select count(*) < $7::bigint as free from (
      select from idempotency_key
      where caller = $1 and (operation, key) <> ($2, $3) and expires_at > ${AT('$5')} limit $7::bigint) k),
  claimed as (
    insert into idempotency_key as k (caller, operation, key, holder, expires_at)
    select $1, $2, $3, $4::uuid, ${AT('$6')} from counted where free
    on conflict (caller, operation, key) do update
      set holder = excluded.holder, expires_at = excluded.expires_at, fingerprint = null, answer = null
      where k.expires_at <= ${AT('$5')}
    returning k.holder)
  select c.free, exists (select from claimed) as claimed, k.key is not null as known, k.fingerprint, k.answer
  from counted c left join idempotency_key k
    on k.caller = $1 and k.operation = $2 and k.key = $3 and k.expires_at > ${AT('$5')}`;

interface ClaimRow {
  readonly free: boolean;
  readonly claimed: boolean;
  readonly known: boolean;
  readonly fingerprint: string | null;
  readonly answer: string | null;
}

const OURS = 'caller = $1 and operation = $2 and key = $3 and holder = $4::uuid and answer is null';

export class PostgresIdempotencyKeys implements IdempotencyKeys {
  readonly #db: Pick<Postgres, 'query'>;

  /** @param db with the schema of the service */
  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async claim(claim: KeyClaim, { nowMs, untilMs, most }: ClaimBounds, signal: AbortSignal): Promise<Claimed> {
    signal.throwIfAborted();
    const values = [...valuesOf(claim), nowMs, untilMs, most];
    const [row] = await this.#db.query<ClaimRow>(CLAIM, values, 'claim-key');
    if (row?.claimed) return { kind: 'claimed' };
    if (row?.answer != null && row.fingerprint !== null)
      return { kind: 'answered', fingerprint: row.fingerprint, answer: JSON.parse(row.answer) as StoredAnswer };
    return row?.free === false && !row.known ? { kind: 'too many' } : { kind: 'under way' };
  }

  async renew(claim: KeyClaim, untilMs: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const renewed = `update idempotency_key set expires_at = ${AT('$5')} where ${OURS} returning key`;
    return (await this.#db.query(renewed, [...valuesOf(claim), untilMs])).length > 0;
  }

  async answer(keyed: KeyedAnswer, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    return storeAnswer(this.#db, keyed);
  }

  async release(claim: KeyClaim, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(`delete from idempotency_key where ${OURS}`, valuesOf(claim));
  }

  async dropExpired(nowMs: number, signal: AbortSignal): Promise<number> {
    for (let sum = 0; ; ) {
      signal.throwIfAborted();
      const dropped = await this.#db.query(
        `delete from idempotency_key where ctid = any (array(
           select ctid from idempotency_key where expires_at <= ${AT('$1')} limit ${DROPPED_AT_ONCE}
           for update skip locked))
         returning key`,
        [nowMs],
      );
      sum += dropped.length;
      if (dropped.length < DROPPED_AT_ONCE) return sum;
    }
  }
}

const valuesOf = ({ caller, operation, key, holder }: KeyClaim): unknown[] => [caller, operation, key, holder];

/** False when the claim was lost or has been answered. */
async function storeAnswer(sql: Sql, { claim, fingerprint, answer, expiresMs }: KeyedAnswer): Promise<boolean> {
  const rows = await sql.query(
    `update idempotency_key set fingerprint = $5, answer = $6, expires_at = ${AT('$7')} where ${OURS} returning key`,
    [...valuesOf(claim), fingerprint, textOf(answer), expiresMs],
    'answer-key',
  );
  return rows.length > 0;
}

const textOf = (answer: StoredAnswer): string => storableText(JSON.stringify(answer));

/** Within the transaction that creates something. Throws if the claim was lost, so that the transaction is rolled back. */
export async function sealKey(sql: Sql, keyed: KeyedAnswer): Promise<void> {
  if (!(await storeAnswer(sql, keyed))) throw keyLost();
}

export const keyLost = (): Error => transient('another request has taken over the idempotency key of this one');

/**
 * Two CTEs of a statement that creates something. `key_claim` has a row, and locks it, as long as the claim holds. `key_sealed`
 * stores the answer.
 * @param created the CTE between them, with a row if the thing was created
 */
export function sealingCtes(
  keyed: KeyedAnswer,
  created: string,
  parameters: SqlParameters,
): { readonly claim: string; readonly sealed: string } {
  const { claim, fingerprint, answer, expiresMs } = keyed;
  const ours = (['caller', 'operation', 'key'] as const).map(
    (column) => `k.${column} = ${parameters.add(claim[column], 'text')}`,
  );
  const where = [...ours, `k.holder = ${parameters.add(claim.holder, 'text')}::uuid`, 'k.answer is null'].join(' and ');
  return {
    claim: `key_claim as materialized (select k.key from idempotency_key k where ${where} for update)`,
    sealed: `key_sealed as (
      update idempotency_key k set fingerprint = ${parameters.add(fingerprint, 'text')},
        answer = ${parameters.add(textOf(answer), 'text')}, expires_at = ${AT(parameters.add(expiresMs, 'bigint'))}
      from ${created} where ${where})`,
  };
}
