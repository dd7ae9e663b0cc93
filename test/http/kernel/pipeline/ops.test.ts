import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import type { Pause } from '../../../../engine/ports/pauses.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { findProgram, type HealthCheck, sharedHealth } from '../../../../http/kernel/pipeline/ops.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { httpApp, route } from '../../http-app.ts';

const INFO = { threads: 3, uptime: /^[0-9.]+s$/, uptimeMillis: Number };
const up = (name: string, vital = false): HealthCheck => ({ name, vital, probe: async () => undefined });
const down = (name: string, vital: boolean, error: unknown): HealthCheck => ({
  name,
  vital,
  probe: async () => {
    throw error;
  },
});

t.test('health tells what is away, in our own words only', async (t) => {
  const app = await httpApp(t, [], {
    checks: [
      up('store', true),
      down('broker', false, transient('the broker does not answer')),
      down('directory', false, new Error('ldap://user:secret@directory.example')),
    ],
  });
  const response = await fetch(`${app.url}/health`);
  t.equal(response.status, 200);
  t.match(await response.json(), {
    status: 'degraded',
    version: '1',
    dependencies: [
      { name: 'store', reachable: true, online: 'yes' },
      { name: 'broker', reachable: true, online: 'no', message: 'the broker does not answer' },
      { name: 'directory', reachable: true, online: 'no', message: 'the check failed' },
    ],
    info: INFO,
  });
});

t.test('without something vital it is unhealthy, with everything healthy', async (t) => {
  const clock = new VirtualClock();
  const status = async (...checks: HealthCheck[]) =>
    (await sharedHealth({ threads: () => 3, checks, clock, version: '1' })()).status;
  t.equal(await status(up('store', true)), 'healthy');
  t.equal(await status(up('broker'), down('store', true, transient('away'))), 'unhealthy');
  t.equal(await status(), 'healthy');
});

t.test('what operators have paused is shown without names and reasons, and changes no status', async (t) => {
  const clock = new VirtualClock();
  const since = new Date(clock.now());
  const until = new Date(clock.now() + 60_000);
  let paused: readonly Pause[] = [
    { kind: 'lane', name: 'import', since, by: 'user 42', reason: 'secret plans', until: undefined },
    { kind: 'target', name: 'AlphaDB', since, by: 'user 42', reason: undefined, until },
  ];
  const health = sharedHealth({ threads: () => 3, checks: [], clock, version: '1', paused: () => paused });
  const report = await health();
  t.equal(report.status, 'healthy');
  t.strictSame(report.paused, [
    { kind: 'lane', name: 'import', since: since.toISOString() },
    { kind: 'target', name: 'AlphaDB', since: since.toISOString(), until: until.toISOString() },
  ]);
  paused = [];
  t.notOk('paused' in (await health()));
});

t.test('a check that hangs costs two seconds, and all who ask meanwhile share it', async (t) => {
  const clock = new VirtualClock();
  let probes = 0;
  const hanging: HealthCheck = {
    name: 'store',
    vital: true,
    probe: () => {
      probes++;
      return new Promise(() => undefined);
    },
  };
  const health = sharedHealth({ threads: () => 3, checks: [hanging, up('broker')], clock, version: '1' });
  const answers = Promise.all([health(), health(), health()]);
  await clock.advance(2_000);
  const expected = {
    status: 'unhealthy',
    version: '1',
    dependencies: [
      { name: 'store', reachable: false, online: 'unknown', message: 'no response within 2000 ms' },
      { name: 'broker', reachable: true, online: 'yes' },
    ],
    info: { threads: 3, uptime: '2.000s', uptimeMillis: 2_000 },
  };
  t.same(await answers, [expected, expected, expected]);
  t.equal(probes, 1);
  const again = health();
  await clock.advance(2_000);
  await again;
  t.equal(probes, 2);
});

t.test('a front end may have a health of its own', async (t) => {
  const own = route('/health', 'open', async (context) => context.json(200, { status: 'mine' }));
  const app = await httpApp(t, [own]);
  app.server.quiet();
  t.same(await (await fetch(`${app.url}/health`)).json(), { status: 'mine' });
  t.same(app.pipeline.routes.map(({ method, path }) => `${method} ${path}`).sort(), [
    'GET /health',
    'GET /metrics',
    'GET /ready',
  ]);
});

t.test('metrics count requests by the pattern of their route, whatever was asked for', async (t) => {
  const app = await httpApp(t, [route('/item/:id', 'open', async (context) => context.json(200, 1))]);
  for (const path of ['/item/1', '/item/2', '/nowhere', '/elsewhere?access_token=secret']) await fetch(app.url + path);
  const text = await (await fetch(`${app.url}/metrics`)).text();
  t.match(text, /longshore_http_requests_total\{front_end="test",route="\/item\/:id",method="GET",status="200"\} 2/);
  t.match(text, /longshore_http_requests_total\{front_end="test",route="none",method="GET",status="404"\} 2/);
  t.match(text, /longshore_http_requests_in_flight\{front_end="test"\} 1/);
  t.match(text, /longshore_http_request_duration_seconds_count\{front_end="test",route="\/item\/:id",method="GET"\} 2/);
  t.notMatch(text, /nowhere|secret/);
});

const GONE = { kind: 'transient', message: 'it does not exist or is not executable' };
const dir = t.testdir({ first: {}, second: {} });
const [first, second] = [join(dir, 'first'), join(dir, 'second')];
await writeFile(join(second, 'blast'), '', { mode: 0o755 });
await writeFile(join(first, 'notes'), '', { mode: 0o644 });

t.test('a name is looked for in every directory of the path', async (t) => {
  await t.resolves(findProgram('blast', `${first}:${second}`));
  await t.rejects(findProgram('blast', first), GONE);
});

t.test('a path is the program itself, whatever the directories are', async (t) => {
  await t.resolves(findProgram(join(second, 'blast'), first));
  await mkdir(join(first, 'bin'));
  await writeFile(join(first, 'bin', 'tool'), '', { mode: 0o755 });
  await t.rejects(findProgram('bin/tool', first), GONE);
});

t.test('a file that may not be executed is no program', async (t) => {
  await t.rejects(findProgram('notes', first), GONE);
  await t.rejects(findProgram(join(first, 'notes'), second), GONE);
});

t.test('a directory that is not absolute depends on where the process runs, and is passed over', async (t) => {
  await t.rejects(findProgram('blast', `:${relative(process.cwd(), second)}`), GONE);
});
