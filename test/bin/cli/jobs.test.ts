import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ApiError, type Command, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { jobs } from '../../../bin/commands/jobs.ts';
import { retry } from '../../../bin/commands/problems.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import type { JobOutcome } from '../../../engine/ports/jobs.ts';
import { jobRetryRoute, jobsReportRoute } from '../../../http/installer/admin/jobs.ts';
import { FakeCatalog } from '../../fakes/fake-catalog.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { FakePauses, PauseTable } from '../../fakes/fake-pauses.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { ADMIN_TOKEN, listen } from '../../http/installer/installer-app.ts';
import { freePort } from '../../support/ports.ts';
import { fault, run } from '../../support/run-command.ts';

const signal = new AbortController().signal;
const OWNER = '9007199254740993' as UserId; // above 2^53: no digit may be lost
const DEAD: JobOutcome = { kind: 'dead', failure: 'defect', message: 'a bug\n  in\u001b two lines' };

/** A server with job 1 dead, job 2 running and job 3 queued. */
async function setup(t: Test) {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const lane = new FakeJobs(table, 1);
  const add = (dataset: string) =>
    lane.enqueue([{ lane: 'import', dataset: dataset as DatasetId, owner: OWNER, eventId: 7, source: 'api' }], signal);
  const claim = { lane: 'import', limit: 1, crowdedTypes: [], blockedTypes: [] } as const;
  await add('d1');
  const [job] = await lane.completeAndFetch([], claim, signal);
  if (!job) throw new Error('no job');
  await lane.completeAndFetch([{ job, outcome: DEAD }], { ...claim, limit: 0 }, signal);
  await add('d2');
  await lane.completeAndFetch([], claim, signal);
  await add('d3');
  await clock.advance(5_000);

  const pauses = new FakePauses(new PauseTable(table));
  const options = { jobs: lane, jobAdmin: new FakeJobAdmin(table, new FakeCatalog(() => true)), pauses };
  const server = await listen(t, [jobsReportRoute(options), jobRetryRoute(options)]);
  const url = `http://127.0.0.1:${server.port}`;
  return { table, lane, url, access: ['--server', `${url}/`, '--admin-token', ADMIN_TOKEN] };
}

t.test('jobs are shown as a table of lanes and a line each', async (t) => {
  const { access } = await setup(t);
  const head = ['lane            queued  running  delayed  dead  oldest'];
  const idle = (lane: string) => `${lane.padEnd(14)}       0        0        0     0`;
  const created = '2026-01-01T00:00:00.000Z';
  t.strictSame(await run(jobs, access), {
    code: EXIT.ok,
    out: [
      ...head,
      ...['softDelete', 'upload'].map(idle),
      'import               1        1        0     1     5 s',
      ...['updateMeta', 'install', 'sharing', 'reconciliation', 'hardDelete'].map(idle),
      '',
      'job  lane    state    dataset  owner             created                   attempts  message',
      `  1  import  dead     d1       ${OWNER}  ${created}         1  a bug in two lines`,
      `  2  import  running  d2       ${OWNER}  ${created}         0`,
      `  3  import  queued   d3       ${OWNER}  ${created}         0`,
      '',
    ].join('\n'),
    err: '',
  });
});

t.test('jobs can be narrowed, and printed for machines', async (t) => {
  const { access } = await setup(t);
  const { out } = await run(jobs, [...access, '--json', '--lane', 'import', '--state', 'dead']);
  t.match(out, `"owner": ${OWNER},`);
  const { meta, lanes, results } = JSON.parse(out);
  t.strictSame([meta, lanes.length], [{ count: 1, offset: 0, limit: 1000, total: 1 }, 8]);
  t.match(results, [{ id: 1, datasetId: 'd1', state: 'dead', message: 'a bug\n  in\u001b two lines' }]);
  const none = await run(jobs, [...access, '--lane', 'install']);
  t.notMatch(none.out, 'owner');
});

