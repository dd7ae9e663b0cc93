// The running program, under load, takes over other bounds of a lane at SIGHUP and at an administrator's word. A plugin
// server of the test holds its imports, and so sees how many there are at once.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { GatedPlugin } from '../support/gated-plugin.ts';
import { logged } from '../support/log-lines.ts';
import { freePortBase, longshore, processesBelow, ROOT, tempDir, type Up, up } from '../support/longshore.ts';
import { settled } from '../support/site-state.ts';

/** Two, because one alone has all workers but one. */
const USERS = ['12', '13'];
const DATASETS = 45;
const ROUNDS = 15;
const LARGE = { workerCount: 10, inMemoryQueueSize: 10 };
const SMALL = { workerCount: 2, inMemoryQueueSize: 1 };
const WORKERS = 'installer.lanes.import.workerCount';

interface Config {
  containerCore: { log?: { level: string } };
  installer: {
    lanes?: { import: object };
    plugins: Record<string, { server: object }>;
    siteBuild: string;
  };
  pluginHost: { inProcess: string[] };
  report: { lane?: object };
}

/** Changes the file as an operator does. */
async function edit(dir: string, change: (config: Config) => void): Promise<void> {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  change(config);
  await writeFile(file, stringify(config));
}
const lanes = (bounds: object) => (config: Config) => {
  config.installer.lanes = { import: bounds };
};

/** `up` whose gene lists go to a plugin server of the test. */
async function start(t: Test) {
  const dir = await tempDir(t);
  const args = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, args)).stop();
  const plugin = await GatedPlugin.start(t);
  await edit(dir, (config) => {
    const genelist = config.installer.plugins.genelist;
    if (!genelist) throw new Error('no plugin genelist');
    genelist.server = { host: '127.0.0.1', port: plugin.port };
    config.pluginHost.inProcess = config.pluginHost.inProcess.filter((name) => name !== 'genelist');
    lanes(LARGE)(config);
  });
  const app = await up(t, dir, args);
  const log = join(dir, 'longshore.log');
  return { dir, plugin, app, log };
}

/** What the process says of a lane. */
async function boundsOf(lane: string, { endpoints }: Up): Promise<Record<string, number>> {
  const text = await (await fetch(`${endpoints.installer}/metrics`)).text();
  const line = new RegExp(`^longshore_lane_(workers|capacity|in_flight)\\{lane="${lane}"\\} (\\d+)$`, 'gm');
  const found = [...text.matchAll(line)];
  return Object.fromEntries(found.map(([, name, value]) => [name, Number(value)]));
}

t.test('workers of a lane shrink from 10 to 2 and grow back under load, nothing is lost or done twice', async (t) => {
  const { dir, plugin, app, log } = await start(t);
  const apis: Api[] = [];
  for (const user of USERS) apis.push(new Api(app.endpoints.installer, await app.token(user)));
  const details = detailsOf('genelist', { installTargets: ['AlphaDB'] });
  const file = { name: 'genes.txt', content: geneList(3) };
  const hangUp = () => process.kill(app.endpoints.pid, 'SIGHUP');
  const ownerOf = new Map<string, Api>();
  while (ownerOf.size < DATASETS)
    for (const api of apis.slice(0, DATASETS - ownerOf.size)) ownerOf.set(await api.upload(details, [file]), api);
  await plugin.crowd(LARGE.workerCount);
  t.strictSame(await boundsOf('import', app), { workers: 10, capacity: 10, in_flight: 10 });

  await edit(dir, lanes(SMALL));
  hangUp();
  t.match(await logged(log, 'configuration reloaded', 1), {
    applied: [
      { path: 'installer.lanes.import.inMemoryQueueSize', from: 10, to: 1 },
      { path: WORKERS, from: 10, to: 2 },
    ],
    needsRestart: [],
  });
  t.strictSame(await boundsOf('import', app), { workers: 2, capacity: 1, in_flight: 10 }, 'running jobs go on');
  plugin.release(9);
  plugin.most = plugin.waiting;
  for (let n = 0; n < ROUNDS; n++) {
    await plugin.crowd(2);
    t.strictSame(await boundsOf('import', app), { workers: 2, capacity: 1, in_flight: 2 });
    plugin.release(1);
  }
  t.equal(plugin.most, 2, 'never more than two at a time');

  await edit(dir, lanes({ ...LARGE, workerCount: 21 }));
  hangUp();
  const { faults } = await logged(log, 'the configuration is invalid; nothing was changed', 1);
  t.match(faults, [
    /config\.yaml:\d+:\d+: installer\.lanes\.import\.workerCount: found 21; allowed: a whole number 1\.\.20: .* start another process$/,
  ]);
  const refused = await longshore(['reload', '--data', dir]);
  t.strictSame([refused.code, refused.stdout], [3, '']);
  t.match(refused.stderr, String((faults as readonly string[])[0]));
  t.match(await boundsOf('import', app), { workers: 2, capacity: 1 });

  await edit(dir, lanes(LARGE));
  hangUp();
  await logged(log, 'configuration reloaded', 2);
  await plugin.crowd(LARGE.workerCount);
  t.strictSame(await boundsOf('import', app), { workers: 10, capacity: 10, in_flight: 10 });
  t.equal(plugin.most, 10);

  plugin.open();
  await settled(dir);
  for (const [id, api] of ownerOf)
    t.match(await api.json(`/datasets/${id}`), {
      status: { import: { status: 'complete' }, install: [{ installTarget: 'AlphaDB', data: { status: 'complete' } }] },
    });
  const calls = [...plugin.calls].filter(([call]) => !call.startsWith('/install/meta'));
  const once = ['/import', '/install/data'].flatMap((path) =>
    [...ownerOf.keys()].map((id) => [`${path} ${id}`, 1] as const),
  );
  t.strictSame(calls.toSorted(), once.toSorted(), 'each was imported and installed once');
  t.equal(await app.stop(), 0);
});

