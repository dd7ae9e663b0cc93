import t from 'tap';
import type { TargetId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { claimed, installedWorld, worldBefore } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const NAME = 'Genes of interest';
const WAITING = { kind: 'retry', message: 'waiting for install targets', countsAttempt: false } as const;
const NO_ROWS = { sync: { data: 'none', meta: 'none' }, shown: false, name: NAME, meta: ['queued'] };
const DATA_ONLY = { ...NO_ROWS, data: ['complete'], sync: { data: 'current', meta: 'none' } };
const INSTALLED = {
  ...{ data: ['complete'], meta: ['complete'], shown: true, name: NAME },
  sync: { data: 'current', meta: 'current' },
};

t.test('data are installed on every target, and right after them the metadata', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { properties: { 'p.tsv': 'x' } });
  world.plugin.decide = () => ({ kind: 'success', validation: { basic: ['odd', 'very'], community: [] } });
  t.same(await world.run('install'), { kind: 'done' });
  const installed = { ...INSTALLED, data: ['complete', 'odd\nvery'], meta: ['complete', 'odd\nvery'] };
  t.same(await world.control(at), { PlasmoSite: installed, ToxoSite: installed });
  t.match(await world.record(at), {
    installs: {
      'PlasmoSite data': ['complete', 'odd', 'very'],
      'PlasmoSite meta': ['complete', 'odd', 'very'],
      'ToxoSite data': ['complete', 'odd', 'very'],
      'ToxoSite meta': ['complete', 'odd', 'very'],
    },
  });
  for (const site of ['PlasmoSite', 'ToxoSite'])
    t.same(
      world.calls.filter((call) => call.endsWith(site)),
      [`installData ${site}`, `installMeta ${site}`],
    );
  t.same(world.plugin.installed.get(`${PLASMO}/${at.dataset}`)?.properties, ['p.tsv']);
  t.same([world.jobRows(), await world.attempts(at)], [[], []]);
});

t.test('while the metadata are installed, each side says so', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
  world.plugin.decide = async ({ kind }) => {
    if (kind !== 'installMeta') return undefined;
    t.same(await world.control(at), { PlasmoSite: { ...DATA_ONLY, meta: ['running'] } });
    t.match(await world.record(at), {
      installs: { 'PlasmoSite data': ['complete'], 'PlasmoSite meta': ['running'] },
    });
    t.same(await world.attempts(at), ['PlasmoSite meta 0 started']);
    return undefined;
  };
  t.same(await world.run('install'), { kind: 'done' });
  t.same(await world.control(at), { PlasmoSite: INSTALLED });
});

t.test('metadata that have to wait are handed to the update-meta lane, with their attempts', async (t) => {
  for (const [reason, message, left] of [
    [transient('busy'), 'attempt 1 of 12: busy', 'PlasmoSite meta 1 started'],
    [transient('refused', { unreachable: true }), 'attempt 1 of 12: refused', 'PlasmoSite meta 0 started'],
  ] as const) {
    const { world, at } = await worldBefore(t, 'install');
    let fails = true;
    world.plugin.decide = ({ kind, target }) => {
      if (fails && kind === 'installMeta' && target === PLASMO) throw reason;
      return undefined;
    };
    t.same(await world.run('install'), { kind: 'done' });
    t.same(await world.control(at), {
      PlasmoSite: { ...DATA_ONLY, meta: ['queued', message] },
      ToxoSite: INSTALLED,
    });
    t.match(await world.record(at), {
      installs: { 'PlasmoSite data': ['complete'], 'PlasmoSite meta': ['queued', message] },
    });
    t.same([world.jobRows(), await world.attempts(at)], [['updateMeta queued'], [left]]);
    fails = false;
    await world.finish();
    t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
    t.same([world.jobRows(), await world.attempts(at)], [[], []]);
    t.equal(world.calls.filter((call) => call === 'installMeta ToxoSite').length, 1);
  }
});

t.test('metadata that a crash cut off are asked for by the next attempt, and the data are left alone', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
  const { process: dead, job } = await claimed(world, 'install');
  world.plugin.decide = ({ kind }) => {
    if (kind !== 'installMeta') return undefined;
    world.leases.kill(dead.id);
    throw aborted('the process is dead');
  };
  await dead.perform(job);
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], meta: ['running'] } });
  world.plugin.decide = () => undefined;
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: INSTALLED });
  t.same(world.calls, ['import', 'installData PlasmoSite', 'installMeta PlasmoSite', 'installMeta PlasmoSite']);
  t.same([world.jobRows(), await world.attempts(at)], [[], []]);
});

