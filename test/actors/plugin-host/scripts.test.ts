import t from 'tap';
import { importId } from '../../../actors/plugin-host/script-environment.ts';
import { ScriptMetrics, Scripts, splitMessages } from '../../../actors/plugin-host/scripts.ts';
import type { ScriptEnd, ScriptRunner } from '../../../engine/ports/script-runner.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { hostedPlugin } from '../../http/plugin-host/host-setup.ts';

t.test('the folder of a call is spoilt unless its script succeeds', async (t) => {
  const spoiltBy = async (run: ScriptRunner['run']): Promise<boolean> => {
    const folder = { isSpoilt: false };
    const workspace = { dir: '/nowhere', spoil: () => Object.assign(folder, { isSpoilt: true }) };
    const call = { kind: 'import', plugin: hostedPlugin('/nowhere'), args: [], workspace, env: {} } as const;
    const scripts = new Scripts({ run }, new ScriptMetrics(new Metrics()));
    await scripts.run({ ...call, log: silentLogger() }, new AbortController().signal).catch(() => undefined);
    return folder.isSpoilt;
  };
  const ended = (end: ScriptEnd) => () => Promise.resolve({ end, stdout: [], stderrTail: '', durationMs: 1 });
  t.equal(await spoiltBy(ended({ kind: 'exited', code: 0 })), false);
  // For example, a container goes on when the program that started it is killed, and has the folder of the call mounted.
  t.equal(await spoiltBy(ended({ kind: 'exited', code: 1 })), true);
  t.equal(await spoiltBy(ended({ kind: 'killed', signal: 'SIGKILL' })), true);
  t.equal(await spoiltBy(ended({ kind: 'timed-out', afterMs: 1 })), true);
  t.equal(await spoiltBy(() => Promise.reject(transient('it does not terminate even after SIGKILL'))), true);
});

t.test('ids of imports go on from those of earlier versions: none is given a second time', async (t) => {
  t.equal(importId(Date.UTC(2022, 6, 1), 0), '00');
  t.equal(importId(Date.UTC(2026, 0, 1, 12, 30, 15, 999), 65_535), '1tvc2f1ekf');
});

t.test('a prefix at the start of the line chooses the list', async (t) => {
  t.same(
    splitMessages([
      'plain',
      ' basic: not at the start',
      'basic: one ',
      'community:two',
      'Basic: case counts',
      '',
      ' ',
      'basic:',
    ]),
    { basic: ['plain', 'basic: not at the start', 'one', 'Basic: case counts'], community: ['two'] },
  );
});
