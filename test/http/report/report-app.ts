// The routes of the report job service behind the real pipeline and listener, over a real database, with query jobs and
// objects in memory and a clock that stands still. A bearer token is the user's id; `guest-7` is guest 7.

import { hash } from 'node:crypto';
import { sweepReports } from '../../../actors/report/report-sweep.ts';
import { PostgresIdempotencyKeys } from '../../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import type { QueryJob, QueryJobId, QueryProgram, QueryStatus } from '../../../engine/model/report/query-job.ts';
import { type ReportJobId, reportFileKey } from '../../../engine/model/report/report-job.ts';
import type { ReportClaim, ReportOutcome, StoredReportFile } from '../../../engine/ports/report-jobs.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { type ReportParts, reportRoutes } from '../../../http/report/routes.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakeQueryJobs } from '../../fakes/fake-query-jobs.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { reportDatabase, reportProcess } from '../../support/report-database.ts';
import { PromisedAnswers } from '../access/promised-answers.ts';
import { httpApp } from '../http-app.ts';
import { type Answer, callAs, verify } from '../numbered-callers.ts';

export const never = new AbortController().signal;
export const START = Date.UTC(2026, 0, 1);
export const RETRY_AFTER_MS = 60_000;
export const RETENTION_MS = 30 * 86_400_000;
export const MAX_QUEUED = 100;
export const FINGERPRINT = 'f'.repeat(64);
export const REASON = 'blast_formatter ended with exit code 255';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export type ReportApp = Awaited<ReturnType<typeof reportApp>>;

export async function reportApp(t: Teardown, options: Partial<ReportParts> = {}) {
  const process = await reportProcess(t, await reportDatabase(t));
  const { db, jobs, collections, expiry, queue } = process;
  const clock = new VirtualClock(START);
  const [queries, store] = [new FakeQueryJobs(), new FakeObjectStore(() => clock.now())];
  const routes: readonly Route[] = reportRoutes({
    ...{ jobs, collections, expiry, queries, store, clock, verify },
    limits: { maxQueued: MAX_QUEUED, maxQueuedPerUser: MAX_QUEUED, retryAfterMs: RETRY_AFTER_MS },
    dependencies: [{ name: 'report-db', probe: (signal) => db.probe(signal) }],
    threads: () => 3,
    version: '1',
    ...options,
  });
  const { url, port } = await httpApp(t, routes, { auth: { verify }, keys: new PostgresIdempotencyKeys(db) });
  const promised = new PromisedAnswers(routes);
  const call = async (user: string | undefined, method: string, path: string, body?: unknown, headers: object = {}) => {
    const answer = await callAs(user, method, url + path, body, headers);
    promised.demand(method, path, answer.status, answer.body);
    return answer;
  };
  const time = (): Date => new Date(clock.now());
  const claim = async (): Promise<ReportClaim> => {
    const [one, ...more] = await queue.completeAndFetch([], { limit: 2 }, time(), never);
    if (!one || more.length > 0) throw new Error('not exactly one job waits');
    return one;
  };
  const end = (one: ReportClaim, outcome: ReportOutcome): Promise<unknown> =>
    queue.completeAndFetch([{ claim: one, outcome }], { limit: 0 }, time(), never);

  let queryCount = 0;
  return {
    ...{ url, port, routes, db, jobs, collections, expiry, queue, queries, store, clock, call, claim },
    /** A query job of its own; returns its id. */
    query: (status: QueryStatus = 'complete', program: QueryProgram = 'blastn'): QueryJobId => {
      const id = (++queryCount).toString(16).padStart(32, 'a') as QueryJobId;
      const job: QueryJob = { id, program, databases: ['flies'], fingerprint: FINGERPRINT, status };
      queries.put(job);
      return id;
    },
    /** Asks for a report, which must be accepted; returns its id. */
    create: async (user: string, queryJobID: string, more: object = {}): Promise<ReportJobId> => {
      const { status, body, text } = await call(user, 'POST', '/jobs', { queryJobID, ...more });
      if (status !== 200) throw new Error(`not accepted: ${status} ${text}`);
      return (body as { reportJobID: ReportJobId }).reportJobID;
    },
    /** The only job that waits runs and is complete, with these files. */
    complete: async (files: Readonly<Record<string, string>> = { 'report.txt': 'text', 'report.zip': 'PK' }) => {
      const one = await claim();
      const list: StoredReportFile[] = [];
      for (const [name, text] of Object.entries(files)) {
        const key = reportFileKey(one.id, one.attempt, name);
        const { etag, size } = await store.put(key, Buffer.from(text), {}, never);
        list.push({ name, size, digest: { etag, sha256: hash('sha256', text) } });
      }
      await end(one, { kind: 'complete', ended: time(), files: list, stderr: 'Warning: odd\n' });
    },
    /** The only job that waits runs and fails. */
    fail: async () => {
      await end(await claim(), { kind: 'failed', ended: time(), reason: REASON, stderr: `Error: no\n${REASON}\n` });
    },
    statusOf: async (id: string): Promise<unknown> =>
      ((await call('999', 'GET', `/jobs/${id}?save_job=false`)).body as { status?: string }).status,
    sweep: () => sweepReports({ expiry, store, retentionMs: RETENTION_MS, clock, log: silentLogger() }, never),
  };
}

/** The faults of a 422, by key. */
export function faultsOf({ status, body, text }: Answer): Readonly<Record<string, readonly string[]>> {
  if (status !== 422) throw new Error(`not refused: ${status} ${text}`);
  const { general, byKey } = (body as { errors: { general: string[]; byKey: Record<string, string[]> } }).errors;
  if (general.length > 0) throw new Error(`faults of no key: ${general.join('; ')}`);
  return byKey;
}
export const keysOf = (answer: Answer): readonly string[] => Object.keys(faultsOf(answer)).sort();
