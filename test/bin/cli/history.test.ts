import t, { type Test } from 'tap';
import { ApiError, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { history } from '../../../bin/commands/history.ts';
import type { AttemptRecord } from '../../../engine/ports/job-history.ts';
import { datasetHistoryRoute } from '../../../http/installer/admin/dataset-history.ts';
import { auditRow } from '../../conformance/audit-log.ts';
import { claimOne, complete, request, signal } from '../../conformance/jobs.ts';
import { FakeAuditLog } from '../../fakes/fake-audit-log.ts';
import { FakeJobHistory } from '../../fakes/fake-job-history.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { ADMIN_TOKEN, listen } from '../../http/installer/installer-app.ts';
import { fault, run } from '../../support/run-command.ts';

/** A dataset that was accepted, whose import failed once. */
async function setup(t: Test, failed: Partial<AttemptRecord> = {}, attempts = 1) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 12));
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const jobs = new FakeJobs(table, 1);
  const audit = new FakeAuditLog();
  await audit.append([auditRow({ at: clock.now(), method: 'POST', route: '/datasets', dataset: 'set' })], signal);
  for (let attempt = 1; attempt <= attempts; attempt++) {
    await clock.advance(1_000);
    await jobs.enqueue([request('import', 'set')], signal);
    const record: AttemptRecord = { outcome: 'failed', attempt, ms: 1_234, ...failed };
    await complete(jobs, await claimOne(jobs, 'import'), { kind: 'done', record });
  }
  const { port } = await listen(t, [datasetHistoryRoute({ jobHistory: new FakeJobHistory(table), audit })]);
  return ['--server', `http://127.0.0.1:${port}/`, '--admin-token', ADMIN_TOKEN];
}

t.test('each entry is a line, with the calls and what the script printed below it', async (t) => {
  const call = { call: 'import-dataset', plugin: 'genelist', ms: 1_200, outcome: 'script-error', exitCode: 7 };
  const access = await setup(t, {
    message: 'a bug\n  in\u001b[31m two lines',
    calls: [
      { ...call, message: 'exit code 7', output: 'line one\n  \u001b[2Jline two\t!' },
      { call: 'install-data', target: 'AlphaDB' as never, ms: 3, outcome: 'error' },
    ],
  });
  t.strictSame(await run(history, ['set', ...access]), {
    code: EXIT.ok,
    out: [
      '2026-01-02T12:00:00.000Z  request         POST /datasets by user 42: 204',
      '2026-01-02T12:00:01.000Z  import          failed, attempt 1, 1.23 s, process 1 (fake, pid 1): a bug in two lines',
      '    import-dataset genelist: script-error, exit code 7, 1.20 s: exit code 7',
      '    | line one',
      '    |   line two !',
      '    install-data on AlphaDB: error, 0.00 s',
      '',
    ].join('\n'),
    err: '',
  });
});

t.test('the newest first, so many, as documents', async (t) => {
  const access = await setup(t, {}, 3);
  const { out } = await run(history, ['set', '--newest-first', '--limit', '2', '--json', ...access]);
  const documents = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  t.match(documents, [{ job: { attempt: 3 } }, { job: { attempt: 2 } }]);
  t.equal(documents.length, 2);
});

t.test('it reads on until nothing is left', async (t) => {
  const access = await setup(t, { calls: [{ call: 'x', ms: 1, outcome: 'error', output: 'y'.repeat(150_000) }] }, 5);
  const { out } = await run(history, ['set', '--json', ...access]);
  t.equal(out.trimEnd().split('\n').length, 6);
});

t.test('what is unknown or wrong is refused', async (t) => {
  const access = await setup(t);
  t.match(await fault(history, ['absent', ...access]), [ApiError, 404, /no history of a dataset 'absent'/]);
  t.match(await fault(history, ['set', '--limit', '0', ...access]), [UsageError, undefined, /--limit '0'/]);
});