t.test('metadata whose end the cache did not hear of are not asked for again, and their attempts go', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
  const write = world.catalog.write.bind(world.catalog);
  world.catalog.write = async (dataset, lease, changes, signal) => {
    const isEnd = changes.some(
      (change) => change.set === 'install' && change.kind === 'meta' && change.status === 'complete',
    );
    if (isEnd) throw transient('away');
    await write(dataset, lease, changes, signal);
  };
  t.match(await world.run('install'), { kind: 'retry', message: 'away' });
  t.same(await world.attempts(at), ['PlasmoSite meta 0 started']);
  world.catalog.write = write;
  await world.finish();
  t.match(await world.record(at), { installs: { 'PlasmoSite meta': ['complete'] } });
  t.same([await world.attempts(at), world.calls.length], [[], 3]);
});

t.test('metadata whose version the cache does not know, or that have attempts already, are asked for', async (t) => {
  const { world, at } = await worldBefore(t, 'updateMeta');
  t.same(await world.control(at), { PlasmoSite: DATA_ONLY, ToxoSite: DATA_ONLY });
  t.same([world.jobRows(), await world.attempts(at)], [['updateMeta queued'], []]);
  t.match(world.jobs.get('updateMeta', at.dataset), { source: 'install-data-lane', eventId: 4 });
  world.plugin.decide = ({ kind, target }) => {
    if (kind === 'installMeta' && target === PLASMO) throw transient('refused', { unreachable: true });
    return undefined;
  };
  await world.run('updateMeta');
  await reinstall(world, at);
  const calls = world.calls.length;
  t.same(await world.run('install'), { kind: 'done' });
  t.same(
    world.calls.slice(calls).filter((call) => call.startsWith('installMeta')),
    ['installMeta ToxoSite'],
  );
  world.plugin.decide = () => undefined;
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
});

t.test('a complete dataset is not installed again by a repeated event', async (t) => {
  const { world, at } = await installedWorld(t);
  const calls = world.calls.length;
  world.event('install', at);
  await world.finish();
  t.equal(world.calls.length, calls);
});

t.test('each target has its own end', async (t) => {
  const answers = {
    'failed-validation': { kind: 'invalid', validation: { basic: ['no such gene'], community: ['old'] } },
    'missing-dependency': { kind: 'missing-dependency', messages: ['build 68'] },
    'failed-installation': { kind: 'script-error', message: 'exit code 1', exitCode: 1, output: 'oops' },
  } as const;
  const ends = {
    'failed-validation': { kind: 'invalid', message: 'data on PlasmoSite: no such gene; old' },
    'missing-dependency': { kind: 'invalid', message: 'data on PlasmoSite: build 68' },
    'failed-installation': { kind: 'failed', message: 'data on PlasmoSite: exit code 1', exitCode: 1, output: 'oops' },
  };
  const said = {
    'failed-validation': 'no such gene\nold',
    'missing-dependency': 'build 68',
    'failed-installation': 'the install script of the plugin failed; an administrator has the details',
  };
  for (const status of ['failed-validation', 'missing-dependency', 'failed-installation'] as const) {
    const { world, at } = await worldBefore(t, 'install');
    world.plugin.decide = ({ target }) => (target === PLASMO ? answers[status] : undefined);
    t.same(await world.run('install'), ends[status]);
    t.same(await world.control(at), {
      PlasmoSite: { ...DATA_ONLY, data: [status, said[status]] },
      ToxoSite: INSTALLED,
    });
    t.match(await world.record(at), {
      installs: { 'PlasmoSite data': [status, ...said[status].split('\n')], 'ToxoSite data': ['complete'] },
    });
    t.same([world.jobRows(), await world.attempts(at)], [[], []]);
    const calls = world.calls.length;
    world.event('install', at);
    await world.finish();
    t.same(world.calls.slice(calls), [], 'a final answer is not asked for again');
  }
});

t.test('a target that does not answer waits alone, and is installed when it is back', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await world.before('install');
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  t.same(await world.run('install'), { ...WAITING, message: 'data on PlasmoSite: PlasmoSite refused', delayMs: 1_000 });
  t.same(await world.attempts(at), ['PlasmoSite data 0']);
  t.same((await world.control(at)).ToxoSite, INSTALLED);
  t.match(await world.record(at), {
    installs: { 'PlasmoSite data': ['queued', 'attempt 1 of 12: PlasmoSite refused'], 'ToxoSite data': ['complete'] },
  });
  away.reason = undefined;
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
  t.same(await world.attempts(at), []);
  t.notOk(world.calls.includes('uninstall PlasmoSite'), 'nothing had begun there');
});

