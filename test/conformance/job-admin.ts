// What every implementation of the job-admin port does.

import t, { type Test } from 'tap';
import type { LaneName } from '../../engine/model/event.ts';
import { type DatasetId, targetId } from '../../engine/model/ids.ts';
import type { ImportStatus, InstallKind, UploadStatus } from '../../engine/model/status.ts';
import type { InstallAttempt } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobAdmin, JobEntry, JobFilter, JobPage, Jobs } from '../../engine/ports/jobs.ts';
import { claim, claimed, claimOne, complete, fresh, type JobView, request, signal } from './jobs.ts';

export interface DatasetStatuses {
  readonly upload: { readonly status: UploadStatus; readonly message: string | undefined };
  readonly import: { readonly status: ImportStatus; readonly messages: readonly string[] };
}

export interface JobAdminUnderTest {
  readonly admin: JobAdmin;
  readonly jobs: Jobs;
  addToCatalog(dataset: DatasetId, statuses: DatasetStatuses): Promise<void>;
  statuses(dataset: DatasetId): Promise<DatasetStatuses>;
  addAttempt(dataset: DatasetId, attempt: InstallAttempt): Promise<void>;
  attempts(dataset: DatasetId): Promise<readonly InstallAttempt[]>;
  /** All rows, oldest first. */
  view(): Promise<readonly JobView[]>;
}

export type OpenJobAdmin = (t: Test) => Promise<JobAdminUnderTest>;

const ALL: JobPage = { limit: 1_000, offset: 0 };
const GOOD: DatasetStatuses = {
  upload: { status: 'success', message: undefined },
  import: { status: 'complete', messages: ['a warning'] },
};
const FAILED_IMPORT: DatasetStatuses = { ...GOOD, import: { status: 'failed', messages: ['no disk'] } };
const FAILED_UPLOAD: DatasetStatuses = {
  upload: { status: 'failed', message: 'no disk' },
  import: { status: 'queued', messages: [] },
};

/** A job of the lane that died, as its claimed self. */
async function bury(jobs: Jobs, lane: LaneName, dataset: string): Promise<ClaimedJob> {
  const job = await claimed(jobs, lane, dataset);
  await complete(jobs, job, { kind: 'dead', failure: 'defect', message: 'a bug' });
  return job;
}

async function delay(jobs: Jobs, lane: LaneName, dataset: string): Promise<ClaimedJob> {
  const job = await claimed(jobs, lane, dataset);
  await complete(jobs, job, { kind: 'retry', delayMs: 600_000, message: 'attempt 1 of 12: busy', countsAttempt: true });
  return job;
}

/** One job of each state: running, delayed, dead, queued, in the order of their ids. */
async function oneOfEach(jobs: Jobs): Promise<void> {
  await claimed(jobs, 'install', 'a');
  await delay(jobs, 'import', 'b');
  await bury(jobs, 'import', 'c');
  await jobs.enqueue([request('import', 'd', 7)], signal);
}

