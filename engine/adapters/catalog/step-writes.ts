// The writes of install steps are the most frequent of all: five for a dataset on two targets. Each commit costs a write to disk,
// so writes that wait at the same time share one statement, whatever their datasets. Each is fenced on its own.
//
// The statement skips locked rows, so that a dataset whose row an edit has locked does not delay others. The caller repeats a
// skipped write as an ordinary one, which waits for the lock, or reports why the write is impossible.

import type { DatasetId } from '../../model/ids.ts';
import type { CatalogChange } from '../../ports/catalog.ts';
import type { Lease } from '../../ports/jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { storableJson, storableText } from '../postgres/sql-parameters.ts';
import { changeKey } from './catalog-changes.ts';

type StepChange = Extract<CatalogChange, { readonly set: 'install' | 'attempt' | 'attemptOver' }>;

interface StepWrite {
  readonly dataset: DatasetId;
  readonly lease: Lease;
  readonly changes: readonly StepChange[];
  readonly written: (isWritten: boolean) => void;
}

const MOST_AT_ONCE = 100;

const WRITE = `
  with fence as materialized (
    select l.name, l.token from lease l
    where l.name = any($1::text[]) and exists (
      select from unnest($1::text[], $2::bigint[]) w (name, token) where w.name = l.name and w.token = l.token)
      and l.holder is not null
    for share skip locked),
  changed as materialized (
    select d.dataset_id, f.token from dataset d join fence f on f.name = d.dataset_id
    where d.dataset_id = any($1::text[]) for key share of d skip locked),
  installs as (
    insert into install_status as i (dataset_id, target_id, kind, status, messages)
    select c.dataset_id, x.target, x.kind, x.status, x.messages
    from jsonb_to_recordset($3::jsonb) as x (dataset text, token bigint, target text, kind text, status text, messages text[])
    join changed c on c.dataset_id = x.dataset and c.token = x.token
    on conflict (dataset_id, target_id, kind)
    do update set status = excluded.status, messages = excluded.messages, updated = excluded.updated),
  attempts as (
    insert into install_attempt (dataset_id, target_id, kind, attempts, not_before, started)
    select c.dataset_id, x.target, x.kind, x.attempts, x.not_before, x.started
    from jsonb_to_recordset($4::jsonb)
      as x (dataset text, token bigint, target text, kind text, attempts integer, not_before timestamptz, started boolean)
    join changed c on c.dataset_id = x.dataset and c.token = x.token
    on conflict (dataset_id, target_id, kind)
    do update set attempts = excluded.attempts, not_before = excluded.not_before, started = excluded.started),
  over as (
    delete from install_attempt a
    using jsonb_to_recordset($5::jsonb) as x (dataset text, token bigint, target text, kind text), changed c
    where c.dataset_id = x.dataset and c.token = x.token
      and a.dataset_id = c.dataset_id and a.target_id = x.target and a.kind = x.kind)
  select c.dataset_id as dataset, c.token from changed c`;

/** The changes, if all of them belong to install steps; otherwise undefined. */
export function stepChanges(changes: readonly CatalogChange[]): readonly StepChange[] | undefined {
  const steps = changes.filter(({ set }) => set === 'install' || set === 'attempt' || set === 'attemptOver');
  return steps.length > 0 && steps.length === changes.length ? (steps as readonly StepChange[]) : undefined;
}

export class StepWrites {
  readonly #db: Pick<Postgres, 'query'>;
  #waiting: StepWrite[] = [];
  #isUnderWay = false;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  /** False when nothing was written: the row is locked or absent, the lease was lost, or the statement failed. */
  write(dataset: DatasetId, lease: Lease, changes: readonly StepChange[]): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // Of two changes of the same thing the last one wins.
    const last = [...new Map(changes.map((change) => [changeKey(change), change])).values()];
    this.#waiting.push({ dataset, lease, changes: last, written: resolve });
    if (!this.#isUnderWay) void this.#writeAll();
    return promise;
  }

  async #writeAll(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      const written = await this.#writeBatch(batch).catch(() => new Set<string>());
      for (const one of batch) one.written(written.has(idOf(one.dataset, one.lease.token)));
    }
    this.#isUnderWay = false;
  }

  /** A statement cannot change a row twice, so a second change of the same row waits for the next statement. */
  #nextBatch(): readonly StepWrite[] {
    const taken = new Set<string>();
    const batch: StepWrite[] = [];
    const rest: StepWrite[] = [];
    for (const one of this.#waiting) {
      const rows = one.changes.map((change) => `${one.dataset} ${changeKey(change)}`);
      const fits = batch.length < MOST_AT_ONCE && !rows.some((row) => taken.has(row));
      for (const row of rows) taken.add(row);
      (fits ? batch : rest).push(one);
    }
    this.#waiting = rest;
    return batch;
  }

  async #writeBatch(batch: readonly StepWrite[]): Promise<ReadonlySet<string>> {
    const rows = batch.flatMap(({ dataset, lease, changes }) =>
      changes.map((change) => ({ ...rowOf(change), dataset, token: lease.token, set: change.set })),
    );
    const json = (kind: StepChange['set']) => storableJson(JSON.stringify(rows.filter(({ set }) => set === kind)));
    const found = await this.#db.query<{ dataset: string; token: number }>(
      WRITE,
      [
        batch.map(({ dataset }) => dataset),
        batch.map(({ lease }) => lease.token),
        ...(['install', 'attempt', 'attemptOver'] as const).map(json),
      ],
      'catalog-step-writes',
    );
    return new Set(found.map(({ dataset, token }) => idOf(dataset, token)));
  }
}

const idOf = (dataset: string, token: number): string => `${dataset} ${token}`;

function rowOf(change: StepChange): object {
  const { target, kind } = change;
  switch (change.set) {
    case 'install':
      return { target, kind, status: change.status, messages: change.messages.map(storableText) };
    case 'attempt':
      return {
        ...{ target, kind, attempts: change.attempts, started: change.started },
        not_before: change.notBefore?.toISOString() ?? null,
      };
    case 'attemptOver':
      return { target, kind };
    default:
      return change satisfies never;
  }
}