/** The ways in which a first call of install-data may end without an answer. */
const REFUSED = transient('plugin refused', { unreachable: true, unanswered: true });
const LATE = transient('timeout, no response within 1 ms', { maxAttempts: 3 });

t.test('an install whose first call reached nobody has begun nothing: no uninstall is owed', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
  world.plugin.decide = ({ kind }) => {
    if (kind === 'installData') throw REFUSED;
    return undefined;
  };
  for (const attempts of [1, 2]) {
    t.same(
      await world.run('install'),
      { ...WAITING, message: 'data on PlasmoSite: plugin refused', delayMs: 1_000 },
      `attempt ${attempts}`,
    );
    t.same(await world.attempts(at), ['PlasmoSite data 0']);
    t.same((await world.state(at, PLASMO)).messages, {}, 'the target has no mark of it');
    t.match(await world.record(at), { installs: { 'PlasmoSite data': ['queued', 'attempt 1 of 12: plugin refused'] } });
    await world.clock.advance(1_000);
  }
  await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
  await world.finish();
  t.equal((await world.state(at, PLASMO)).deletedStatus, 1);
  t.same(
    world.calls.filter((call) => call.startsWith('uninstall')),
    [],
  );
});

t.test('an install that reached nobody is tried again without an uninstall before it', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
  let refused = 2;
  world.plugin.decide = ({ kind }) => {
    if (kind === 'installData' && refused-- > 0) throw REFUSED;
    return undefined;
  };
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], shown: true } });
  t.same(world.calls, [
    'import',
    ...Array.from({ length: 3 }, () => 'installData PlasmoSite'),
    'installMeta PlasmoSite',
  ]);
});

t.test('data that are there stay on record when the target cannot be reached after the call', async (t) => {
  const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
  const away = targetAway(world, PLASMO);
  world.plugin.decide = ({ kind }) => {
    if (kind === 'installData' && world.calls.length < 3) away.reason = transient('gone', { unreachable: true });
    return undefined;
  };
  await world.run('install');
  t.same(await world.attempts(at), ['PlasmoSite data 0 started']);
  away.reason = undefined;
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], shown: true } });
  t.same(world.calls.slice(0, 4), [
    'import',
    'installData PlasmoSite',
    'uninstall PlasmoSite',
    'installData PlasmoSite',
  ]);
});

t.test('an install that may have begun stays so, however a later call ends', async (t) => {
  for (const [first, uninstalls] of [
    [LATE, 1],
    [transient('a script ended with exit code 75'), 1],
    [transient('plugin reset', { unanswered: true }), 1],
    [REFUSED, 0],
  ] as const) {
    const { world, at } = await worldBefore(t, 'install', { metadata: { installTargets: [PLASMO] } });
    const ends = [first, REFUSED];
    world.plugin.decide = ({ kind }) => {
      const end = kind === 'uninstall' ? undefined : ends.shift();
      if (end) throw end;
      return undefined;
    };
    await world.run('install');
    await world.clock.advance(1_000);
    await world.run('install');
    t.same(
      await world.attempts(at),
      [`PlasmoSite data ${uninstalls}${uninstalls > 0 ? ' started' : ''}`],
      first.message,
    );
    t.equal((await world.state(at, PLASMO)).messages.data?.status, uninstalls > 0 ? 'queued' : undefined);
    t.equal(world.calls.filter((call) => call.startsWith('uninstall')).length, uninstalls);
  }
});

t.test('a waiting target is not tried before its time, and others are not held up by it', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  world.plugin.decide = ({ target }) => {
    if (target === PLASMO) throw transient('busy');
    return undefined;
  };
  t.same(await world.run('install'), { ...WAITING, message: 'data on PlasmoSite: busy', delayMs: 1_000 });
  t.match(await world.record(at), { installs: { 'ToxoSite data': ['complete'], 'ToxoSite meta': ['complete'] } });
  const calls = world.calls.length;
  for (const row of world.jobs.rows) world.jobs.put({ ...row, state: 'queued', runAt: world.clock.now() });
  await world.clock.advance(400);
  t.same(await world.run('install'), { ...WAITING, delayMs: 600 });
  t.equal(world.calls.length, calls);
});

