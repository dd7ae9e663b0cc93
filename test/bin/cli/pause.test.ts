import t, { type Test } from 'tap';
import { ApiError, type Command, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { list, PAUSES, RESUMES } from '../../../bin/commands/pause.ts';
import { pauseRoutes } from '../../../http/installer/admin/pauses.ts';
import { JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { FakePauses, PauseTable } from '../../fakes/fake-pauses.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { ADMIN_TOKEN, listen, PAUSABLE } from '../../http/installer/installer-app.ts';
import { fault, run } from '../../support/run-command.ts';

const signal = new AbortController().signal;
const SINCE = '2026-01-01T00:00:00.000Z';

async function setup(t: Test) {
  const clock = new VirtualClock();
  const pauses = new FakePauses(new PauseTable(new JobTable(clock, new LeaseTable(clock), () => undefined)));
  const server = await listen(t, pauseRoutes({ pauses, pausable: PAUSABLE, clock }));
  return { pauses, access: ['--server', `http://127.0.0.1:${server.port}`, '--admin-token', ADMIN_TOKEN] };
}

t.test('a pause is told in a sentence, listed in a table, and ended', async (t) => {
  const { pauses, access } = await setup(t);
  const paused = await run(PAUSES.target, [...access, 'AlphaDB', '--reason', 'new disks']);
  const sentence = `target AlphaDB is paused by Admin-Token since ${SINCE}\n`;
  t.strictSame(paused, { code: EXIT.ok, out: sentence, err: '' });
  t.match(await pauses.list(signal), [{ kind: 'target', name: 'AlphaDB', reason: 'new disks', until: undefined }]);
  t.strictSame(await run(list, [...access]), {
    code: EXIT.ok,
    out: [
      'kind    name     since                     by           until  reason',
      `target  AlphaDB  ${SINCE}  Admin-Token         new disks`,
      '',
    ].join('\n'),
    err: '',
  });
  const { out } = await run(RESUMES.target, [...access, 'AlphaDB']);
  t.equal(out, 'target AlphaDB is not paused any more\n');
  t.same(await pauses.list(signal), []);
});

t.test('a pause may have an end, and be printed for machines', async (t) => {
  const { pauses, access } = await setup(t);
  const before = Date.now();
  const { out } = await run(PAUSES.lane, [...access, '--json', 'import', '--for', '2h']);
  const [found] = await pauses.list(signal);
  const until = found?.until?.getTime() ?? 0;
  t.ok(until >= before + 7_200_000 && until <= Date.now() + 7_200_000);
  t.same(JSON.parse(out), {
    ...{ kind: 'lane', name: 'import', since: SINCE, by: 'Admin-Token' },
    until: found?.until?.toISOString(),
  });
  t.match(JSON.parse((await run(list, [...access, '--json'])).out), [{ kind: 'lane', name: 'import' }]);
  t.same(JSON.parse((await run(RESUMES.lane, [...access, '--json', 'import'])).out), {
    ...{ kind: 'lane', name: 'import', paused: false },
  });
});

t.test('what is meant must be clear', async (t) => {
  const { access } = await setup(t);
  const faults: readonly (readonly [Command, readonly string[], RegExp])[] = [
    [PAUSES.lane, [], /NAME is required: the name of a lane/],
    [PAUSES.lane, ['import', 'install'], /'install' is not expected here/],
    [PAUSES.lane, ['import', '--for', 'long'], /--for 'long': must be a duration such as 30m/],
    [PAUSES.lane, ['import', '--for', '0s'], /--for '0s'/],
    [PAUSES.lane, ['import', '--for', '100000000d'], /--for '100000000d': .* at most 36500d$/],
    [list, ['import'], /'import' is not expected here/],
    [RESUMES.plugin, [], /NAME is required: the name of a plugin/],
  ];
  for (const [command, args, message] of faults) {
    t.match(await fault(command, [...access, ...args]), [UsageError, undefined, message], args.join(' '));
  }
});

t.test('a name that does not exist is the refusal of the server', async (t) => {
  const { access } = await setup(t);
  const message = /there is no plugin 'gene\/s'; there is: genes/;
  t.match(await fault(PAUSES.plugin, [...access, 'gene/s']), [ApiError, 404, message]);
});
