import t, { type Test } from 'tap';
import { ApiError, type Command, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { prune, reconcile } from '../../../bin/commands/reconcile.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { pruneRoutes, reconcileRoutes } from '../../../http/installer/admin/daemons.ts';
import { FakePrunerControl, FakeReconcilerControl } from '../../fakes/fake-daemons.ts';
import { PRUNER_REPORT, RECONCILER_REPORT } from '../../fixtures/daemon-reports.ts';
import { ADMIN_TOKEN, listen } from '../../http/installer/installer-app.ts';
import { fault, run } from '../../support/run-command.ts';

async function setup(t: Test) {
  const reconciler = new FakeReconcilerControl(RECONCILER_REPORT);
  const pruner = new FakePrunerControl(PRUNER_REPORT);
  const server = await listen(t, [...reconcileRoutes({ reconciler }), ...pruneRoutes({ pruner, clock: systemClock })]);
  const access = ['--server', `http://127.0.0.1:${server.port}`, '--admin-token', ADMIN_TOKEN];
  return { reconciler, pruner, access };
}

function afterOrder(control: FakeReconcilerControl, happens: () => void): void {
  const order = control.order.bind(control);
  control.order = async (...args) => {
    const answer = await order(...args);
    happens();
    return answer;
  };
}
const said = (out: string) => ({ code: EXIT.ok, out, err: '' });

t.test('runs are started, and not waited for', async (t) => {
  const { reconciler, pruner, access } = await setup(t);
  reconciler.looks = pruner.looks = Number.POSITIVE_INFINITY;
  t.strictSame(await run(reconcile, access), said('reconciliation started\n'));
  t.strictSame(
    await run(reconcile, [...access, '--allow-deletes', '--json']),
    said('{"state":"started","kind":"full","allowDeletes":true}\n'),
  );
  t.strictSame(await run(prune, access), said('pruning started\n'));
  t.strictSame(
    await run(prune, [...access, '--age-cutoff', '1d 12h', '--json']),
    said('{"state":"started","ageCutoff":"1d 12h"}\n'),
  );
  t.strictSame(reconciler.orders, [
    { kind: 'full', allowDeletes: false },
    { kind: 'full', allowDeletes: true },
  ]);
  t.strictSame(pruner.orders, [{}, { minAgeMs: 36 * 3_600_000 }]);
});

t.test('a reconciliation that is waited for tells what it found', async (t) => {
  const { reconciler, access } = await setup(t);
  // The report of an earlier run is not taken for this one's.
  reconciler.lastReport = { ...RECONCILER_REPORT, startedAt: new Date(0), listed: 7 };
  reconciler.looks = 2;
  t.strictSame(await run(reconcile, [...access, '--wait']), {
    code: EXIT.ok,
    out: [
      'in the store  1000',
      'malformed     2',
      'reconciled    30',
      'absent        cache 4, PlasmoSite 3',
      'deleted       3',
      'spared        1',
      'left out      ToxoSite: connect ECONNREFUSED',
      '',
    ].join('\n'),
    err: '',
  });
});

t.test('a run that is over before it is looked at is seen all the same', async (t) => {
  const { pruner, access } = await setup(t);
  const { code, out } = await run(prune, [...access, '--wait', '--json']);
  t.equal(code, EXIT.ok);
  t.match(JSON.parse(out), { pruned: 4, trimmed: 5, ended: '2026-01-02T03:05:06.789Z' });
  t.equal(pruner.orders.length, 1);
});

t.test('deletes that were held back make it fail, and say how to let them go', async (t) => {
  const { reconciler, access } = await setup(t);
  reconciler.report = { ...RECONCILER_REPORT, wouldDelete: {}, leftOut: [], braked: 'too many\n\u001b are absent' };
  const { code, out, err } = await run(reconcile, [...access, '--wait']);
  t.equal(code, EXIT.failed);
  t.match(out, 'absent        0\n');
  t.equal(err, 'deletes were withheld (use --allow-deletes to perform them): too many are absent\n');
});

t.test('a run that ends early fails', async (t) => {
  const { reconciler, pruner, access } = await setup(t);
  reconciler.report = { ...RECONCILER_REPORT, failure: 'the store is away' };
  pruner.report = { ...PRUNER_REPORT, failure: 'the cache is away' };
  for (const [command, why] of [
    [reconcile, 'the store is away'],
    [prune, 'the cache is away'],
  ] as const)
    t.match(await run(command, [...access, '--wait']), { code: EXIT.failed, err: `the run ended early: ${why}\n` });
});

t.test('a pruning tells what it did, and fails when datasets failed', async (t) => {
  const { pruner, access } = await setup(t);
  const lines = (failed: number) =>
    [
      'older than    2025-12-03T03:04:05.678Z',
      'pruned        4',
      'trimmed       5',
      'skipped       too-young 6, not-uninstalled 1',
      `failed        ${failed}`,
      '',
    ].join('\n');
  t.strictSame(await run(prune, [...access, '--wait']), { code: EXIT.ok, out: lines(0), err: '' });
  pruner.report = { ...PRUNER_REPORT, startedAt: new Date(0), failures: 2 };
  t.strictSame(await run(prune, [...access, '--wait']), { code: EXIT.failed, out: lines(2), err: '' });
});

t.test('a server that was started anew is not waited for', async (t) => {
  const { reconciler, access } = await setup(t);
  afterOrder(reconciler, () => reconciler.forget());
  t.match(await fault(reconcile, [...access, '--wait']), [Failure, undefined, /no longer knows the run/]);
});

t.test('waiting ends with the signal', async (t) => {
  const { reconciler, access } = await setup(t);
  reconciler.looks = Number.POSITIVE_INFINITY;
  const stop = new AbortController();
  afterOrder(reconciler, () => stop.abort());
  await t.rejects(run(reconcile, [...access, '--wait'], {}, stop.signal), { name: 'AbortError' });
});

t.test("the server's refusals are told in its words", async (t) => {
  const { reconciler, pruner, access } = await setup(t);
  reconciler.answer = 'running';
  pruner.answer = 'elsewhere';
  t.match(await fault(reconcile, access), [ApiError, 409, /a run of the reconciler is under way/]);
  t.match(await fault(reconcile, [...access, '--wait']), [ApiError, 409, /a run of the reconciler is under way/]);
  t.match(await fault(prune, access), [ApiError, 409, /another process of this installation runs the pruner/]);
});

t.test('a wrong call is a usage error that names what is wrong', async (t) => {
  const wrong: readonly (readonly [Command, readonly string[], RegExp])[] = [
    [reconcile, ['now'], /^'now' is not expected here$/],
    [reconcile, ['--age-cutoff', '1d'], /'--age-cutoff'/],
    [reconcile, ['--server', 'http://x'], /^--server needs --admin-token T/],
    [prune, ['now'], /^'now' is not expected here$/],
    [
      prune,
      ['--age-cutoff', 'soon'],
      /^--age-cutoff 'soon': must be a duration such as 30d, or a date such as 2026-01-31$/,
    ],
    [prune, ['--allow-deletes'], /'--allow-deletes'/],
  ];
  for (const [command, args, message] of wrong)
    t.match(await fault(command, args), [UsageError, undefined, message], args.join(' '));
});
