import t, { type Test } from 'tap';
import { ApiError, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { cancel } from '../../../bin/commands/cancel.ts';
import type { CancelAnswer, CancelOrder } from '../../../engine/ports/job-cancels.ts';
import { jobCancelRoute } from '../../../http/installer/admin/cancel-job.ts';
import { ADMIN_TOKEN, listen } from '../../http/installer/installer-app.ts';
import { fault, run } from '../../support/run-command.ts';

async function setup(t: Test, answer: CancelAnswer) {
  const orders: CancelOrder[] = [];
  const ask = async (order: CancelOrder): Promise<CancelAnswer> => {
    orders.push(order);
    return answer;
  };
  const server = await listen(t, [jobCancelRoute({ cancels: { ask }, jobAdmin: { dataset: async () => undefined } })]);
  return { orders, access: ['--server', `http://127.0.0.1:${server.port}`, '--admin-token', ADMIN_TOKEN] };
}

t.test('a job is cancelled by its id, with a reason, and at once if asked', async (t) => {
  const { orders, access } = await setup(t, 'asked');
  t.strictSame(await run(cancel, [...access, '12']), { code: EXIT.ok, out: 'job 12 cancelling\n', err: '' });
  const { out } = await run(cancel, [...access, '--json', '13', '--hard', '--reason', 'a typo']);
  t.same(JSON.parse(out), { id: 13, state: 'cancelling' });
  t.same(orders, [
    { job: 12, by: 'Admin-Token', reason: undefined, hard: false },
    { job: 13, by: 'Admin-Token', reason: 'a typo', hard: true },
  ]);
});

t.test('what cannot be cancelled is refused', async (t) => {
  const waiting = await setup(t, 'not-running');
  t.match(await fault(cancel, [...waiting.access, '12']), [ApiError, 409, /job 12 is not running/]);
  const gone = await setup(t, 'not-found');
  t.match(await fault(cancel, [...gone.access, '12']), [ApiError, 404, /there is no job '12'/]);
  t.match(await fault(cancel, [...gone.access, 'x']), [UsageError, undefined, /'x' is not a job ID/]);
  t.match(await fault(cancel, gone.access), [UsageError, undefined, /JOB is required/]);
});
