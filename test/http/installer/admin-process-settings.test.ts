import t, { type Test } from 'tap';
import { fetch } from 'undici';
import type { ProcessSettings } from '../../../engine/ports/process-control.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { processSettingsRoutes } from '../../../http/installer/admin/process-settings.ts';
import { FakeProcessSettings } from '../../fakes/fake-process-settings.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const RELOAD = '/admin/rpc/config/reload';
const LEVEL = '/admin/rpc/log/level';

async function setup(t: Test, reload?: ProcessSettings['reload']) {
  const processSettings = new FakeProcessSettings(reload);
  const routes = processSettingsRoutes({ processSettings });
  const server = await listen(t, routes);
  const send = async (method: 'GET' | 'POST', path: string) => {
    const headers = { 'admin-token': ADMIN_TOKEN };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers });
    const text = await response.text();
    const route = routes.find((one) => method === one.method && path.split('?')[0] === one.path);
    if (route && response.ok)
      t.strictSame(responseFaults(schemaOf(routes, route.operationId, response.status), text), [], text);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  };
  return { processSettings, get: (path: string) => send('GET', path), post: (path: string) => send('POST', path) };
}

t.test('a reload tells what was taken over, what needs a restart and how much is as it was', async (t) => {
  const report = {
    applied: [
      { path: 'installer.lanes.import.workerCount', from: 10, to: 2 },
      { path: 'containerCore.log.level', from: 'info', to: 'debug' },
    ],
    needsRestart: [{ path: 'installer.cacheDb.password' }],
    unchanged: 300,
  };
  const { post } = await setup(t, async () => ({ kind: 'reloaded', report }));
  t.strictSame(await post(RELOAD), { status: 200, body: report });
});

t.test('what a reload would do is shown without doing it', async (t) => {
  const report = { applied: [], needsRestart: [{ path: 'installer.siteBuild' }], unchanged: 3 };
  const { processSettings, get } = await setup(t, async () => {
    throw new Error('it was done');
  });
  processSettings.compare = async () => ({ kind: 'reloaded', report });
  t.strictSame(await get(RELOAD), { status: 200, body: report });
  processSettings.compare = async () => ({ kind: 'faulty', faults: [{ path: '', text: 'no YAML' }] });
  t.match(await get(RELOAD), { status: 422, body: { errors: { general: ['no YAML'] } } });
});

t.test('the running settings are shown with what operators have set', async (t) => {
  const { processSettings, get } = await setup(t);
  const [path, value, live] = ['installer.lanes.import.workerCount', 2, 'applies immediately'];
  processSettings.configuration = {
    ...{ file: '/etc/longshore.yaml', generation: 3, readAt: new Date(0) },
    settings: [
      { path, value, live, isOrdered: true },
      { path: 'installer.plugins.genelist.x', value: ['a', 'b'], isOrdered: false },
    ],
  };
  t.strictSame(await get('/admin/config'), {
    status: 200,
    body: {
      ...{ file: '/etc/longshore.yaml', generation: 3, readAt: '1970-01-01T00:00:00.000Z' },
      settings: [
        { path, value, live, untilReload: true },
        { path: 'installer.plugins.genelist.x', value: ['a', 'b'] },
      ],
    },
  });
});

t.test('a file with faults is 422 with each fault by its key path', async (t) => {
  const faults = [
    { path: '', text: 'F:1:1: found tabs; allowed: YAML' },
    { path: 'installer.siteBuild', text: 'F:2:1: installer.siteBuild: found nothing' },
    { path: 'installer.siteBuild', text: 'F:3:1: installer.siteBuild: given twice' },
  ];
  const { post } = await setup(t, async () => ({ kind: 'faulty', faults }));
  t.strictSame(await post(RELOAD), {
    status: 422,
    body: {
      status: 'invalid-input',
      message: 'the configuration file has faults; nothing was changed',
      errors: {
        general: ['F:1:1: found tabs; allowed: YAML'],
        byKey: {
          'installer.siteBuild': [
            'F:2:1: installer.siteBuild: found nothing',
            'F:3:1: installer.siteBuild: given twice',
          ],
        },
      },
    },
  });
});

t.test('a process that ends is 503', async (t) => {
  const { post } = await setup(t, async () => {
    throw transient('the process ends');
  });
  t.match(await post(RELOAD), { status: 503, body: { status: 'server-error' } });
});

t.test('the log level is shown, which changes nothing', async (t) => {
  const { processSettings, get } = await setup(t);
  t.strictSame(await get(LEVEL), { status: 200, body: { level: 'info' } });
  processSettings.logLevel = 'trace';
  t.strictSame(await get(LEVEL), { status: 200, body: { level: 'trace' } });
  t.equal(processSettings.logLevel, 'trace');
});

t.test('the log level is set, or goes to the next, and the answer tells both', async (t) => {
  const { processSettings, post } = await setup(t);
  t.strictSame(await post(`${LEVEL}?level=trace`), { status: 200, body: { from: 'info', to: 'trace' } });
  t.equal(processSettings.logLevel, 'trace');
  t.strictSame(await post(LEVEL), { status: 200, body: { from: 'trace', to: 'debug' } });
  const { status, body } = await post(`${LEVEL}?level=loud`);
  t.strictSame(
    [status, body.message],
    [400, "query parameter 'level' is 'loud': one of trace, debug, info, warn, error, silent"],
  );
  t.equal(processSettings.logLevel, 'debug');
});
