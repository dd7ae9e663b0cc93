// The configuration read anew by a running process, against its file.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { loadConfigFile } from '../../../bin/cli/load-config.ts';
import { LiveSettings } from '../../../bin/compose/live-settings.ts';
import { Reloading } from '../../../bin/compose/reloading.ts';
import { loadConfiguration } from '../../../config/load.ts';
import { ROOT_SCHEMA } from '../../../config/schema/root.ts';
import { LIVE_KINDS, liveSettings } from '../../../config/schema-node.ts';
import { readTimes } from '../../../engine/adapters/plugins/shared-times.ts';
import { createLogger, LogThreshold } from '../../../engine/runtime/log.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { changed, completeDocument, type Document, SECRETS } from '../../config/complete-document.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { linesOf } from '../../support/log-lines.ts';

const never = new AbortController().signal;
const { definitions: _definitions, ...FIXTURE } = await completeDocument('contract-form');
const BASE = changed(changed(FIXTURE, 'containerCore.log.level', 'info'), 'handler', undefined);

async function setup(t: Test) {
  const dir = t.testdir();
  const file = join(dir, 'config.yaml');
  const write = (document: Document): Promise<void> => writeFile(file, stringify(document), { mode: 0o600 });
  await write(BASE);
  const env: Record<string, string> = { ...SECRETS };
  const { configuration, source } = await loadConfigFile(file, { env, err: () => undefined });
  const threshold = new LogThreshold(configuration.containerCore.log.level);
  const logFile = join(dir, 'log');
  const log = createLogger({ level: threshold, to: { file: logFile } });
  const live = new LiveSettings(configuration, threshold);
  const reloading = new Reloading(source, live, threshold, systemClock, log);
  reloading.started();
  const logged = async () => {
    await turn();
    return linesOf(logFile);
  };
  return { file, write, env, live, threshold, reloading, logged, source, log };
}

t.test('a file that says what runs changes nothing', async (t) => {
  const { reloading, live } = await setup(t);
  const lanes = live.lanes.current;
  const answer = await reloading.reload(never);
  t.match(answer, { kind: 'reloaded', report: { applied: [], needsRestart: [] } });
  t.equal(live.lanes.current, lanes);
});

t.test('what may change is taken over, what may not is named, and both are logged', async (t) => {
  const { write, reloading, live, logged, file } = await setup(t);
  const before = await reloading.reload(never);
  let document = changed(BASE, 'installer.lanes.import.workerCount', 2);
  document = changed(document, 'installer.daemons.pruner.pruneInterval', '2h');
  document = changed(document, 'installer.plugins.genelist.timeouts.reply', '5s');
  document = changed(document, 'installer.lanes.import.retry.attempts', 3);
  document = changed(document, 'installer.cacheDb.password', 'another-cache-password');
  await write(document);
  const answer = await reloading.reload(never);
  const unchanged = before.kind === 'reloaded' ? before.report.unchanged - 5 : 0;
  const report = {
    applied: [
      { path: 'installer.daemons.pruner.pruneInterval', from: '1h', to: '2h' },
      { path: 'installer.lanes.import.workerCount', from: 20, to: 2 },
      { path: 'installer.plugins.genelist.timeouts.reply', from: '60s', to: '5s' },
    ],
    needsRestart: [{ path: 'installer.cacheDb.password' }, { path: 'installer.lanes.import.retry.attempts' }],
    unchanged,
  };
  t.strictSame(answer, { kind: 'reloaded', report });
  t.strictSame((await logged()).at(-1), {
    level: 'info',
    actor: 'reloading',
    file,
    ...report,
    msg: 'configuration reloaded',
  });
  t.notMatch(JSON.stringify([answer, await logged()]), /cache-password/);
  t.match(live.lanes.current.import, { workerCount: 2, inMemoryQueueSize: 10, retry: { attempts: 12 } });
  t.equal(live.daemonIntervals.current.pruner.pruneIntervalMs, 7_200_000);
  const times = live.pluginTimes.get('genelist');
  t.match(times && readTimes(times), { marginMs: 5_000 });
});

