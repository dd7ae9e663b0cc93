import { EventEmitter } from 'node:events';
import t from 'tap';
import { heedTuningSignals } from '../../../bin/compose/tuning-signals.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { FakeProcessSettings } from '../../fakes/fake-process-settings.ts';

const never = new AbortController().signal;

function setup(reload: FakeProcessSettings['reload']) {
  const process = new EventEmitter();
  const settings = new FakeProcessSettings(reload);
  const terminal = { gone: false, ended: 0 };
  const log = silentLogger();
  const warned = Promise.withResolvers<unknown>();
  log.warn = (...told: unknown[]) => warned.resolve(told[0]);
  const hearing = heedTuningSignals(
    process,
    { settings, hungUp: () => terminal.gone, hangUp: () => void terminal.ended++, log },
    never,
  );
  return { process, settings, terminal, warned, hearing };
}
const REPORT = { applied: [], needsRestart: [], unchanged: 1 };

t.test('SIGHUP reloads, SIGUSR2 changes the log level, until it is over', async (t) => {
  let reloads = 0;
  const { process, settings, hearing } = setup(async () => {
    reloads++;
    return { kind: 'reloaded', report: REPORT };
  });
  process.emit('SIGHUP');
  process.emit('SIGUSR2');
  t.strictSame([reloads, settings.logLevel], [1, 'debug']);
  hearing[Symbol.dispose]();
  t.strictSame([process.listenerCount('SIGHUP'), process.listenerCount('SIGUSR2')], [0, 0]);
});

t.test('a reload that is refused is told to the log', async (t) => {
  const { process, warned } = setup(async () => {
    throw transient('the process ends');
  });
  process.emit('SIGHUP');
  t.strictSame(await warned.promise, { err: 'the process ends' });
});

t.test('the end of the terminal ends the process, and reloads nothing', async (t) => {
  let reloads = 0;
  const { process, terminal } = setup(async () => {
    reloads++;
    return { kind: 'reloaded', report: REPORT };
  });
  terminal.gone = true;
  process.emit('SIGHUP');
  t.strictSame([reloads, terminal.ended], [0, 1]);
});