t.test('who has more jobs than are listed is told', async (t) => {
  const { access, lane } = await setup(t);
  const many = Array.from({ length: 1_000 }, (_, i) => `many${i}` as DatasetId);
  await lane.enqueue(
    many.map((dataset) => ({ lane: 'install', dataset, owner: OWNER, eventId: 8, source: 'api' })),
    signal,
  );
  const { out, err } = await run(jobs, access);
  t.equal(out.split('\n').filter((line) => line.includes(OWNER)).length, 1_000);
  t.equal(err, 'the first 1000 of 1003 jobs; use --lane and --state to narrow the list\n');
});

t.test('a dead job is retried', async (t) => {
  const { access, table } = await setup(t);
  t.strictSame(await run(retry, ['1', ...access]), { code: EXIT.ok, out: 'job 1 queued\n', err: '' });
  t.match(table.rows, [{ id: 1, state: 'queued', attempts: 0 }]);
  const { out } = await run(retry, ['3', '--json', ...access]);
  t.strictSame(JSON.parse(out), { id: 3, state: 'queued' });
});

t.test("the server's refusals are told in its words", async (t) => {
  const { access, url } = await setup(t);
  t.match(await fault(retry, ['2', ...access]), [ApiError, 409, /job 2 is running/]);
  t.match(await fault(retry, ['99', ...access]), [ApiError, 404, /no job '99'/]);
  t.match(await fault(jobs, ['--server', url, '--admin-token', 'wrong']), [ApiError, 403, /Admin-Token is wrong/]);
});

t.test('server and token come from the data directory or the environment, too', async (t) => {
  const { url } = await setup(t);
  const data = t.testdir();
  const endpoints = { installer: url, adminToken: ADMIN_TOKEN, pid: process.pid };
  await writeFile(join(data, 'endpoints.json'), JSON.stringify(endpoints));
  t.equal((await run(retry, ['1', '--data', data])).out, 'job 1 queued\n');
  t.equal((await run(retry, ['1', '--server', url], { LONGSHORE_ADMIN_TOKEN: ADMIN_TOKEN })).out, 'job 1 queued\n');
  const env = { LONGSHORE_SERVER: `${url}/`, LONGSHORE_ADMIN_TOKEN: ADMIN_TOKEN };
  t.equal((await run(retry, ['1'], env)).out, 'job 1 queued\n');
  const elsewhere = { LONGSHORE_SERVER: 'http://127.0.0.1:9', LONGSHORE_ADMIN_TOKEN: ADMIN_TOKEN };
  t.equal((await run(retry, ['1', '--data', data], elsewhere)).out, 'job 1 queued\n', 'options go first');
  t.equal((await run(retry, ['1', '--server', url], elsewhere)).out, 'job 1 queued\n');
  await t.rejects(run(jobs, ['--data', join(data, 'nothing')]), {
    unreachable: true,
    message: /no 'longshore up' is running/,
  });
});

t.test('a server that is away is unreachable', async (t) => {
  const server = `http://127.0.0.1:${await freePort()}`;
  await t.rejects(run(jobs, ['--server', server, '--admin-token', ADMIN_TOKEN]), {
    kind: 'transient',
    unreachable: true,
    message: new RegExp(`^${server}: `),
  });
});

t.test('a wrong call is a usage error that names what is wrong', async (t) => {
  const wrong: readonly (readonly [Command, readonly string[], RegExp])[] = [
    [jobs, ['--lane', 'handler'], /^--lane 'handler': must be one of softDelete, upload, /],
    [jobs, ['--state', 'gone'], /^--state 'gone': must be one of queued, running, delayed, dead$/],
    [jobs, ['dead'], /^'dead' is not expected here$/],
    [jobs, ['--server', 'http://x'], /^--server needs --admin-token T/],
    [jobs, ['--user', '7'], /'--user'/],
    [retry, [], /^name problems, narrow the selection with options such as --cause, or retry --all$/],
    [retry, ['0'], /^'0' is not a job ID/],
    [retry, ['1/../2'], /^'1\/..\/2' is not a job ID/],
    [retry, ['9007199254740993'], /^'9007199254740993' is not a job ID/],
  ];
  for (const [command, args, message] of wrong)
    t.match(await fault(command, args), [UsageError, undefined, message], args.join(' '));
});