t.test('the lane of reports and the approval of access requests take over what is theirs', async (t) => {
  const { write, reloading, live } = await setup(t);
  const { reportLane, approvalMs } = live;
  const before = { report: reportLane?.current, approvalMs: approvalMs?.current };
  const heard: unknown[] = [];
  reportLane?.watch((bounds) => heard.push(bounds));
  approvalMs?.watch((ms) => heard.push(ms));
  await write(changed(BASE, 'report.lane.workerCount', 3));
  t.match(await reloading.reload(never), { report: { applied: [{ path: 'report.lane.workerCount', to: 3 }] } });
  await write(changed(BASE, 'access.autoApproval.interval', '7m'));
  t.match(await reloading.reload(never), {
    report: {
      applied: [
        { path: 'report.lane.workerCount', from: 3 },
        { path: 'access.autoApproval.interval', to: '7m' },
      ],
      needsRestart: [],
    },
  });
  t.strictSame(heard, [{ ...before.report, workerCount: 3 }, before.report, 420_000]);
  t.not(before.approvalMs, 420_000);
});

t.test('what waits for a restart is named again each time, until the file says again what runs', async (t) => {
  const { write, reloading } = await setup(t);
  const needs = async (): Promise<unknown> => {
    const answer = await reloading.reload(never);
    return answer.kind === 'reloaded' && [answer.report.applied.length, answer.report.needsRestart];
  };
  const store = changed(BASE, 'installer.siteBuild', 'another');
  await write(changed(store, 'installer.lanes.import.workerCount', 2));
  t.strictSame(await needs(), [1, [{ path: 'installer.siteBuild' }]]);
  t.strictSame(await needs(), [0, [{ path: 'installer.siteBuild' }]]);
  await write(BASE);
  t.strictSame(await needs(), [1, []]);
});

t.test('a file with faults changes nothing and is told as a start would tell it', async (t) => {
  const { write, reloading, live, logged, file, env } = await setup(t);
  const lanes = live.lanes.current;
  let document = changed(BASE, 'installer.lanes.import.workerCount', 21);
  document = changed(document, 'installer.lanes.install.workerCount', 2);
  document = changed(document, 'installer.lanes.install.wrong', 1);
  await write(document);
  const answer = await reloading.reload(never);
  const told = await loadConfigFile(file, { env, err: () => undefined }).catch((error: Error) => error.message);
  if (answer.kind !== 'faulty') return t.fail('it was taken over');
  t.strictSame(
    answer.faults.map(({ path }) => path),
    ['installer.lanes.import.workerCount', 'installer.lanes.install.wrong'],
  );
  t.equal(answer.faults.map(({ text }) => text).join('\n'), told);
  t.match(answer.faults[0]?.text, /found 21; allowed: a whole number 1\.\.20: .* start another process$/);
  t.equal(live.lanes.current, lanes);
  t.strictSame((await logged()).at(-1), {
    ...{ level: 'error', actor: 'reloading', file, faults: answer.faults.map(({ text }) => text) },
    msg: 'the configuration is invalid; nothing was changed',
  });
});

t.test('what a reload would do is told without doing it, and without a word in the log', async (t) => {
  const { write, reloading, live, logged } = await setup(t);
  const lanes = live.lanes.current;
  await write(changed(changed(BASE, 'installer.lanes.import.workerCount', 2), 'installer.siteBuild', 'another'));
  const told = await reloading.compare(never);
  t.equal(live.lanes.current, lanes);
  t.equal(reloading.running().generation, 1);
  t.strictSame(await reloading.reload(never), told);
  t.equal(live.lanes.current.import.workerCount, 2);
  await write(changed(BASE, 'installer.lanes.import.workerCount', 21));
  t.match(await reloading.compare(never), { kind: 'faulty', faults: [{ path: 'installer.lanes.import.workerCount' }] });
  t.strictSame(
    (await logged()).map(({ msg }) => msg),
    ['configuration reloaded'],
  );
});

t.test('an operator sizes a lane until the next reload, within the bounds of the file', async (t) => {
  const { reloading, live, logged } = await setup(t);
  const path = 'installer.lanes.import.workerCount';
  const before = live.lanes.current;
  const install = before.install;
  const sized = { kind: 'sized', applied: [{ path, from: 20, to: 2 }] };
  t.strictSame(reloading.sizeLane('import', { workerCount: 2 }), sized);
  t.match(live.lanes.current.import, { workerCount: 2, inMemoryQueueSize: 10, retry: before.import.retry });
  t.strictSame(live.lanes.current.install, install, 'others stay as they are');
  t.strictSame(reloading.sizeLane('import', { workerCount: 2 }), { kind: 'sized', applied: [] });
  t.strictSame((await logged()).at(-1), {
    ...{ level: 'info', actor: 'reloading', lane: 'import', applied: sized.applied },
    msg: 'sizes of a lane changed',
  });
  const faulty = reloading.sizeLane('import', { workerCount: 21, inMemoryQueueSize: 101 });
  t.match(faulty, {
    kind: 'faulty',
    faults: [
      { path: 'inMemoryQueueSize', text: /^found 101; allowed: a whole number 1\.\.100/ },
      { path: 'workerCount', text: /^found 21; allowed: a whole number 1\.\.20: .* start another process$/ },
    ],
  });
  t.match(reloading.sizeLane('mail', { workerCount: 2 }), { kind: 'unknown', lanes: /import.*report/ });
  t.equal(live.lanes.current.import.workerCount, 2);
  t.match(reloading.sizeLane('report', { inMemoryQueueSize: 3 }), {
    applied: [{ path: 'report.lane.inMemoryQueueSize' }],
  });
  t.equal(live.reportLane?.current.queueSize, 3);

  t.match(await reloading.reload(never), { report: { applied: { length: 2 }, needsRestart: [] } });
  t.strictSame(live.lanes.current, before);
  reloading.end();
  t.throws(() => reloading.sizeLane('import', { workerCount: 2 }), /the process is shutting down/);
});

