import { execFile } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { deadline, systemClock } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { aliveAfter, Forgetful } from '../../support/live-objects.ts';

const late = (): Error => new Error('too late');

t.test('a deadline aborts its signal with its reason, or with the parent and the reason of that', async (t) => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  using alone = deadline(clock, 10, undefined, late);
  using below = deadline(clock, 10, parent.signal, late);
  using longer = deadline(clock, 20, parent.signal, late);
  await clock.advance(9);
  t.strictSame([alone.signal.aborted, below.signal.aborted], [false, false]);
  await clock.advance(1);
  t.match([alone.signal.reason, below.signal.reason], [{ message: 'too late' }, { message: 'too late' }]);
  parent.abort('shutdown');
  t.equal(longer.signal.reason, 'shutdown');
});

t.test('a deadline leaves neither a timer nor a listener behind', async (t) => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  {
    using limit = deadline(clock, 10, parent.signal, late);
    t.strictSame([clock.pending, getEventListeners(parent.signal, 'abort').length], [1, 1]);
    await unlessAborted(Promise.resolve(), limit.signal);
  }
  t.strictSame([clock.pending, getEventListeners(parent.signal, 'abort').length], [0, 0]);
});

t.test('what was left listening to a deadline that is over is not kept by its parent', async (t) => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  const waitOften = (): void => {
    for (let i = 0; i < 100; i++) {
      using outer = deadline(clock, 10, parent.signal, late);
      using limit = deadline(clock, 5, outer.signal, late);
      Forgetful.listenTo(limit.signal);
    }
  };
  t.equal(await aliveAfter(waitOften, Forgetful), 0);
  t.equal(parent.signal.aborted, false, 'the parent lives on');
});

t.test('an answer that is there before this process goes on after a stall is in time', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  t.teardown(() => client.destroy());
  const [[peer]] = await Promise.all([accepted, once(client, 'connect')]);
  using limit = deadline(systemClock, 20, undefined, late);
  const answered = once(client, 'data', { signal: limit.signal });
  // In the kernel's buffer at once; nobody reads it before the deadline is over.
  peer.write('the answer');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  t.strictSame(await answered, [Buffer.from('the answer')]);
});

t.test('a deadline of the system clock fires without an answer, and not once it is cancelled', async (t) => {
  const fired: string[] = [];
  const cancel = systemClock.after(0, () => fired.push('cancelled'));
  const over = new Promise<void>((resolve) => {
    systemClock.after(1, () => {
      fired.push('fired');
      resolve();
    });
  });
  cancel();
  // Timers do not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  await over;
  clearInterval(alive);
  t.strictSame(fired, ['fired']);
});

t.test('a wait that is longer than a timer of Node.js takes is several timers', async (t) => {
  const longestMs = 2 ** 31 - 1;
  const { setTimeout } = globalThis;
  const delays: (number | undefined)[] = [];
  let pending: () => void = () => {};
  // Restored before anything else of the process runs.
  globalThis.setTimeout = ((fire: () => void, ms?: number) => {
    delays.push(ms);
    pending = fire;
    return { unref: () => undefined };
  }) as unknown as typeof setTimeout;
  let fired = false;
  try {
    const cancel = systemClock.after(2 * longestMs + 10, () => {
      fired = true;
    });
    for (let n = 0; n < 3; n++) pending();
    cancel();
    systemClock.after(longestMs, () => {});
    pending();
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  t.strictSame(delays, [longestMs, longestMs, 10, longestMs]);
  await new Promise(setImmediate);
  t.notOk(fired, 'a wait that was cancelled does not fire, even in its last turn');
});

t.test('a wait of nothing ends for the reason of its signal, too', async (t) => {
  await t.rejects(systemClock.sleep(0, AbortSignal.abort(new Error('over'))), { message: 'over' });
});

t.test('fires on time although nothing else wakes the process', async (t) => {
  const time = join(import.meta.dirname, '..', '..', '..', 'engine', 'runtime', 'time.ts');
  // What wakes it after 20 s is told from the clock by half of that.
  const idle = `
    const { systemClock } = await import(${JSON.stringify(time)});
    const far = setTimeout(() => {}, 20_000);
    const begun = performance.now();
    systemClock.after(300, () => (console.log(performance.now() - begun < 10_000), clearTimeout(far)));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', idle]);
  t.equal(stdout, 'true\n');
});