t.test(
  'what needs a restart is told, the log level goes round, and a process that starts anew has it all',
  async (t) => {
    const { dir, app, log } = await start(t);
    const client = (...args: string[]) => longshore([...args, '--data', dir]);
    t.strictSame(await client('log-level', 'warn'), { code: 0, stdout: 'log level info -> warn\n', stderr: '' });
    process.kill(app.endpoints.pid, 'SIGUSR2');
    t.match(await logged(log, 'log level changed', 2), { level: 'info', from: 'warn', to: 'info' });
    process.kill(app.endpoints.pid, 'SIGUSR2');
    t.match(await logged(log, 'log level changed', 3), { from: 'info', to: 'debug' });
    // A child of the log that was made before: each request is told there.
    await fetch(`${app.endpoints.installer}/ready`);
    t.match(await logged(log, 'request', 1), { level: 'debug', route: '/ready' });

    await edit(dir, (config) => {
      config.installer.siteBuild = 'build-of-another-name';
      config.report.lane = SMALL;
      lanes(SMALL)(config);
    });
    const { code, stdout } = await client('reload', '--json');
    t.match(
      [code, JSON.parse(stdout)],
      [
        0,
        {
          applied: [
            { path: 'containerCore.log.level', from: 'debug', to: 'info' },
            { path: 'installer.lanes.import.inMemoryQueueSize', from: 10, to: 1 },
            { path: WORKERS, from: 10, to: 2 },
            { path: 'report.lane.inMemoryQueueSize', from: 20, to: 1 },
            { path: 'report.lane.workerCount', from: 4, to: 2 },
          ],
          needsRestart: [{ path: 'installer.siteBuild' }],
        },
      ],
    );
    t.match(await boundsOf('report', app), { workers: 2, capacity: 1 }, 'the lane of reports, too');
    t.match((await client('reload')).stdout, /^installer\.siteBuild +needs a restart$/m);
    t.equal(await app.stop(), 0);
  },
);

t.test('a SIGHUP reloads as long as there is a terminal, and ends the program when the terminal is gone', async (t) => {
  const dir = await tempDir(t);
  const words = [process.execPath, join(ROOT, 'bin', 'longshore.ts'), 'up', '--data', dir];
  const command = [...words, '--port-base', String(await freePortBase())].map((word) => `'${word}'`).join(' ');
  // A terminal of its own: the other end is gone with this child.
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => {
    terminal.kill('SIGKILL');
    for (const pid of processesBelow(dir)) process.kill(pid, 'SIGKILL');
  });
  let shown = '';
  for await (const chunk of terminal.stdout.iterator({ destroyOnReturn: false })) {
    shown += String(chunk);
    if (/^ready\b/m.test(shown)) break;
  }
  terminal.stdout.resume();
  const endpoints = join(dir, 'endpoints.json');
  const { pid } = JSON.parse(await readFile(endpoints, 'utf8')) as { pid: number };
  const log = join(dir, 'longshore.log');
  process.kill(pid, 'SIGHUP');
  t.match(await logged(log, 'configuration reloaded', 1), { applied: [], needsRestart: [] });

  const stopped = Promise.withResolvers<void>();
  const watcher = watch(dir, () => existsSync(endpoints) || stopped.resolve());
  t.teardown(() => watcher.close());
  const gone = once(terminal, 'close');
  terminal.kill('SIGKILL');
  await gone;
  t.match(await logged(log, 'shutting down', 1), { reason: 'the terminal is gone' });
  await stopped.promise;
  t.pass('it has stopped in order');
});
