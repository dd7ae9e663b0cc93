import t, { type Test } from 'tap';
import { EXIT, UsageError } from '../../../bin/cli/command.ts';
import { logLevel, reload } from '../../../bin/commands/reload.ts';
import type { ProcessSettings } from '../../../engine/ports/process-control.ts';
import { processSettingsRoutes } from '../../../http/installer/admin/process-settings.ts';
import { FakeProcessSettings } from '../../fakes/fake-process-settings.ts';
import { ADMIN_TOKEN, listen } from '../../http/installer/installer-app.ts';
import { fault, run } from '../../support/run-command.ts';

async function setup(t: Test, answer?: ProcessSettings['reload']) {
  const processSettings = new FakeProcessSettings(answer);
  const server = await listen(t, processSettingsRoutes({ processSettings }));
  const access = ['--server', `http://127.0.0.1:${server.port}`, '--admin-token', ADMIN_TOKEN];
  return { processSettings, access };
}
const said = (out: string) => ({ code: EXIT.ok, out, err: '' });
const REPORT = {
  applied: [{ path: 'installer.lanes.import.workerCount', from: 10, to: 2 }],
  needsRestart: [{ path: 'installer.cacheDb.password' }],
  unchanged: 300,
};

t.test('a reload shows what was taken over and what needs a restart', async (t) => {
  const { access } = await setup(t, async () => ({ kind: 'reloaded', report: REPORT }));
  t.strictSame(await run(reload, access), {
    code: EXIT.ok,
    out: [
      'setting                             change',
      'installer.lanes.import.workerCount  10 -> 2',
      'installer.cacheDb.password          needs a restart',
      '300 settings unchanged',
      '',
    ].join('\n'),
    err: '',
  });
  t.strictSame(JSON.parse((await run(reload, [...access, '--json'])).out), REPORT);
});

t.test('where nothing differs it says no more', async (t) => {
  const { access } = await setup(t);
  t.strictSame(await run(reload, access), said('300 settings unchanged\n'));
});

t.test('a file with faults ends as a start on it would', async (t) => {
  const text = 'F:1:1: installer.siteBuild: found nothing; allowed: one directory name';
  const faults = [{ path: 'installer.siteBuild', text }];
  const { access } = await setup(t, async () => ({ kind: 'faulty', faults }));
  t.strictSame(await run(reload, access), {
    code: EXIT.configuration,
    out: '',
    err: [
      'longshore reload: 422: the configuration file has faults; nothing was changed',
      `  installer.siteBuild: ${text}`,
      '',
    ].join('\n'),
  });
});

t.test('the log level is shown, and changed only to a level that is given', async (t) => {
  const { processSettings, access } = await setup(t);
  t.strictSame(await run(logLevel, access), said('info\n'));
  t.strictSame(await run(logLevel, [...access, '--json']), said('{"level":"info"}\n'));
  t.equal(processSettings.logLevel, 'info', 'showing it changes nothing');
  t.strictSame(await run(logLevel, ['trace', ...access]), said('log level info -> trace\n'));
  t.equal(processSettings.logLevel, 'trace');
  t.strictSame(await run(logLevel, ['warn', ...access, '--json']), said('{"from":"trace","to":"warn"}\n'));
});

t.test('what is not understood is a usage error', async (t) => {
  t.strictSame(await fault(reload, ['now']), [UsageError, undefined, "'now' is not expected here"]);
  const allowed = "'loud': must be one of trace, debug, info, warn, error, silent";
  t.strictSame(await fault(logLevel, ['loud']), [UsageError, undefined, allowed]);
  t.strictSame(await fault(logLevel, ['info', 'debug']), [UsageError, undefined, "'debug' is not expected here"]);
});
