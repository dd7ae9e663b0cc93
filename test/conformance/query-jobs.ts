// What every place of query jobs does.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import {
  QUERY_PROGRAMS,
  QUERY_STATUSES,
  type QueryJob,
  type QueryJobId,
  type QueryProgram,
} from '../../engine/model/report/query-job.ts';
import type { QueryJobs } from '../../engine/ports/report-jobs.ts';

export interface QueryJobsWorld {
  readonly jobs: QueryJobs;
  /** Of the caller, empty. */
  readonly dir: string;
  /** A job, with a result when there is one. */
  put(job: QueryJob, archive: string | undefined): Promise<void>;
  remove(id: QueryJobId): Promise<void>;
  /** From now on jobs cannot be reached, or can be again. */
  goAway(away: boolean): Promise<void>;
}

const AWAY = { kind: 'transient', unreachable: true, message: /./ };

export function queryJobsConformance(t: Test, setup: (t: Test) => Promise<QueryJobsWorld>): void {
  const signal = new AbortController().signal;
  const idOf = (digit: string): QueryJobId => digit.repeat(32) as QueryJobId;
  const jobOf = (id: QueryJobId, more: Partial<QueryJob> = {}): QueryJob => ({
    ...{ id, program: 'blastn', databases: ['one', '/db/two words'], fingerprint: 'ab'.repeat(32), status: 'complete' },
    ...more,
  });

  t.test('a job is found as it was put, whatever its program and status', async (t) => {
    const { jobs, put } = await setup(t);
    const programs = Object.keys(QUERY_PROGRAMS) as QueryProgram[];
    const all = [
      ...programs.map((program, i) => jobOf(idOf(String(i)), { program })),
      ...QUERY_STATUSES.map((status, i) => jobOf(idOf('abcdef'.charAt(i)), { status })),
    ];
    for (const job of all) await put(job, undefined);
    t.strictSame(await Promise.all(all.map(({ id }) => jobs.find(id, signal))), all);
  });

  t.test('a job that is not there is none', async (t) => {
    const { jobs, dir, put, remove } = await setup(t);
    t.equal(await jobs.find(idOf('0'), signal), undefined);
    t.equal(await jobs.putArchive(idOf('0'), join(dir, 'x'), signal), false);
    await put(jobOf(idOf('0')), 'result');
    await remove(idOf('0'));
    t.equal(await jobs.find(idOf('0'), signal), undefined);
    t.equal(await jobs.putArchive(idOf('0'), join(dir, 'x'), signal), false);
  });

  t.test('a result is put where it is wanted, and stays there without the job', async (t) => {
    const { jobs, dir, put, remove } = await setup(t);
    const result = 'Blast4-archive ::= {}\n'.repeat(10_000);
    await put(jobOf(idOf('1')), result);
    for (const name of ['a', 'b']) t.equal(await jobs.putArchive(idOf('1'), join(dir, name), signal), true);
    await remove(idOf('1'));
    for (const name of ['a', 'b']) t.equal(await readFile(join(dir, name), 'utf8'), result);
  });

  t.test('a job without a result has none to put', async (t) => {
    const { jobs, dir, put } = await setup(t);
    await put(jobOf(idOf('1'), { status: 'in-progress' }), undefined);
    t.equal(await jobs.putArchive(idOf('1'), join(dir, 'a'), signal), false);
  });

  t.test('nothing that is there is written over', async (t) => {
    const { jobs, dir, put } = await setup(t);
    await put(jobOf(idOf('1')), 'result');
    await writeFile(join(dir, 'a'), 'mine');
    const refused = { kind: 'defect', message: new RegExp(`^the result of query job ${idOf('1')} cannot be put at `) };
    await t.rejects(jobs.putArchive(idOf('1'), join(dir, 'a'), signal), refused);
    t.equal(await readFile(join(dir, 'a'), 'utf8'), 'mine');
  });

  t.test('away is not the same as absent, and passes', async (t) => {
    const { jobs, dir, put, goAway } = await setup(t);
    await put(jobOf(idOf('1')), 'result');
    await goAway(true);
    await t.rejects(jobs.probe(signal), AWAY);
    await t.rejects(jobs.find(idOf('1'), signal), AWAY);
    await t.rejects(jobs.putArchive(idOf('1'), join(dir, 'a'), signal), AWAY);
    await goAway(false);
    await jobs.probe(signal);
    t.strictSame(await jobs.find(idOf('1'), signal), jobOf(idOf('1')));
    t.equal(await jobs.putArchive(idOf('1'), join(dir, 'a'), signal), true);
  });

  t.test('who has given up is not answered', async (t) => {
    const { jobs, dir, put } = await setup(t);
    await put(jobOf(idOf('1')), 'result');
    const reason = new Error('given up');
    const over = AbortSignal.abort(reason);
    await t.rejects(jobs.find(idOf('1'), over), reason);
    await t.rejects(jobs.putArchive(idOf('1'), join(dir, 'a'), over), reason);
    await t.rejects(jobs.probe(over), reason);
    t.equal(await jobs.putArchive(idOf('1'), join(dir, 'a'), signal), true, 'nothing was left there');
  });
}