t.test('the running settings say what was set since the file was read, and no secret', async (t) => {
  const { write, reloading, file } = await setup(t);
  const ordered = () => {
    const { settings } = reloading.running();
    return settings.flatMap(({ path, value, isOrdered }) => (isOrdered ? [[path, value]] : []));
  };
  t.match(reloading.running(), { file, generation: 1, readAt: Date });
  t.strictSame(ordered(), []);
  reloading.setLogLevel('debug');
  reloading.sizeLane('import', { workerCount: 2 });
  t.strictSame(ordered(), [
    ['containerCore.log.level', 'debug'],
    ['installer.lanes.import.workerCount', 2],
  ]);
  await write(changed(BASE, 'installer.siteBuild', 'another'));
  await reloading.reload(never);
  t.strictSame(ordered(), []);
  const { generation, settings } = reloading.running();
  t.equal(generation, 2);
  t.match(
    settings.find(({ path }) => path === 'installer.siteBuild'),
    { value: (BASE.installer as { siteBuild: string }).siteBuild },
    'what needs a restart runs as before',
  );
  for (const secret of Object.values(SECRETS)) t.notMatch(JSON.stringify(settings), secret);
});

t.test('a file that cannot be read changes nothing', async (t) => {
  const { source, live, threshold, log } = await setup(t);
  const gone = { ...source, load: () => loadConfiguration('/nowhere/config.yaml', { env: {} }) };
  const reloading = new Reloading(gone, live, threshold, systemClock, log);
  reloading.started();
  t.match(await reloading.reload(never), { kind: 'faulty', faults: [{ path: '', text: /does not exist/ }] });
});

t.test('two reloads at once are done one after the other', async (t) => {
  const { source, live, threshold, log } = await setup(t);
  const begun: PromiseWithResolvers<void>[] = [];
  let busy = 0;
  let mostBusy = 0;
  const load: typeof source.load = async () => {
    mostBusy = Math.max(mostBusy, ++busy);
    const turn = Promise.withResolvers<void>();
    begun.push(turn);
    await turn.promise;
    busy--;
    return source.load();
  };
  const reloading = new Reloading({ ...source, load }, live, threshold, systemClock, log);
  const both = Promise.all([reloading.reload(never), reloading.reload(never)]);
  await Promise.resolve();
  t.equal(begun.length, 0, 'not before everything runs');
  reloading.started();
  while (begun.length === 0) await Promise.resolve();
  begun[0]?.resolve();
  while (begun.length === 1) await new Promise((resolve) => setImmediate(resolve));
  begun[1]?.resolve();
  t.match(await both, [{ kind: 'reloaded' }, { kind: 'reloaded' }]);
  t.equal(mostBusy, 1);
});

t.test('a reload that fails does not keep the next from coming', async (t) => {
  const { source, live, threshold, log } = await setup(t);
  let calls = 0;
  const load: typeof source.load = async () => {
    if (++calls === 1) throw new Error('a bug');
    return source.load();
  };
  const reloading = new Reloading({ ...source, load }, live, threshold, systemClock, log);
  reloading.started();
  await t.rejects(reloading.reload(never), { message: 'a bug' });
  t.match(await reloading.reload(never), { kind: 'reloaded' });
});

