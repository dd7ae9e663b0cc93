import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { ClearPorts } from '../../../actors/daemons/clear-dataset.ts';
import { ClearFailed } from '../../../actors/daemons/clear-failed.ts';
import { targetId } from '../../../engine/model/ids.ts';
import type { DatasetAddress } from '../../../engine/model/object-key.ts';
import type { DatasetReports } from '../../../engine/ports/dataset-queries.ts';
import type { InstallReply } from '../../../engine/ports/plugin-client.ts';
import type { ClearOrder, ClearReport } from '../../../engine/ports/process-control.ts';
import { aborted, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { FakeDatasetReports } from '../../fakes/fake-dataset-reports.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { FakeLeases } from '../../fakes/fake-leases.ts';
import type { FakePluginCall } from '../../fakes/fake-plugin-client.ts';
import { newAddress, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const ALL: ClearOrder = { places: 'all', run: true };
const BROKEN: InstallReply = { kind: 'script-error', message: 'exit code 1' };
const MISSING: InstallReply = { kind: 'missing-dependency', messages: ['build 68'] };

interface Site {
  readonly world: LaneWorld;
  readonly failed: ClearFailed;
  /** Gives the order and waits until it was followed. */
  clear(order?: ClearOrder): Promise<Omit<ClearReport, 'startedAt' | 'endedAt' | 'run'>>;
}

/** @param more instead of what the world says and has */
function open(
  t: Test,
  world = new LaneWorld(t.testdir()),
  more: { readonly reports?: Pick<DatasetReports, 'stuckInstalls'>; readonly leases?: ClearPorts['leases'] } = {},
): Site {
  let ended: () => void = () => {};
  const log = Object.assign(silentLogger(), {
    info: (_about: object, message: string) => message === 'failed installs cleared' && ended(),
  });
  const failed = new ClearFailed({ ...portsOf(world), log, ...more });
  const stop = new AbortController();
  const served = failed.serve(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await served;
  });
  return {
    world,
    failed,
    clear: async (order = ALL) => {
      const end = new Promise<void>((resolve) => {
        ended = resolve;
      });
      t.equal(failed.clear(order), 'started');
      await end;
      t.equal(failed.current, undefined);
      if (!failed.lastReport) throw new Error('no report');
      const { startedAt, endedAt, run, ...report } = failed.lastReport;
      t.ok(startedAt <= endedAt);
      t.equal(run, order.run);
      return report;
    },
  };
}

/** A dataset whose installs end as the plugin says. */
async function installed(
  world: LaneWorld,
  decide: (call: FakePluginCall) => InstallReply | undefined,
): Promise<DatasetAddress> {
  world.plugin.decide = decide;
  const at = await world.accept();
  await world.finish();
  world.plugin.decide = () => undefined;
  return at;
}

const dataFails = (call: FakePluginCall): InstallReply | undefined =>
  call.kind === 'installData' && call.target === PLASMO ? BROKEN : undefined;
const metaFails = (call: FakePluginCall): InstallReply | undefined =>
  call.kind === 'installMeta' && call.target === PLASMO ? BROKEN : undefined;

const NOTHING = { datasets: 0, cleared: 0, jobs: 0, skipped: {}, failures: 0, failure: undefined };
const statusesOf = async (world: LaneWorld, at: DatasetAddress): Promise<object> =>
  Object.fromEntries(
    await Promise.all(
      [PLASMO, TOXO].map(async (id) => {
        const state = await world.targets.get(id)?.state(at.dataset, never);
        return [id, [state?.messages.data?.status, state?.messages.meta?.status]];
      }),
    ),
  );
const mirrorOf = (world: LaneWorld, at: DatasetAddress): object =>
  Object.fromEntries(world.dataset(at).installs.map(({ target, kind, status }) => [`${target} ${kind}`, status]));

t.test('data that could not be installed are installed again', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, dataFails);
  t.strictSame(await statusesOf(world, at), {
    [PLASMO]: ['failed-installation', undefined],
    [TOXO]: ['complete', 'complete'],
  });
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
  t.strictSame(world.leases.held(), [], 'the lease is given back');
  t.match(world.jobs.get('install', at.dataset), { source: 'admin', owner: at.owner, state: 'queued' });
  const calls = world.calls.length;
  await world.finish();
  t.strictSame(world.calls.slice(calls), ['uninstall PlasmoSite', 'installData PlasmoSite', 'installMeta PlasmoSite']);
  t.strictSame(await statusesOf(world, at), { [PLASMO]: ['complete', 'complete'], [TOXO]: ['complete', 'complete'] });
  t.strictSame(await clear(), NOTHING, 'nothing is left to clear');
});

