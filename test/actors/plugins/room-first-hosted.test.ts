import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { withinHost } from '../../../actors/plugins/room-first.ts';
import type { TaskRunner } from '../../../actors/tasks/task-map.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { PLASMO } from '../../support/dataset-samples.ts';

const never = new AbortController().signal;

/** Calls that end when they are told to. */
function setup(scripts: number) {
  const running: { readonly plugin: string; readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const inner = {
    run: (_name: string, input: { plugin: string }) => {
      const { promise, resolve, reject } = Promise.withResolvers<object>();
      running.push({ plugin: input.plugin, end: () => resolve({ kind: 'success' }), fail: reject });
      return promise;
    },
  } as unknown as TaskRunner;
  const tasks = withinHost(inner, ['genes'], scripts);
  const call = (plugin: string, signal = never, owner = '1') =>
    tasks.run(
      'uninstall',
      { plugin, eventId: 1, dataset: 'ds1' as DatasetId, target: PLASMO, type: { name: plugin, version: '1' } },
      { signal, alone: false, owner: owner as UserId },
    );
  return { running, call };
}

t.test('no more calls are on their way than the own host takes, and they begin in turn', async (t) => {
  const { running, call } = setup(2);
  const calls = Array.from({ length: 50 }, () => call('genes'));
  let most = 0;
  for (let ended = 0; ended < 50; ended++) {
    await setImmediate();
    most = Math.max(most, running.length - ended);
    running[ended]?.end();
    await calls[ended];
  }
  t.equal(most, 2);
  t.equal(running.length, 50);
});

t.test('owners take turns: a call is not behind the hundred that another owner has waiting', async (t) => {
  const { running, call } = setup(1);
  const flood = Array.from({ length: 100 }, () => call('genes', never, 'many'));
  let done = false;
  void call('genes', never, 'one').then(() => {
    done = true;
  });
  for (let ended = 0; ended < 2; ended++) {
    await setImmediate();
    running[ended]?.end();
    await setImmediate();
  }
  t.ok(done, 'it was the second to run');
  for (let ended = 2; ended <= 100; ended++) {
    await setImmediate();
    running[ended]?.end();
  }
  await Promise.all(flood);
});

t.test('plugins of other hosts are called at once', async (t) => {
  const { running, call } = setup(1);
  const calls = [call('genes'), call('genes'), call('reads'), call('reads')];
  await setImmediate();
  t.strictSame(running.map(({ plugin }) => plugin).sort(), ['genes', 'reads', 'reads']);
  for (const { end } of running) end();
  await calls[0];
  await setImmediate();
  running.at(-1)?.end();
  await Promise.all(calls);
});

t.test('a call that fails gives its place away, and one that is given up leaves the queue', async (t) => {
  const { running, call } = setup(1);
  const first = call('genes');
  const stop = new AbortController();
  const given = call('genes', stop.signal);
  const third = call('genes');
  stop.abort(new Error('no longer wanted'));
  await t.rejects(given, { message: 'no longer wanted' });
  running[0]?.fail(new Error('broke'));
  await t.rejects(first, { message: 'broke' });
  await setImmediate();
  t.equal(running.length, 2);
  running[1]?.end();
  t.strictSame(await third, { kind: 'success' });
  await t.rejects(call('genes', AbortSignal.abort(new Error('over'))), { message: 'over' });
});