export function jobAdminConformance(name: string, open: OpenJobAdmin): void {
  const fact = (what: string, check: (t: Test, under: JobAdminUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('jobs are listed oldest first, with what is known of each', async (t, { admin, jobs }) => {
    await oneOfEach(jobs);
    const { jobs: found, total } = await admin.list({}, ALL, signal);
    t.equal(total, 4);
    const { owner } = request('import', 'a');
    const plain = { owner, attempts: 0, eventId: 1, message: undefined };
    t.same(
      found.map(({ id: _id, runAt: _runAt, created: _created, ...job }) => job),
      [
        { ...plain, lane: 'install', dataset: 'a', state: 'running' },
        { ...plain, lane: 'import', dataset: 'b', state: 'delayed', attempts: 1, message: 'attempt 1 of 12: busy' },
        { ...plain, lane: 'import', dataset: 'c', state: 'dead', attempts: 1, message: 'a bug' },
        { ...plain, lane: 'import', dataset: 'd', state: 'queued', eventId: 7 },
      ],
    );
    t.same(found.map(waitMs), [0, 600_000, undefined, 0]);
    t.ok(found.every(({ id }, i) => id > (found[i - 1]?.id ?? 0)));
  });

  fact('a filter narrows to a lane, a state, or both', async (t, { admin, jobs }) => {
    await oneOfEach(jobs);
    const datasets = async (filter: JobFilter) => {
      const list = await admin.list(filter, ALL, signal);
      return [list.total, ...list.jobs.map(({ dataset }) => dataset)];
    };
    t.same(await datasets({ lane: 'import' }), [3, 'b', 'c', 'd']);
    t.same(await datasets({ state: 'dead' }), [1, 'c']);
    t.same(await datasets({ lane: 'import', state: 'queued' }), [1, 'd']);
    t.same(await datasets({ lane: 'install', state: 'dead' }), [0]);
  });

  fact('a page is a part of the list, and the total that of the whole', async (t, { admin, jobs }) => {
    await jobs.enqueue(
      ['a', 'b', 'c', 'd', 'e'].map((dataset) => request('import', dataset)),
      signal,
    );
    const page = async (limit: number, offset: number) => {
      const list = await admin.list({}, { limit, offset }, signal);
      return [list.total, list.jobs.length];
    };
    t.same(
      [await page(2, 0), await page(2, 4), await page(2, 5), await page(1, 99)],
      [
        [5, 2],
        [5, 1],
        [5, 0],
        [5, 0],
      ],
    );
    const all = await admin.list({}, ALL, signal);
    const second = await admin.list({}, { limit: 2, offset: 2 }, signal);
    t.same(second.jobs, all.jobs.slice(2, 4));
  });

  fact('an empty table is an empty list', async (t, { admin }) => {
    t.same(await admin.list({}, ALL, signal), { jobs: [], total: 0 });
  });

  fact('a dead job is queued again as if it had never run, and wakes its lane', async (t, { admin, jobs, view }) => {
    const { id } = await bury(jobs, 'import', 'd1');
    // An event meanwhile is noted, and answered by the run to come.
    await jobs.enqueue([request('import', 'd1', 2)], signal);
    const woken = nextWake(jobs, 'import');
    await woken.first;
    t.same(await claim(jobs, 'import'), []);
    t.equal(await admin.retry(id, signal), 'queued');
    await woken.second;
    t.same(await view(), [{ ...fresh('import', 'd1'), eventId: 2 }]);
    const job = await claimOne(jobs, 'import');
    t.same([job.id, job.attempts, job.crashes, job.alone, job.eventId], [id, 0, 0, false, 2]);
    await complete(jobs, job, { kind: 'done' });
    t.same(await view(), []);
  });

  fact('a delayed job need not wait for its time', async (t, { admin, jobs, view }) => {
    const { id } = await delay(jobs, 'sharing', 'd1');
    const woken = nextWake(jobs, 'sharing');
    await woken.first;
    t.same(await claim(jobs, 'sharing'), []);
    t.equal(await admin.retry(id, signal), 'queued');
    await woken.second;
    t.same(await view(), [fresh('sharing', 'd1')]);
    t.equal((await claimOne(jobs, 'sharing')).id, id);
  });

  fact('a job that died of crashes is given its crashes back', async (t, { admin, jobs, view }) => {
    await jobs.enqueue([request('import', 'd1')], signal);
    let id = 0;
    for (let run = 0; run < 4; run++) {
      const job = await claimOne(jobs, 'import');
      id = job.id;
      await complete(jobs, job, { kind: 'requeue', crashed: true });
    }
    t.match(await view(), [{ state: 'dead', crashes: 3, alone: true }]);
    t.equal(await admin.retry(id, signal), 'queued');
    t.same(await view(), [fresh('import', 'd1')]);
  });

  fact('a queued job stays as it is', async (t, { admin, jobs, view }) => {
    await jobs.enqueue([request('import', 'd1', 5)], signal);
    const before = await admin.list({}, ALL, signal);
    t.equal(await admin.retry(before.jobs[0]?.id ?? 0, signal), 'queued');
    t.same(await admin.list({}, ALL, signal), before);
    t.same(await view(), [{ ...fresh('import', 'd1'), eventId: 5 }]);
  });

  fact('a running job is not touched', async (t, { admin, jobs, view }) => {
    const job = await claimed(jobs, 'import', 'd1');
    t.equal(await admin.retry(job.id, signal), 'running');
    t.same(await view(), [{ ...fresh('import', 'd1'), state: 'running' }]);
    await complete(jobs, job, { kind: 'done' });
    t.same(await view(), []);
  });

  fact('a dead job is revived by its dataset and lane, and no other', async (t, { admin, jobs, view }) => {
    await bury(jobs, 'import', 'd1');
    await bury(jobs, 'import', 'd2');
    await bury(jobs, 'install', 'd1');
    const [d1, d3] = ['d1', 'd3'].map((id) => id as DatasetId) as [DatasetId, DatasetId];
    t.equal(await admin.revive('updateMeta', d1, signal), false);
    t.equal(await admin.revive('import', d3, signal), false);
    t.equal(await admin.revive('import', d1, signal), true);
    t.match(await view(), [fresh('import', 'd1'), { state: 'dead' }, { state: 'dead' }]);
    t.equal(await admin.revive('import', d1, signal), false, 'it is queued');
    await claimOne(jobs, 'import');
    t.equal(await admin.revive('import', d1, signal), false, 'it is running');
    await delay(jobs, 'sharing', 'd3');
    t.equal(await admin.revive('sharing', d3, signal), false, 'it is delayed');
    await t.rejects(admin.revive('install', d1, AbortSignal.abort()), { name: 'AbortError' });
  });

  fact('an id that no job has is not found', async (t, { admin, jobs, view }) => {
    const { id } = await bury(jobs, 'import', 'd1');
    t.same([await admin.dataset(id, signal), await admin.dataset(id + 1, signal)], ['d1', undefined]);
    t.equal(await admin.retry(id + 1, signal), 'not-found');
    t.match(await view(), [{ state: 'dead' }]);
  });

  fact('the failed status of the dataset is opened again, and that of no other', async (t, under) => {
    const cases: readonly (readonly [LaneName, DatasetStatuses, DatasetStatuses])[] = [
      ['import', FAILED_IMPORT, { ...GOOD, import: { status: 'queued', messages: [] } }],
      ['upload', FAILED_UPLOAD, { ...FAILED_UPLOAD, upload: { status: 'running', message: undefined } }],
      ['install', FAILED_IMPORT, FAILED_IMPORT],
      ['updateMeta', FAILED_UPLOAD, FAILED_UPLOAD],
      ['import', FAILED_UPLOAD, FAILED_UPLOAD],
      ['upload', FAILED_IMPORT, FAILED_IMPORT],
      ['import', GOOD, GOOD],
      ['upload', GOOD, GOOD],
    ];
    for (const [i, [lane, before, after]] of cases.entries()) {
      const [mine, other] = [`mine${i}`, `other${i}`] as DatasetId[];
      if (!mine || !other) throw new Error('two ids');
      await under.addToCatalog(mine, before);
      await under.addToCatalog(other, before);
      await bury(under.jobs, lane, other);
      const { id } = await bury(under.jobs, lane, mine);
      t.equal(await under.admin.retry(id, signal), 'queued');
      t.same([await under.statuses(mine), await under.statuses(other)], [after, before], `${lane} ${i}`);
      // Out of the way of the next case.
      await complete(under.jobs, await claimOne(under.jobs, lane), { kind: 'done' });
    }
  });

  fact('waiting targets are due again, for the kind that the lane installs', async (t, under) => {
    const waiting = (kind: InstallKind): InstallAttempt => ({
      target: targetId('PlasmoSite'),
      kind,
      attempts: 3,
      notBefore: new Date(Date.UTC(2040, 0, 1)),
      started: true,
    });
    const due = (kind: InstallKind): InstallAttempt => ({ ...waiting(kind), attempts: 0, notBefore: undefined });
    const cases: readonly (readonly [LaneName, readonly InstallAttempt[]])[] = [
      ['install', [due('data'), waiting('meta')]],
      ['updateMeta', [waiting('data'), due('meta')]],
      ['sharing', [waiting('data'), waiting('meta')]],
    ];
    for (const [lane, after] of cases) {
      const [mine, other] = [`mine-${lane}`, `other-${lane}`].map((id) => id as DatasetId);
      if (!mine || !other) throw new Error('two ids');
      for (const dataset of [mine, other]) {
        await under.addToCatalog(dataset, GOOD);
        for (const kind of ['data', 'meta'] as const) await under.addAttempt(dataset, waiting(kind));
      }
      const { id } = await delay(under.jobs, lane, mine);
      t.equal(await under.admin.retry(id, signal), 'queued');
      t.same(await under.attempts(mine), after, lane);
      t.same(await under.attempts(other), [waiting('data'), waiting('meta')], `${lane}, another dataset`);
    }
  });
}

/** Milliseconds between making the job and its time, to the minute. */
function waitMs({ runAt, created }: JobEntry): number | undefined {
  return runAt && Math.round((runAt.getTime() - created.getTime()) / 60_000) * 60_000;
}

/** The first two wakes of the lane: that of the watch itself, and the one after. */
function nextWake(jobs: Jobs, lane: LaneName) {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let wakes = 0;
  const stop = jobs.watch(lane, () => {
    if (++wakes === 1) first.resolve();
    else second.resolve();
  });
  return { first: first.promise, second: second.promise.finally(stop) };
}