t.test('the owner reads that it is tried again, and why it failed', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, dataFails);
  await clear();
  t.strictSame(
    world.dataset(at).installs.find(({ target, kind }) => target === PLASMO && kind === 'data'),
    { target: PLASMO, kind: 'data', status: 'ready-for-reinstall', messages: ['exit code 1'] },
  );
  t.match((await world.targets.get(PLASMO)?.state(at.dataset, never))?.messages.data, {
    status: 'ready-for-reinstall',
    message: 'exit code 1',
  });
});

t.test('metadata that could not be installed are installed again, the data stay', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, metaFails);
  t.strictSame(await statusesOf(world, at), {
    [PLASMO]: ['complete', 'failed-installation'],
    [TOXO]: ['complete', 'complete'],
  });
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
  t.match(world.jobRows(), ['updateMeta queued']);
  const calls = world.calls.length;
  await world.finish();
  t.strictSame(world.calls.slice(calls), ['installMeta PlasmoSite']);
  t.strictSame(await statusesOf(world, at), { [PLASMO]: ['complete', 'complete'], [TOXO]: ['complete', 'complete'] });
});

t.test('what missed a dependency is tried again, too', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, ({ kind }) => (kind === 'installData' ? MISSING : undefined));
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 2, jobs: 1 });
  await world.finish();
  t.strictSame(await statusesOf(world, at), { [PLASMO]: ['complete', 'complete'], [TOXO]: ['complete', 'complete'] });
});

t.test('what the user has to mend stays', async (t) => {
  const { world, clear } = open(t);
  const invalid: InstallReply = { kind: 'invalid', validation: { basic: ['no such gene'], community: [] } };
  const at = await installed(world, ({ kind }) => (kind === 'installData' ? invalid : undefined));
  t.strictSame(await clear(), NOTHING);
  t.strictSame(await clear({ places: [{ dataset: at.dataset, target: PLASMO }], run: true }), {
    ...NOTHING,
    datasets: 1,
    skipped: { 'not-failed': 1 },
  });
  t.match(await statusesOf(world, at), { [PLASMO]: ['failed-validation'] });
  t.strictSame(world.jobRows(), []);
});

t.test('without a run the statuses are ready and no lane is told', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, dataFails);
  t.strictSame(await clear({ ...ALL, run: false }), { ...NOTHING, datasets: 1, cleared: 1 });
  t.strictSame(world.jobRows(), []);
  t.match(await statusesOf(world, at), { [PLASMO]: ['ready-for-reinstall', undefined] });
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'ready-for-reinstall' });
  world.event('install', at);
  await world.finish();
  t.match(await statusesOf(world, at), { [PLASMO]: ['complete', 'complete'] });
});

t.test('only the named installs are cleared, however often they are named', async (t) => {
  const { world, clear } = open(t);
  const fails = ({ kind }: FakePluginCall) => (kind === 'installData' ? BROKEN : undefined);
  const [one, two, fine] = [
    await installed(world, fails),
    await installed(world, fails),
    await installed(world, () => undefined),
  ];
  const places = [
    { dataset: one.dataset, target: PLASMO },
    { dataset: one.dataset, target: PLASMO },
    { dataset: fine.dataset, target: PLASMO },
    { dataset: newAddress().dataset, target: PLASMO },
    { dataset: two.dataset, target: targetId('OtherSite') },
  ];
  t.strictSame(await clear({ places, run: true }), {
    ...NOTHING,
    datasets: 4,
    cleared: 1,
    jobs: 1,
    skipped: { 'not-failed': 3 },
  });
  t.match(await statusesOf(world, one), { [PLASMO]: ['ready-for-reinstall'], [TOXO]: ['failed-installation'] });
  t.match(await statusesOf(world, two), { [PLASMO]: ['failed-installation'], [TOXO]: ['failed-installation'] });
});

t.test('deleted and superseded datasets are left alone', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, dataFails);
  for (const state of ['deleting', 'deleted', 'pruning', 'superseded'] as const) {
    world.catalog.apply(at.dataset, [{ set: 'state', state }]);
    t.strictSame(await clear(), NOTHING, state);
    t.strictSame(
      (await clear({ places: [{ dataset: at.dataset, target: PLASMO }], run: true })).skipped,
      { 'not-failed': 1 },
      state,
    );
  }
});

