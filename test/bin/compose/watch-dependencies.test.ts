import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import t, { type Test } from 'tap';
import { dependencyWatch, diskWatch, writtenFolders } from '../../../bin/compose/watch-dependencies.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import type { HealthCheck } from '../../../http/kernel/pipeline/ops.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;

/** One check whose fault can be set; without one it answers. */
class Switched implements HealthCheck {
  readonly name: string;
  readonly vital: boolean;
  fault: unknown;

  constructor(name: string, vital: boolean) {
    this.name = name;
    this.vital = vital;
  }

  probe = async (): Promise<void> => {
    if (this.fault !== undefined) throw this.fault;
  };
}

async function setup(t: Test, checks: readonly HealthCheck[]) {
  const clock = new VirtualClock();
  const metrics = new Metrics();
  const said: string[] = [];
  const write = (line: string): void => {
    const { level, msg, dependency, reason } = JSON.parse(line) as Record<string, unknown>;
    said.push(`${level} ${dependency}: ${msg}${reason === undefined ? '' : ` (${reason})`}`);
  };
  const watch = dependencyWatch(checks, { clock, log: pino({ level: 'info' }, { write }), metrics }).create();
  t.teardown(() => watch.kill());
  await watch.start(never);
  await clock.advance(0);
  const up = async (): Promise<readonly string[]> =>
    [...(await metrics.text()).matchAll(/^longshore_dependency_up\{dependency="(.*)"\} (\d)$/gm)].map(
      ([, name, value]) => `${name} ${value}`,
    );
  return { clock, said, up };
}

t.test('shows who answers, and says who went away and who is back, each once', async (t) => {
  const [database, site] = [new Switched('cache-db', true), new Switched('target SiteA', false)];
  site.fault = transient('nobody listens');
  const { clock, said, up } = await setup(t, [database, site]);
  t.strictSame(await up(), ['cache-db 1', 'target SiteA 0']);
  await clock.advance(60_000);
  database.fault = transient('refused');
  await clock.advance(60_000);
  t.strictSame(await up(), ['cache-db 0', 'target SiteA 0']);
  database.fault = undefined;
  await clock.advance(60_000);
  t.strictSame(await up(), ['cache-db 1', 'target SiteA 0']);
  t.strictSame(said, [
    '40 target SiteA: a dependency is unavailable; the service is degraded until it is back (nobody listens)',
    '40 cache-db: a dependency is unavailable; the service cannot work until it is back (refused)',
    '30 cache-db: a dependency is back',
  ]);
});

t.test('one that hangs is away after ten seconds, and holds up no other', async (t) => {
  const hanging: HealthCheck = { name: 'broker', vital: false, probe: () => new Promise(() => undefined) };
  const { clock, said, up } = await setup(t, [hanging, new Switched('cache-db', true)]);
  t.strictSame(await up(), ['cache-db 1']);
  await clock.advance(10_000);
  t.strictSame(await up(), ['cache-db 1', 'broker 0']);
  t.match(said, [/no response within 10 s/]);
});

t.test('the words of a foreign error, which may hold a password, are kept back', async (t) => {
  const site = new Switched('target SiteA', false);
  site.fault = new Error('postgres://user:secret@host');
  const { said } = await setup(t, [site]);
  t.match(said, [/\(the check failed\)$/]);
});

t.test('tells size and free space of the disk of each folder, also of one that is not made yet', async (t) => {
  const folders = [t.testdir(), join(t.testdirName, 'made', 'later')].map((folder) => ({ role: 'the place', folder }));
  const metrics = new Metrics();
  const clock = new VirtualClock();
  const watch = diskWatch(folders, { clock, log: silentLogger(), metrics }).create();
  t.teardown(() => watch.kill());
  await watch.start(new AbortController().signal);
  // Done when it has left its timestamp.
  let text = await metrics.text();
  while (!text.includes('longshore_daemon_last_run_timestamp_seconds{')) {
    await clock.settle();
    text = await metrics.text();
  }
  const { blocks, bsize } = await statfs(t.testdirName);
  for (const { folder } of folders) {
    t.match(text, `longshore_disk_size_bytes{folder="${folder}"} ${blocks * bsize}\n`);
    const [, free] = text.split(`longshore_disk_free_bytes{folder="${folder}"} `);
    const freeBytes = Number.parseInt(free ?? '', 10);
    t.ok(freeBytes > 0 && freeBytes < blocks * bsize, `${freeBytes} of ${blocks * bsize} bytes`);
  }
});

t.test('names what a process writes to, each folder once', async (t) => {
  const sections = {
    installer: {
      objectStore: { driver: 'directory', path: '/data/objects' },
      plugins: { genes: { installRoot: '/sites' }, biom: { installRoot: '/sites' }, other: { installRoot: '/other' } },
    },
    handler: { workspace: '/data/handler' },
    pluginHost: { workspace: '/data/plugins', inProcess: ['genes', 'biom'] },
  } as unknown as Configuration;
  const store = [
    { role: 'the scratch space', folder: '/scratch' },
    { role: 'the object store', folder: '/data/objects' },
    { role: 'the handler jobs', folder: '/data/handler' },
  ];
  t.strictSame(writtenFolders(sections, ['genes', 'biom'], '/scratch'), [
    ...store,
    { role: 'the plugin host', folder: '/data/plugins' },
    { role: 'the installed files', folder: '/sites' },
  ]);
  t.strictSame(writtenFolders(sections, [], '/scratch'), store);
});