t.test('a file that is not read in time changes nothing, and the next reload has its turn', async (t) => {
  const { source, live, threshold, log } = await setup(t);
  const clock = new VirtualClock();
  const reading = Promise.withResolvers<void>();
  let calls = 0;
  const load: typeof source.load = () => {
    reading.resolve();
    return ++calls === 1 ? new Promise(() => undefined) : source.load();
  };
  const reloading = new Reloading({ ...source, load }, live, threshold, clock, log);
  reloading.started();
  const given = new AbortController();
  const late = t.rejects(reloading.reload(never), { kind: 'transient', message: /were not read within 30 s$/ });
  const left = t.rejects(reloading.reload(given.signal), { message: 'given up' });
  const next = reloading.reload(never);
  await reading.promise;
  given.abort(new Error('given up'));
  await clock.advance(30_000);
  await Promise.all([late, left]);
  t.match(await next, { kind: 'reloaded' });
  t.equal(calls, 2, 'none is read for the one who gave up');
});

t.test('nothing is changed once the process ends, not even by a reload that has begun', async (t) => {
  const { source, write, live, threshold, log, reloading } = await setup(t);
  const lanes = live.lanes.current;
  const read = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  const load: typeof source.load = async () => {
    reading.resolve();
    await read.promise;
    return source.load();
  };
  await write(changed(BASE, 'installer.lanes.import.workerCount', 2));
  const slow = new Reloading({ ...source, load }, live, threshold, systemClock, log);
  slow.started();
  const begun = slow.reload(never);
  await reading.promise;
  slow.end();
  read.resolve();
  await t.rejects(begun, { kind: 'transient', message: /the process is shutting down/ });
  reloading.end();
  await t.rejects(reloading.reload(never), { kind: 'transient', message: /the process is shutting down/ });
  t.equal(live.lanes.current, lanes);
  const waiting = new Reloading(source, live, threshold, systemClock, log);
  const early = t.rejects(waiting.reload(never), { kind: 'transient', message: /the process is shutting down/ });
  waiting.end();
  await early;
});

t.test('the log level goes round, or where it is told to, and a reload brings back that of the file', async (t) => {
  const { reloading, logged } = await setup(t);
  const rounds = Array.from({ length: 4 }, () => reloading.setLogLevel().to);
  t.strictSame(rounds, ['debug', 'trace', 'info', 'debug']);
  t.strictSame(reloading.setLogLevel('warn'), { from: 'debug', to: 'warn' });
  t.equal(reloading.logLevel, 'warn');
  t.match(await reloading.reload(never), {
    report: { applied: [{ path: 'containerCore.log.level', from: 'warn', to: 'info' }], needsRestart: [] },
  });
  t.equal(reloading.logLevel, 'info');
  t.strictSame(
    (await logged()).map(({ msg, from, to }) => [msg, from, to].filter(Boolean).join(' ')),
    [
      'log level changed info debug',
      'log level changed debug trace',
      'log level changed trace info',
      'log level changed info debug',
      'log level changed debug warn',
      'configuration reloaded',
    ],
  );
});

t.test('every live setting of the schema is taken over', async (t) => {
  const { write, reloading, live, threshold } = await setup(t);
  /** What runs, whoever has it, value by value. */
  const runs = (): readonly string[] => {
    const values: string[] = [];
    const { pruner, reconciler } = live.daemonIntervals.current;
    const lanes = Object.values(live.lanes.current).map(({ retry: _kept, ...bounds }) => bounds);
    const intervals = [
      live.approvalMs?.current,
      pruner,
      reconciler,
      live.historyRetentionMs.current,
      live.uploadExpiryMs.current,
    ];
    const all = [lanes, live.reportLane?.current, intervals, threshold.level];
    JSON.stringify([all, [...live.pluginTimes.values()].map(readTimes)], (_key, value: unknown) => {
      if (typeof value !== 'object') values.push(String(value));
      return value;
    });
    return values;
  };
  const settings = liveSettings(ROOT_SCHEMA);
  const other = (kind: keyof typeof LIVE_KINDS, n: number): unknown =>
    ({
      ...{ 'lane-bounds': n + 1, 'daemon-interval': `${n}h`, 'plugin-timeouts': `${n}s` },
      ...{ 'history-retention': `${n}d`, 'log-level': 'warn' },
      'upload-expiry': `${n}h`,
    })[kind];
  t.strictSame(new Set(settings.map(({ kind }) => kind)), new Set(Object.keys(LIVE_KINDS)));
  let document: Document = BASE;
  for (const [n, { path, kind }] of settings.entries()) document = changed(document, path, other(kind, 13 + (n % 6)));
  const before = runs();
  await write(document);
  t.match(await reloading.reload(never), { report: { applied: { length: settings.length }, needsRestart: [] } });
  const after = runs();
  t.equal(after.length, before.length);
  t.equal(after.filter((value, at) => value !== before[at]).length, settings.length);
});