t.test('a dataset that a lane works on is passed over', async (t) => {
  const { world, clear } = open(t);
  const [busy, free] = [await installed(world, dataFails), await installed(world, dataFails)];
  const lease = world.leases.take(busy.dataset, world.process().id);
  t.strictSame(await clear(), { ...NOTHING, datasets: 2, cleared: 1, jobs: 1, skipped: { busy: 1 } });
  t.match(await statusesOf(world, busy), { [PLASMO]: ['failed-installation'] });
  t.match(await statusesOf(world, free), { [PLASMO]: ['ready-for-reinstall'] });
  t.strictSame(world.leases.held(), [lease?.name], 'and its lease is not touched');
});

t.test('a lease that is lost on the way is as good as taken', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await installed(world, dataFails);
  const lost = targetAway(world, PLASMO, ['write']);
  const { clear } = open(t, world);
  lost.reason = aborted('lease lost (a newer holder wrote)');
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, skipped: { busy: 1 } });
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'failed-installation' });
  lost.reason = undefined;
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
});

t.test('a target that does not answer holds back no other, and is told next time', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await installed(world, ({ kind }) => (kind === 'installData' ? BROKEN : undefined));
  const away = targetAway(world, PLASMO);
  const { clear } = open(t, world);
  away.reason = transient('no route to host', { unreachable: true });
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1, skipped: { 'target-away': 1 } });
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, skipped: { 'target-away': 1 } });
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'failed-installation', 'ToxoSite data': 'ready-for-reinstall' });
  away.reason = undefined;
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
  await world.finish();
  t.strictSame(await statusesOf(world, at), { [PLASMO]: ['complete', 'complete'], [TOXO]: ['complete', 'complete'] });
});

t.test('a target that goes away in between is told next time', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await installed(world, dataFails);
  const away = targetAway(world, PLASMO, ['write']);
  const { clear } = open(t, world);
  away.reason = transient('connection reset');
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, jobs: 1, skipped: { 'target-away': 1 } });
  away.reason = undefined;
  await world.finish();
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'failed-installation' }, 'the job found nothing to do');
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
});

t.test('a target that is disabled is passed over', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await installed(world, dataFails);
  world.targets.delete(PLASMO);
  const { clear } = open(t, world);
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, skipped: { 'target-disabled': 1 } });
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'failed-installation' });
});

t.test('a mirror that is behind its target is brought in line', async (t) => {
  const { world, clear } = open(t);
  const at = await installed(world, () => undefined);
  const behind = {
    set: 'install',
    target: PLASMO,
    kind: 'data',
    status: 'failed-installation',
    messages: ['old'],
  } as const;
  world.catalog.apply(at.dataset, [behind]);
  const { write } = world.catalog;
  world.catalog.write = () => Promise.reject(transient('cache: connection refused'));
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, failures: 1 }, 'unless the mirror cannot be written');
  world.catalog.write = write;
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, skipped: { 'not-failed': 1 } });
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'complete' });
  t.strictSame(world.jobRows(), []);
});

t.test('an install whose job died before its target could say anything is tried again', async (t) => {
  const { world, clear } = open(t);
  const at = await world.before('install');
  world.store.onCall = (method, key) => {
    if (method === 'head' && key.endsWith('install-ready.zip')) throw new Error('a bug');
  };
  await world.finish();
  world.store.onCall = () => {};
  t.strictSame(world.jobRows(), ['install dead']);
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'failed-installation' });
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 2, jobs: 1 });
  t.strictSame(world.jobRows(), ['install queued'], 'the dead job lives again');
  const unsaid = [undefined, undefined];
  t.strictSame(await statusesOf(world, at), { [PLASMO]: unsaid, [TOXO]: unsaid }, 'the targets have nothing to unsay');
  await world.finish();
  t.strictSame(await statusesOf(world, at), { [PLASMO]: ['complete', 'complete'], [TOXO]: ['complete', 'complete'] });
});