t.test('a target whose wait ended while others were installed is tried at once', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const target = world.targets.get(PLASMO);
  if (!target) throw new Error('no target');
  const waits = Promise.withResolvers<void>();
  const { write } = target;
  target.write = async (dataset, change, token, signal) => {
    await write.call(target, dataset, change, token, signal);
    if (change.messages?.data?.status === 'queued') waits.resolve();
  };
  world.plugin.decide = async ({ target }) => {
    if (target === PLASMO) throw transient('busy');
    await waits.promise;
    await world.clock.advance(1_500);
    return undefined;
  };
  t.same(await world.run('install'), { ...WAITING, message: 'data on PlasmoSite: busy', delayMs: 0 });
  world.plugin.decide = () => undefined;
  t.same(await world.run('install'), { kind: 'done' });
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'] }, ToxoSite: { data: ['complete'] } });
});

t.test('attempts of a target are counted for it alone, and the last one fails it with the reason', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  world.plugin.decide = ({ kind, target }) => {
    if (kind === 'installData' && target === PLASMO) throw transient('no answer for 60 s');
    return undefined;
  };
  for (let attempts = 1; attempts < 12; attempts++) {
    t.match(await world.run('install'), { ...WAITING, message: 'data on PlasmoSite: no answer for 60 s' });
    t.same(await world.attempts(at), [`PlasmoSite data ${attempts} started`]);
    const message = `attempt ${attempts} of 12: no answer for 60 s`;
    t.match(await world.control(at), { PlasmoSite: { data: ['queued', message] }, ToxoSite: { data: ['complete'] } });
    t.match(await world.record(at), { installs: { 'PlasmoSite data': ['queued', message] } });
    await world.clock.advanceToNext();
  }
  t.same(await world.run('install'), { kind: 'failed', message: 'data on PlasmoSite: no answer for 60 s' });
  t.match(await world.control(at), { PlasmoSite: { data: ['failed-installation', 'no answer for 60 s'] } });
  t.match(await world.record(at), { installs: { 'PlasmoSite data': ['failed-installation', 'no answer for 60 s'] } });
  t.same([await world.attempts(at), world.jobRows()], [[], []]);
  t.equal(world.calls.filter((call) => call === 'installData ToxoSite').length, 1);
});

t.test("a plugin server's own error is tried three times", async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  world.plugin.decide = ({ target }) =>
    target === PLASMO ? { kind: 'server-error', message: 'disk full' } : undefined;
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { data: ['failed-installation', 'plugin genes: disk full'] } });
  t.equal(world.calls.filter((call) => /PlasmoSite/.test(call)).length, 3);
});

t.test('a target that is away until its last try goes on waiting and is not lost', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await world.before('install');
  away.reason = transient('statement took too long');
  const process = world.process();
  for (let jobs = 0; jobs < 30; ) {
    const ran = await world.round(process);
    if (ran === 0) await world.clock.advanceToNext();
    jobs += ran;
  }
  const due = world.jobs.get('install', at.dataset)?.runAt ?? 0;
  t.ok(due - world.clock.now() > 300_000, 'as long as the longest wait, or what is left of it');
  t.match(await world.record(at), {
    installs: { 'PlasmoSite data': ['queued', 'statement took too long'] },
  });
  away.reason = undefined;
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], meta: ['complete'] } });
});

t.test('a target that refuses the rows fails alone, and the mirror says so', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO, ['write']);
  const at = await world.before('updateMeta').then((at) => world.finish().then(() => at));
  const other = await world.accept();
  away.reason = defect('value too long');
  await world.finish();
  t.match(await world.record(other), {
    installs: {
      'PlasmoSite data': ['failed-installation', 'an internal error; an administrator can see why'],
      'ToxoSite data': ['complete'],
    },
  });
  t.same(world.jobRows(), []);
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'] } });
});

