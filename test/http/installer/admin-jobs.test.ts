import t, { type Test } from 'tap';
import { PostgresJobs } from '../../../engine/adapters/jobs/jobs-postgres.ts';
import { LANES, type LaneName } from '../../../engine/model/event.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { ClaimedJob, JobOutcome, Jobs } from '../../../engine/ports/jobs.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../support/engine-process.ts';
import { OWNER } from './installation.ts';
import { ADMIN_TOKEN, type App, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const at = await cacheDatabase(t);
const signal = new AbortController().signal;
const ADMIN = { headers: { 'admin-token': ADMIN_TOKEN } };
const REPORT = '/admin/reports/jobs';

interface Report {
  readonly meta: object;
  readonly lanes: readonly object[];
  readonly results: readonly Readonly<Record<string, unknown>>[];
}

async function setup(t: Test) {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const jobs = new PostgresJobs(db, instance, new VirtualClock());
  return { app: await installerApp(t, db, { jobs }), jobs, db };
}

const enqueue = (jobs: Jobs, lane: LaneName, ...datasets: readonly string[]): Promise<void> =>
  jobs.enqueue(
    datasets.map((dataset) => ({ lane, dataset: dataset as DatasetId, owner: OWNER, eventId: 7, source: 'api' })),
    signal,
  );

/** Claims a new job of the dataset and ends it so; without an outcome it runs on. */
async function begin(jobs: Jobs, lane: LaneName, dataset: string, outcome?: JobOutcome): Promise<ClaimedJob> {
  const none = { crowdedTypes: [], blockedTypes: [] };
  await enqueue(jobs, lane, dataset);
  const [job] = await jobs.completeAndFetch([], { lane, limit: 1, ...none }, signal);
  if (!job) throw new Error(`${lane} has no job`);
  if (outcome) await jobs.completeAndFetch([{ job, outcome }], { lane, limit: 0, ...none }, signal);
  return job;
}
const DEAD = { kind: 'dead', failure: 'defect', message: 'a bug' } as const;
const LATER = { kind: 'retry', delayMs: 3_600_000, message: 'attempt 1 of 12: busy', countsAttempt: true } as const;

const retry = (app: App, id: string | number) => app.call(undefined, 'POST', `/admin/rpc/jobs/${id}/retry`, ADMIN);

async function report(app: App, query = ''): Promise<Report> {
  const answer = await app.call(undefined, 'GET', REPORT + query, ADMIN);
  t.equal(answer.status, 200, answer.text);
  t.notMatch(answer.text, `"owner":${Number(OWNER)},`, 'every digit of an owner above 2^53');
  t.strictSame(responseFaults(schemaOf(app.routes, 'reportJobs', 200), answer.text), []);
  return answer.body as Report;
}

t.test('the report has every lane and every job', async (t) => {
  const { app, jobs, db } = await setup(t);
  const delayed = await begin(jobs, 'install', 'd1', LATER);
  const dead = await begin(jobs, 'import', 'd2', DEAD);
  const running = await begin(jobs, 'import', 'd3');
  await enqueue(jobs, 'import', 'd4');
  await db.query("update job set run_at = now() - interval '90 seconds' where dataset_id = 'd4'");

  const { meta, lanes, results } = await report(app);
  t.strictSame(meta, { count: 4, offset: 0, limit: 100, total: 4 });
  const none = { queued: 0, running: 0, delayed: 0, dead: 0, oldestSeconds: 0 };
  t.strictSame(
    lanes,
    LANES.map((lane) => {
      if (lane === 'install') return { ...none, lane, delayed: 1 };
      return lane === 'import'
        ? { lane, queued: 1, running: 1, delayed: 0, dead: 1, oldestSeconds: 90 }
        : { ...none, lane };
    }),
  );
  const common = { owner: Number(OWNER), attempts: 0, eventId: 7 };
  const failed = { ...common, attempts: 1 };
  t.strictSame(
    results.map(({ created: _created, runAt: _runAt, ...job }) => job),
    [
      { ...failed, id: delayed.id, lane: 'install', datasetId: 'd1', state: 'delayed', message: LATER.message },
      { ...failed, id: dead.id, lane: 'import', datasetId: 'd2', state: 'dead', message: DEAD.message },
      { ...common, id: running.id, lane: 'import', datasetId: 'd3', state: 'running' },
      { ...common, id: results[3]?.id, lane: 'import', datasetId: 'd4', state: 'queued' },
    ],
  );
  t.strictSame(
    results.map(({ runAt }) => typeof runAt),
    ['string', 'undefined', 'string', 'string'],
  );
});

t.test('lane, state, limit and offset choose the jobs, not the lanes', async (t) => {
  const { app, jobs } = await setup(t);
  await begin(jobs, 'import', 'd1', DEAD);
  await enqueue(jobs, 'import', 'd2', 'd3');
  await enqueue(jobs, 'install', 'd4');
  const asked = async (query: string) => {
    const { meta, lanes, results } = await report(app, query);
    t.equal(lanes.length, LANES.length);
    return [meta, results.map(({ datasetId }) => datasetId)];
  };
  const meta = { count: 1, offset: 0, limit: 100, total: 1 };
  t.strictSame(await asked('?lane=install'), [meta, ['d4']]);
  t.strictSame(await asked('?state=dead'), [meta, ['d1']]);
  t.strictSame(await asked('?lane=install&state=dead'), [{ ...meta, count: 0, total: 0 }, []]);
  t.strictSame(await asked('?lane=import&limit=1&offset=1'), [{ count: 1, offset: 1, limit: 1, total: 3 }, ['d2']]);
  t.strictSame(await asked('?offset=9&limit=1000'), [{ count: 0, offset: 9, limit: 1000, total: 4 }, []]);
});

t.test('what cannot be asked for is refused by its name', async (t) => {
  const { app } = await setup(t);
  for (const [query, message] of [
    ['lane=handler', /'lane' is 'handler': one of softDelete, upload, import/],
    ['state=gone', /'state' is 'gone': one of queued, running, delayed, dead/],
    ['limit=0', /'limit' is '0'/],
    ['limit=-1', /'limit' is '-1'/],
    ['limit=1001', /'limit' is '1001'/],
    ['offset=-1', /'offset' is '-1'/],
    ['owner=7', /'owner' is unknown; known: lane, state, limit, offset/],
  ] as const) {
    t.match(
      await app.call(undefined, 'GET', `${REPORT}?${query}`, ADMIN),
      { status: 400, body: { status: 'bad-request', message } },
      query,
    );
  }
});

t.test('a dead job and a delayed one are queued again', async (t) => {
  const { app, jobs } = await setup(t);
  for (const outcome of [DEAD, LATER]) {
    const { id } = await begin(jobs, 'import', `d-${outcome.kind}`, outcome);
    const answer = await retry(app, id);
    t.strictSame([answer.status, answer.body], [202, { id, state: 'queued' }]);
    t.strictSame(responseFaults(schemaOf(app.routes, 'retryJob', 202), answer.text), []);
    const again = await retry(app, id);
    t.strictSame([again.status, again.body], [202, { id, state: 'queued' }], 'asked twice');
    const [job] = await jobs.completeAndFetch(
      [],
      { lane: 'import', limit: 1, crowdedTypes: [], blockedTypes: [] },
      signal,
    );
    t.match(job, { id, attempts: 0 });
  }
});

t.test('a running job is a conflict', async (t) => {
  const { app, jobs } = await setup(t);
  const { id } = await begin(jobs, 'import', 'd1');
  t.match(await retry(app, id), {
    status: 409,
    body: { status: 'conflict', message: new RegExp(`job ${id} is running`) },
  });
  t.match(await report(app), { results: [{ id, state: 'running' }] });
});

t.test('a running job is cancelled, and no other', async (t) => {
  const { app, jobs } = await setup(t);
  const cancel = (id: string | number, body: object = {}) => {
    const headers = { ...ADMIN.headers, 'content-type': 'application/json' };
    return app.call(undefined, 'POST', `/admin/rpc/jobs/${id}/cancel`, { headers, body: JSON.stringify(body) });
  };
  const { id } = await begin(jobs, 'import', 'd1');
  const answer = await cancel(id, { reason: 'a typo', hard: true });
  t.strictSame([answer.status, answer.body], [202, { id, state: 'cancelling' }]);
  t.strictSame(responseFaults(schemaOf(app.routes, 'cancelJob', 202), answer.text), []);
  const { id: waiting } = await begin(jobs, 'import', 'd2', LATER);
  t.match(await cancel(waiting), { status: 409, body: { message: `job ${waiting} is not running; only a` } });
  t.match(await cancel('x'), { status: 404, body: { message: "there is no job 'x'" } });
  for (const body of [{ reason: '' }, { reason: 'x'.repeat(1_001) }, { hard: 'yes' }, { soft: true }])
    t.equal((await cancel(id, body)).status, 422, JSON.stringify(body));
});

t.test('what is no job is not found', async (t) => {
  const { app } = await setup(t);
  for (const id of ['1', '0', '-1', '1.0', 'x', '9007199254740993', '99999999999999999999']) {
    t.match(
      await retry(app, id),
      { status: 404, body: { status: 'not-found', message: `there is no job '${id}'` } },
      id,
    );
  }
});
