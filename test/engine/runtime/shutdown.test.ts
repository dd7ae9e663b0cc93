import { EventEmitter, once } from 'node:events';
import t from 'tap';
import type { Child } from '../../../engine/runtime/actor.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { type SignalSource, shutDown, stopSignal } from '../../../engine/runtime/shutdown.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

function setup(options: { readonly stopMs?: number; readonly closeMs?: number } = {}) {
  const clock = new VirtualClock(0);
  const history: string[] = [];
  const note = (what: string): void => {
    history.push(`${what} @${clock.now()}`);
  };
  const signals = new EventEmitter();
  const process: SignalSource = {
    on: (name, listener) => signals.on(name, listener),
    exit: (code) => note(`exit ${code}`),
  };
  const child: Child = {
    name: 'tree',
    broken: new Promise<never>(() => {}),
    start: async () => {},
    quiet: () => note('quiet'),
    async stop(deadline) {
      note(`stop by ${deadline}`);
      if (options.stopMs) await clock.sleep(options.stopMs);
    },
    kill: () => note('kill'),
  };
  const close = async (): Promise<void> => {
    note('close');
    if (options.closeMs) await clock.sleep(options.closeMs);
  };
  const unready = (): void => note('unready');
  const stop = stopSignal(process);
  const end = (code: number): Promise<void> =>
    shutDown({ process, child, graceMs: 30_000, unready, close, clock, log: silentLogger() }, code);
  const ended = once(stop, 'abort').then(() => end(0));
  return { clock, history, signals, stop, ended, end };
}

t.test('a signal ends in order: ready off, quiet, stop, kill, close', async (t) => {
  const { clock, history, signals, stop, ended } = setup({ stopMs: 100 });
  await clock.advance(1000);
  signals.emit('SIGTERM');
  await clock.advance(100);
  await ended;
  t.strictSame(history, ['unready @1000', 'quiet @1000', 'stop by 31000 @1000', 'kill @1100', 'close @1100']);
  t.match(stop.reason, { kind: 'aborted', message: 'stopped by SIGTERM' });
  t.equal(clock.pending, 0);
});

t.test('a second signal exits at once', async (t) => {
  const { clock, history, signals } = setup({ stopMs: 20_000 });
  signals.emit('SIGINT');
  await clock.advance(500);
  signals.emit('SIGINT');
  t.equal(history.at(-1), 'exit 130 @500');
});

t.test('what does not stop is killed at the end of the grace', async (t) => {
  const { clock, history, signals, ended } = setup({ stopMs: 1_000_000 });
  signals.emit('SIGTERM');
  await clock.advance(30_000);
  await ended;
  t.strictSame(history.slice(-2), ['kill @30000', 'close @30000']);
});

t.test('never lasts longer than grace + 5 s', async (t) => {
  const { clock, history, signals, ended } = setup({ stopMs: 1_000_000, closeMs: 1_000_000 });
  signals.emit('SIGTERM');
  await clock.advance(34_000);
  await ended;
  t.equal(clock.now(), 34_000);
  t.equal(history.at(-1), 'close @30000');
});

t.test('an end that no signal asked for goes the same way', async (t) => {
  const { history, end } = setup();
  await end(1);
  t.strictSame(
    history.map((line) => line.split(' ')[0]),
    ['unready', 'quiet', 'stop', 'kill', 'close'],
  );
});