t.test('an install that a crash cut off is taken back before it begins anew', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const { process: dead, job } = await claimed(world, 'install');
  const gone = Promise.withResolvers<void>();
  world.plugin.decide = async ({ target }) => {
    if (target === TOXO) {
      world.leases.kill(dead.id);
      gone.resolve();
    }
    await gone.promise;
    throw aborted('the process is dead');
  };
  await dead.perform(job);
  t.match(await world.control(at), { PlasmoSite: { data: ['running'] }, ToxoSite: { data: ['running'] } });
  const calls = world.calls.length;
  world.plugin.decide = () => undefined;
  await world.run('install');
  const expected = ['uninstall', 'installData', 'installMeta'];
  for (const site of [PLASMO, TOXO])
    t.same(
      world.calls.slice(calls).filter((call) => call.endsWith(site)),
      expected.map((kind) => `${kind} ${site}`),
    );
  t.same(await world.control(at), { PlasmoSite: INSTALLED, ToxoSite: INSTALLED });
});

t.test('an install is not begun when what was there cannot be taken away', async (t) => {
  const { world, at } = await installedWorld(t);
  await reinstall(world, at);
  world.plugin.decide = ({ kind, target }) =>
    kind === 'uninstall' && target === PLASMO ? { kind: 'script-error', message: 'exit code 7' } : undefined;
  const calls = world.calls.length;
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { data: ['failed-installation', 'exit code 7'] } });
  t.notOk(world.calls.slice(calls).includes('installData PlasmoSite'));
});

t.test('data of a newer import replace the installed ones', async (t) => {
  const { world, at } = await installedWorld(t);
  const stored = await world.store.get(objectKey(at, 'install-ready.zip'), undefined, never);
  await world.store.put(objectKey(at, 'install-ready.zip'), stored?.body ?? Buffer.alloc(0), {}, never);
  t.match(await world.control(at), { PlasmoSite: { sync: { data: 'stale' } } });
  const calls = world.calls.length;
  await world.finish();
  t.same(
    world.calls.slice(calls).filter((call) => /Plasmo/.test(call)),
    ['uninstall PlasmoSite', 'installData PlasmoSite', 'installMeta PlasmoSite'],
  );
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'], sync: { data: 'current' } } });
});

t.test('metadata are installed again after the data were', async (t) => {
  const { world, at } = await installedWorld(t, { properties: { 'p.tsv': 'x' } });
  const before = [await world.control(at), await world.record(at), new Map(world.plugin.installed)];
  await reinstall(world, at);
  world.plugin.decide = async ({ kind, target }) => {
    if (kind !== 'installData' || target !== PLASMO) return undefined;
    t.match(await world.control(at), { PlasmoSite: { data: ['running'], meta: ['queued'] } });
    const { installs } = (await world.record(at)) as { installs: Record<string, unknown> };
    t.same([installs['PlasmoSite data'], installs['PlasmoSite meta']], [['running'], undefined]);
    return undefined;
  };
  await world.finish();
  t.same([await world.control(at), await world.record(at), world.plugin.installed], before);
  t.equal(world.calls.filter((call) => call === 'installMeta PlasmoSite').length, 2);
});

t.test('metadata that are to be installed after the data are asked for until the request is taken', async (t) => {
  const { world, at } = await worldBefore(t, 'updateMeta');
  const update = world.jobs.get('updateMeta', at.dataset);
  if (!update) throw new Error('no job');
  world.jobs.remove(update);
  world.event('install', at);
  const process = world.process();
  const { enqueue } = process.jobs;
  process.jobs.enqueue = () => Promise.reject(transient('away'));
  t.match(await world.run('install', process), { kind: 'retry', message: 'away' });
  process.jobs.enqueue = enqueue;
  await world.finish(process);
  t.match(await world.control(at), { PlasmoSite: { meta: ['complete'] }, ToxoSite: { meta: ['complete'] } });
});

t.test('the mirror is brought in line when a crash came before it was written', async (t) => {
  const { world, at } = await installedWorld(t);
  const before = await world.record(at);
  world.catalog.datasets.set(at.dataset, { ...world.dataset(at), installs: [] });
  world.event('install', at);
  await world.finish();
  t.same(await world.record(at), before);
});

t.test('an answer that the mirror cannot take just now is not asked for again', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const write = world.catalog.write.bind(world.catalog);
  world.catalog.write = async (dataset, lease, changes, signal) => {
    if (changes.some((change) => change.set === 'install' && change.status === 'complete')) throw transient('away');
    await write(dataset, lease, changes, signal);
  };
  t.match(await world.run('install'), { kind: 'retry', message: 'away' });
  const begun = { ...DATA_ONLY, meta: ['running'] };
  t.same(await world.control(at), { PlasmoSite: begun, ToxoSite: begun });
  world.catalog.write = write;
  await world.finish();
  t.match(await world.record(at), { installs: { 'PlasmoSite data': ['complete'], 'PlasmoSite meta': ['complete'] } });
  t.equal(world.calls.filter((call) => call === 'installData PlasmoSite').length, 1);
  t.same(await world.attempts(at), []);
});