t.test('one run at a time, and what it has found so far can be read', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await installed(world, dataFails);
  const gate = Promise.withResolvers<void>();
  const here = Promise.withResolvers<void>();
  const real = new FakeDatasetReports(world.catalog);
  const { failed, clear } = open(t, world, {
    reports: {
      stuckInstalls: async function* (status, signal) {
        yield* real.stuckInstalls(status, signal);
        here.resolve();
        await gate.promise;
      },
    },
  });
  t.equal(failed.current, undefined);
  const run = clear();
  await here.promise;
  t.match(failed.current, { run: true, datasets: 1, cleared: 1, jobs: 1, skipped: {}, failures: 0 });
  t.equal(failed.lastReport, undefined);
  t.equal(failed.clear(ALL), 'running');
  gate.resolve();
  t.strictSame(await run, { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
  t.match(mirrorOf(world, at), { 'PlasmoSite data': 'ready-for-reinstall' });
});

t.test('a cache that fails ends the run, and the next one goes on', async (t) => {
  const world = new LaneWorld(t.testdir());
  await installed(world, dataFails);
  const real = new FakeDatasetReports(world.catalog);
  let away = true;
  const { clear } = open(t, world, {
    reports: {
      stuckInstalls: (status, signal) => {
        if (away) throw transient('cache: connection refused');
        return real.stuckInstalls(status, signal);
      },
    },
  });
  t.strictSame(await clear(), { ...NOTHING, failure: 'cache: connection refused' });
  away = false;
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 });
});

t.test('a dataset that cannot be dealt with does not stop the others', async (t) => {
  const world = new LaneWorld(t.testdir());
  const [one, two] = [await installed(world, dataFails), await installed(world, dataFails)];
  const { clear } = open(t, world);
  const write = world.catalog.write.bind(world.catalog);
  world.catalog.write = async (dataset, ...rest) => {
    if (dataset === one.dataset) throw new Error('a bug');
    return write(dataset, ...rest);
  };
  t.strictSame(await clear(), { ...NOTHING, datasets: 2, cleared: 1, jobs: 1, failures: 1 });
  t.strictSame(world.leases.held(), []);
  t.match(mirrorOf(world, two), { 'PlasmoSite data': 'ready-for-reinstall' });
  world.catalog.write = write;
  t.strictSame(await clear(), { ...NOTHING, datasets: 1, cleared: 1, jobs: 1 }, 'what was begun is finished');
  t.match(mirrorOf(world, one), { 'PlasmoSite data': 'ready-for-reinstall' });
});

t.test('a lease is given back before the next is taken; one that cannot be is left to expire', async (t) => {
  const world = new LaneWorld(t.testdir());
  for (let n = 0; n < 3; n++) await installed(world, dataFails);
  const real = new FakeLeases(world.leases, world.process().id);
  const held: string[][] = [];
  const { clear } = open(t, world, {
    leases: {
      acquire: (dataset, signal) => {
        held.push([...world.leases.held()]);
        return real.acquire(dataset, signal);
      },
      release: async (lease, signal) => {
        await turn();
        if (held.length === 2) throw transient('connection reset');
        await real.release(lease, signal);
      },
    },
  });
  t.strictSame(await clear(), { ...NOTHING, datasets: 3, cleared: 3, jobs: 3 });
  t.strictSame(
    held.map(({ length }) => length),
    [0, 0, 1],
  );
  t.equal(world.leases.held().length, 1);
});

t.test('a process that starts or stops takes no order, and a run under way ends', async (t) => {
  const world = new LaneWorld(t.testdir());
  await installed(world, dataFails);
  const { failed } = open(t, world);
  const idle = new ClearFailed(portsOf(world));
  t.throws(() => idle.clear(ALL), { kind: 'transient', message: /is starting or stopping/ });
  const stop = new AbortController();
  const serving = idle.serve(stop.signal);
  stop.abort();
  await serving;
  t.throws(() => idle.clear(ALL), { kind: 'transient', message: /is starting or stopping/ });
  const end = new AbortController();
  const real = new FakeDatasetReports(world.catalog);
  const halted = new ClearFailed({
    ...portsOf(world),
    reports: {
      stuckInstalls: (status, signal) => {
        end.abort();
        return real.stuckInstalls(status, signal);
      },
    },
  });
  const run = halted.serve(end.signal);
  t.equal(halted.clear(ALL), 'started');
  await run;
  t.match(halted.lastReport, { ...NOTHING, failure: 'the process is shutting down' });
  t.equal(failed.lastReport, undefined);
});

function portsOf(world: LaneWorld) {
  const process = world.process();
  let events = 1_000;
  return {
    catalog: world.catalog,
    jobs: process.jobs,
    jobAdmin: new FakeJobAdmin(world.jobs, world.catalog),
    leases: new FakeLeases(world.leases, process.id),
    events: { nextEventId: async () => ++events },
    targets: world.targets,
    clock: world.clock,
    log: silentLogger(),
    reports: new FakeDatasetReports(world.catalog),
  };
}
