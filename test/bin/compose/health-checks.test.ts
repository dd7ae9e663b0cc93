// What /health of the installer says of plugins and of the parts of its own process.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { PluginBreakers } from '../../../actors/plugins/plugin-breakers.ts';
import type { LaneTasks, TaskRunner } from '../../../actors/tasks/task-map.ts';
import { partsCheck, pluginChecks } from '../../../bin/compose/installer-front-end.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import type { ChildStatus } from '../../../engine/runtime/supervisor.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { sharedHealth } from '../../../http/kernel/pipeline/ops.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { freePort } from '../../support/ports.ts';
import { TWO_PLUGINS } from '../../support/two-plugins.ts';

const never = new AbortController().signal;
const SCRIPT_MS = { import: 1, installData: 1, installMeta: 1, uninstall: 1 };
const parts = { clock: systemClock, log: silentLogger(), metrics: new Metrics() };

t.test('a plugin that nobody serves makes it degraded, without naming its address', async (t) => {
  const server = createServer((_request, response) => response.end('{"manifest":{}}')).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const plugins = [
    { key: 'genes', baseUrl: `http://127.0.0.1:${port}`, token: undefined, scriptMs: SCRIPT_MS },
    { key: 'reads', baseUrl: `http://127.0.0.1:${await freePort()}`, token: undefined, scriptMs: SCRIPT_MS },
  ];
  const checks = pluginChecks(plugins, new PluginBreakers(TWO_PLUGINS, parts));
  const health = await sharedHealth({ checks, clock: systemClock, version: '1', threads: () => 1 })();
  t.match(health, {
    status: 'degraded',
    dependencies: [
      { name: 'plugin genes', reachable: true, online: 'yes' },
      { name: 'plugin reads', reachable: false, online: 'unknown', message: 'plugin reads is not reachable' },
    ],
  });
});

t.test('a plugin that calls have met with no answer is not asked again, and says when it will be', async (t) => {
  const clock = new VirtualClock();
  const breakers = new PluginBreakers(TWO_PLUGINS, { ...parts, clock, metrics: new Metrics() });
  const run = () => Promise.reject(transient('refused', { unreachable: true, unanswered: true }));
  const guarded = breakers.guard({ run } as TaskRunner);
  const call = { plugin: 'genes' } as LaneTasks['uninstall']['input'];
  for (let n = 0; n < 5; n++)
    await guarded.run('uninstall', call, { signal: never, alone: false, owner: '1' as UserId }).catch(() => {});
  const plugins = ['genes', 'reads'].map((key) => ({ key, baseUrl: '', token: undefined, scriptMs: SCRIPT_MS }));
  const [genes, reads] = pluginChecks(plugins, breakers);
  const again = 'plugin genes does not respond; next attempt in 30 s';
  await t.rejects(async () => genes?.probe(never), { kind: 'transient', message: again, unreachable: true });
  await t.rejects(async () => reads?.probe(never), { message: 'plugin reads is not reachable' });
});

t.test('a lane or a daemon that is down makes it degraded, by its name', async (t) => {
  const child = (name: string, state: ChildStatus['state']): ChildStatus => ({
    name,
    state,
    restarts: 0,
    failure: undefined,
  });
  let children = [child('install', 'running'), child('pruner', 'waiting')];
  const check = partsCheck(() => children);
  const health = sharedHealth({ checks: [check], clock: systemClock, version: '1', threads: () => 1 });
  t.match(await health(), { status: 'healthy' });
  children = [child('install', 'down'), child('pruner', 'down')];
  t.match(await health(), {
    status: 'degraded',
    dependencies: [{ name: 'lanes and daemons', online: 'no', message: 'down: install, pruner' }],
  });
});