t.test('nothing is installed of a dataset that is deleted, superseded or deleted on the target', async (t) => {
  for (const state of ['deleting', 'deleted', 'pruning', 'superseded'] as const) {
    const { world, at } = await worldBefore(t, 'install');
    world.catalog.datasets.set(at.dataset, { ...world.dataset(at), state });
    const before = await world.control(at);
    t.same(await world.run('install'), { kind: 'done' });
    t.same([world.calls, await world.control(at)], [['import'], before], state);
  }
  const { world, at } = await installedWorld(t);
  await reinstall(world, at);
  for (const target of world.targets.values()) await target.setDeleted(at.dataset, 2, 1_000, never);
  const calls = world.calls.length;
  await world.finish();
  t.equal(world.calls.length, calls);
});

t.test('targets that the type does not apply to, or that are not enabled, are passed over', async (t) => {
  const world = new LaneWorld(t.testdir());
  const other = 'OtherSite' as TargetId;
  const at = await world.accept({ metadata: { installTargets: [other, PLASMO] } });
  await world.finish();
  t.same(Object.keys(await world.control(at)), ['PlasmoSite']);
});

t.test('an install whose lease was taken over changes no status and is given back', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const { process, job } = await claimed(world, 'install');
  world.plugin.decide = () => {
    world.leases.release(job.lease, process.id);
    return undefined;
  };
  t.same(await process.perform(job), { kind: 'requeue', crashed: false });
  t.match(await world.record(at), { installs: { 'PlasmoSite data': ['running'], 'ToxoSite data': ['running'] } });
});

t.test('a step that is to be tried again is given back when its lease turns out to be taken over', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('install');
  const target = world.targets.get(PLASMO);
  if (!target) throw new Error('no target');
  const { write } = target;
  target.write = async (dataset, change, token, signal) => {
    if (change.messages?.data?.status === 'queued') throw aborted('lease lost');
    await write.call(target, dataset, change, token, signal);
  };
  world.plugin.decide = ({ target }) => {
    if (target === PLASMO) throw transient('busy');
    return undefined;
  };
  t.same(await world.run('install'), { kind: 'requeue', crashed: false });
  t.match(await world.control(at), { PlasmoSite: { data: ['running'] } });
});

t.test('a stop while the plugin works leaves the status for the next run', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const { process, job } = await claimed(world, 'install');
  const stop = new AbortController();
  world.plugin.decide = () => {
    stop.abort(aborted('shutdown'));
    throw new Error('socket hang up');
  };
  t.same(await process.perform(job, stop.signal), { kind: 'requeue', crashed: false });
  t.match(await world.control(at), { PlasmoSite: { data: ['running'] } });
});

/** Tells the targets that their data are to be installed again. */
async function reinstall(world: LaneWorld, at: DatasetAddress): Promise<void> {
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  for (const target of world.targets.values())
    await target.write(at.dataset, { messages: { data: { status: 'ready-for-reinstall' } } }, token, never);
  world.event('install', at);
}

t.test('a job that fails as a whole tells the owner, and leaves the targets as they are', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  await world.store.put(objectKey(at, 'vdi-manifest.json'), Buffer.from('no json'), {}, never);
  const why = `${objectKey(at, 'vdi-manifest.json')}: not JSON`;
  t.match(await world.run('install'), { kind: 'dead', failure: 'rejected' });
  const { installs } = (await world.record(at)) as { installs: object };
  const failed = ['failed-installation', why];
  t.same(installs, { 'PlasmoSite data': failed, 'ToxoSite data': failed }, 'metadata were not due');
  const untouched = { data: ['queued'], ...NO_ROWS };
  t.same(await world.control(at), { PlasmoSite: untouched, ToxoSite: untouched });
});

t.test('a job that fails as a whole before the import is over says nothing of installs', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('import');
  for (const row of world.jobs.rows) world.jobs.remove(row);
  world.event('install', at);
  world.catalog.findWithAttempts = () => Promise.reject(transient('no answer'));
  t.match(await world.run('install'), { kind: 'retry', message: /no answer/ });
  t.match(await world.record(at), { import: { status: 'queued' } });
  t.same(((await world.record(at)) as { installs: object }).installs, {});
});
