import t from 'tap';
import { measurePluginCalls } from '../../../actors/plugins/plugin-breakers.ts';
import type { TaskRunner } from '../../../actors/tasks/task-map.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { PLASMO } from '../../support/dataset-samples.ts';

const never = new AbortController().signal;
const UNINSTALL = {
  plugin: 'genes',
  eventId: 1,
  dataset: 'd' as DatasetId,
  target: PLASMO,
  type: { name: 'genes', version: '1.0' },
};

/** Every task ends as `end` says, 2 s after it began. */
function setup() {
  const clock = new VirtualClock(0);
  const metrics = new Metrics();
  const ends: (() => unknown)[] = [];
  const inner: TaskRunner = {
    run: async () => {
      await clock.advance(2_000);
      return ends.shift()?.() as never;
    },
  };
  const tasks = measurePluginCalls(inner, { clock, metrics });
  const uninstall = (end: () => unknown, signal = never): Promise<unknown> => {
    ends.push(end);
    return tasks.run('uninstall', UNINSTALL, { signal, alone: false, owner: '1' as UserId });
  };
  const told = async (name: string): Promise<string[]> =>
    (await metrics.text()).match(new RegExp(`^longshore_${name}{.*$`, 'gm')) ?? [];
  return { tasks, ends, uninstall, told, metrics };
}

const failing = (error: Error) => (): never => {
  throw error;
};

t.test('counts each call once, by what the plugin answered or why it did not', async (t) => {
  const { uninstall, told } = setup();
  const over = AbortSignal.abort(aborted('shutdown'));
  t.strictSame(await uninstall(() => ({ kind: 'success' })), { kind: 'success' });
  await uninstall(() => ({ kind: 'script-error', message: 'exit code 1' }));
  const refused = transient('connection refused', { unreachable: true, unanswered: true });
  await t.rejects(uninstall(failing(refused)), refused);
  await t.rejects(uninstall(failing(refused)), refused);
  await t.rejects(uninstall(failing(transient('no response within the deadline'))), {
    kind: 'transient',
    message: 'no response within the deadline',
  });
  await t.rejects(uninstall(failing(defect('not JSON'))), { kind: 'defect', message: 'not JSON' });
  await t.rejects(uninstall(failing(refused), over), refused);
  t.strictSame(await told('plugin_calls_total'), [
    'longshore_plugin_calls_total{plugin="genes",call="uninstall",outcome="success"} 1',
    'longshore_plugin_calls_total{plugin="genes",call="uninstall",outcome="script-error"} 1',
    'longshore_plugin_calls_total{plugin="genes",call="uninstall",outcome="unanswered"} 2',
    'longshore_plugin_calls_total{plugin="genes",call="uninstall",outcome="transient"} 1',
    'longshore_plugin_calls_total{plugin="genes",call="uninstall",outcome="defect"} 1',
    'longshore_plugin_calls_total{plugin="genes",call="uninstall",outcome="aborted"} 1',
  ]);
  t.strictSame(await told('plugin_call_seconds_(?:sum|count)'), [
    'longshore_plugin_call_seconds_sum{plugin="genes",call="uninstall"} 14',
    'longshore_plugin_call_seconds_count{plugin="genes",call="uninstall"} 7',
  ]);
});

t.test('a task that calls no plugin is passed on and not counted', async (t) => {
  const { tasks, ends, told } = setup();
  const packed = { zipFile: 'import-ready.zip', files: [], rawBytes: 0 };
  ends.push(() => packed);
  const input = {} as Parameters<typeof tasks.run<'pack-upload'>>[1];
  t.equal(await tasks.run('pack-upload', input, { signal: never, alone: false, owner: '1' as UserId }), packed);
  t.strictSame(await told('plugin_calls_total'), []);
});
